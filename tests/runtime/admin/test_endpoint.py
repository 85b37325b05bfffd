"""The admin endpoint: what it answers, and what is said if it cannot listen."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from runtime.authority import Authority
from runtime.living import until
from runtime.serving import ANY_PORT, free_port, run, serving
from sapwood.errors import ListenError
from sapwood.protocol.hashing import hash_token
from sapwood.protocol.stabilize.settings import StabilizationSettings
from sapwood.runtime.address import Address
from sapwood.runtime.admin.endpoint import Admin
from sapwood.runtime.admin.inspection import inspect
from sapwood.runtime.admin.status import Status
from sapwood.runtime.client import Gap, connect
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.server import Server
from sapwood.runtime.tls import client_context
from sapwood.testing.faults import spoil


async def get(server: Server, path: str) -> tuple[str, str]:
    """Type and text of an answer."""
    assert server.admin is not None
    assert server.admin.address is not None
    host, port = server.admin.address[:2]

    def fetch() -> tuple[str, str]:
        with urlopen(f"http://{host}:{port}{path}", timeout=10) as answer:
            return answer.headers["content-type"], answer.read().decode()

    return await asyncio.to_thread(fetch)


def test_a_broker_tells_what_it_is_doing() -> None:
    async def check() -> None:
        async with (
            serving("B1", admin=ANY_PORT) as first,
            serving("B2", join=(str(first.address),)),
            connect(str(first.address), id="reader") as bus,
            bus.subscribe("price > 100"),
        ):
            kind, text = await get(first, "/status")
            found: dict[str, Any] = json.loads(text)
            assert kind == "application/json"
            assert (found["id"], found["listens"]) == ("B1", str(first.address))
            assert [(one["id"], one["state"]) for one in found["neighbours"]] == [("B2", "linked")]
            assert [(one["id"], one["subscriptions"]) for one in found["clients"]] == [
                (bus.name, 1)
            ]
            assert found["tables"] == {"subscriptions": 1, "advertisements": 0}

    run(check())


def test_metrics_can_be_read_by_prometheus() -> None:
    async def check() -> None:
        async with serving("B1", admin=ANY_PORT) as server, connect(str(server.address)):
            kind, text = await get(server, "/metrics")
            assert kind.startswith("text/plain")
            families = {one.name: one for one in text_string_to_metric_families(text)}
            assert families["sapwood_clients"].samples[0].value == 1
            assert families["sapwood_info"].samples[0].labels["broker"] == "B1"

    run(check())


def test_health_is_one_word() -> None:
    async def check() -> None:
        async with serving("B1", admin=ANY_PORT) as server:
            assert (await get(server, "/healthz"))[1] == "ok\n"
            with pytest.raises(HTTPError, match="404"):
                await get(server, "/elsewhere")

    run(check())


def test_a_broker_whose_state_makes_no_sense_says_so() -> None:
    """For the moment until it finds out itself."""

    def take_status() -> Status:
        raise TypeError("'NoneType' object is not iterable")

    async def check() -> None:
        admin = Admin(take_status)
        await admin.start(Address("127.0.0.1", 0))
        try:
            assert admin.address is not None
            for path in ("/status", "/metrics"):
                with pytest.raises(HTTPError) as refused:
                    await asyncio.to_thread(
                        urlopen, f"http://127.0.0.1:{admin.address.port}{path}", timeout=10
                    )
                with refused.value as answer:
                    assert answer.code == 503
                    assert b"state of this broker is wrong" in answer.read()
        finally:
            await admin.stop()

    run(check())


@pytest.mark.slow
def test_rates_are_taken_regularly() -> None:
    async def check() -> None:
        async with serving("B1", admin=ANY_PORT) as server, connect(str(server.address)) as bus:
            rate = 0.0
            while not rate:
                await bus.publish({"price": 1}, confirm=True)
                rate = server.status().clients[0].rate.frames_in
            assert rate > 0

    run(check())


def test_an_address_in_use_is_named() -> None:
    async def check() -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(ListenError) as found:
                async with serving(admin=f"127.0.0.1:{port}"):
                    pass
            assert str(found.value) == (
                f"the admin address 127.0.0.1:{port} is in use; choose another port with --admin"
            )

    run(check())


def test_an_impossible_address_is_named() -> None:
    async def check() -> None:
        admin = Admin(lambda: None)  # type: ignore[arg-type, return-value]
        with pytest.raises(ListenError, match=r"cannot listen on the admin address 192.0.2.1:80"):
            await admin.start(Address("192.0.2.1", 80))
        assert admin.address is None
        await admin.stop()

    run(check())


def post(server: Server, path: str) -> Any:
    """The answer to a request that changes something."""
    assert server.admin is not None
    assert server.admin.address is not None
    host, port = server.admin.address[:2]

    def fetch() -> Any:
        with urlopen(Request(f"http://{host}:{port}{path}", method="POST"), timeout=10) as answer:
            return json.loads(answer.read())

    return asyncio.to_thread(fetch)


def test_faults_are_off_unless_they_are_enabled() -> None:
    async def check() -> None:
        async with serving("B1", admin=ANY_PORT) as server:
            with pytest.raises(HTTPError, match="403"):
                await post(server, "/faults")

    run(check())


@pytest.mark.slow
def test_a_broker_whose_tables_were_corrupted_delivers_again() -> None:
    async def check() -> None:
        settings = Settings(
            id="B1",
            listen=ANY_PORT,
            admin=ANY_PORT,
            admin_faults=True,
            stabilization=StabilizationSettings(refresh_seconds=0.5, audit_seconds=1.0),
        )
        server = Server(settings, spoil=spoil)
        await server.start()
        try:
            async with connect(str(server.address)) as bus, bus.subscribe("n > 0") as numbers:
                with pytest.raises(HTTPError, match="400"):
                    await post(server, "/faults?share=5")
                answer = await post(server, "/faults?fields=Forwarding.index&share=1&seed=2")
                assert answer["done"]
                await until(lambda: server.node.broker.faults.total() > 0, "an audit")
                await bus.publish({"n": 1})
                got = await numbers.get(10)
                while isinstance(got, Gap):
                    got = await numbers.get(10)
                assert got["n"] == 1
                _, text = await get(server, "/metrics")
                assert 'sapwood_events_total{event="rebirth_changed"}' in text
                assert 'sapwood_events_total{event="impossible"}' in text
        finally:
            await server.stop()

    run(check())


def test_beyond_this_machine_it_is_encrypted_and_wants_a_login(tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.toml"
    accounts.write_text(
        f'[accounts.chief]\nsecret = "{hash_token("t")}"\nadminister = "true"\n'
        f'[accounts.guest]\nsecret = "{hash_token("g")}"\n'
    )
    authority = Authority(tmp_path)
    tls = authority.settings("127.0.0.1", "0.0.0.0")
    client_context.cache_clear()

    async def check() -> None:
        admin = f"0.0.0.0:{free_port()}"
        async with serving("B1", admin=admin, tls=tls, accounts=str(accounts)) as server:
            assert server.admin is not None
            assert server.admin.url == f"https://{admin}"
            with pytest.raises(HTTPError, match="401"):
                await asyncio.to_thread(
                    urlopen, f"https://{admin}/status", timeout=10, context=authority.trusted
                )
            for name, secret, is_told in (("chief", "t", True), ("guest", "g", False)):
                async with connect(
                    str(server.address), account=name, secret=secret, tls=authority.trusted
                ) as bus:
                    (view,) = (await inspect(bus)).brokers
                assert view.report.admin == f"https://{admin}"
                assert (view.status is not None) is is_told

    run(check())
    client_context.cache_clear()
