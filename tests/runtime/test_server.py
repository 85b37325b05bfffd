"""A broker with all that belongs to it: starting, joining, and what stops it from doing so."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from runtime.living import RawPeer, port, until
from runtime.serving import ANY_PORT, free_port, run, serving
from sapwood.errors import ListenError, RefusedError
from sapwood.protocol.link.handshake import CLIENT, SHUTDOWN, Hello, Welcome
from sapwood.protocol.ports import Restart
from sapwood.runtime.client import Gap, connect
from sapwood.runtime.config.settings import LinkSettings, Settings
from sapwood.runtime.data_directory import DataDirectory
from sapwood.runtime.server import Server

QUICK = LinkSettings(retry_first_seconds=0.01, retry_max_seconds=0.05)


def test_a_broker_that_only_dials_needs_no_address() -> None:
    async def check() -> None:
        async with (
            serving("B1") as first,
            serving("B2", listen="", join=(str(first.address),)) as second,
        ):
            assert second.address is None
            assert second.status().listens == ""
            assert [one.id for one in first.status().neighbours] == ["B2"]

    run(check())


def test_an_unreachable_join_is_told_and_tried_again() -> None:
    async def check() -> None:
        with socket.socket() as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            there = f"sapwood://127.0.0.1:{reserved.getsockname()[1]}"
            told: list[str] = []
            settings = Settings(id="B2", listen=ANY_PORT, join=(there,), link=QUICK)
            server = Server(settings, told.append)
            await server.start()
            await until(lambda: bool(told), "the problem is told")
            assert told == [
                f"broker B2: cannot reach {there}: Connection refused; "
                "is a broker listening there? (trying again)"
            ]
            (join,) = server.status().joins
            assert (join.is_linked, "Connection refused" in join.problem) == (False, True)
            async with serving("B1", listen=there):
                await server.joined()
                assert server.status().joins[0].is_linked
                assert len(told) == 1
            await server.stop()

    run(check())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"network": "other"}, "this is network 'sapwood', not 'other'; give the right address"),
        ({"token": "wrong"}, "the token is missing or wrong; give this network's token"),
        ({"token": ""}, "the token is missing or wrong; give this network's token"),
        ({"routing": "flooding"}, "this network routes by covering, not by flooding; flooding doe"),
        ({"id": "B1"}, "this broker itself is 'B1'; choose another id"),
        ({"id": "B2"}, "a living broker has the id 'B2'"),
    ],
)
def test_who_may_not_join_is_told_why(settings: dict[str, str], reason: str) -> None:
    async def check() -> None:
        async with (
            serving("B1", token="right") as first,
            serving("B2", token="right", join=(str(first.address),)),
        ):
            given = {"id": "B3", "token": "right", **settings}
            with pytest.raises(RefusedError) as found:
                async with serving(given.pop("id"), join=(str(first.address),), **given):
                    pass
            assert reason in str(found.value)

    run(check())


def test_a_broker_that_cannot_start_leaves_nothing_behind() -> None:
    async def check() -> None:
        async with serving("B1") as first:
            assert first.address is not None
            taken = f"127.0.0.1:{first.address.port}"
            free = f"127.0.0.1:{free_port()}"
            before = asyncio.all_tasks()
            with pytest.raises(ListenError, match="the admin address"):
                async with serving("B2", listen=free, admin=taken):
                    pass
            assert asyncio.all_tasks() == before
            async with serving("B3", listen=free):
                pass

    run(check())


def test_a_leaf_leaves_and_a_broker_in_the_middle_is_expected_back() -> None:
    async def check() -> None:
        async with serving("B1") as first:
            second = Server(Settings(id="B2", listen=ANY_PORT, join=(str(first.address),)))
            await second.start()
            await second.joined()
            third = Server(Settings(id="B3", listen=ANY_PORT, join=(str(second.address),)))
            await third.start()
            await third.joined()
            fourth = Server(Settings(id="B4", listen=ANY_PORT, join=(str(third.address),)))
            await fourth.start()
            await fourth.joined()
            await fourth.stop()
            await until(lambda: "B4" not in third.node.peers, "the leaf has left")
            await second.stop()
            await until(lambda: not first.node.peers["B2"].channel.connected, "B2 is away")
            assert [one.state for one in first.status().neighbours] == ["away"]
            assert [(one.id, one.state) for one in third.status().neighbours] == [("B2", "away")]
            await third.stop()

    run(check())


def test_clients_are_told_that_the_broker_shuts_down() -> None:
    async def check() -> None:
        async with serving("B1") as server:
            client = await RawPeer.connect(port(server))
            client.say(Hello(role=CLIENT, network="sapwood", id="c", session=1))
            assert await client.heard(Welcome)
        async with client:
            goodbye = await client.goodbye()
            assert goodbye is not None
            assert goodbye.code == SHUTDOWN

    run(check())


def test_a_broker_that_got_in_once_is_known_to_be_right(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving("B1") as one:
            settings = Settings(
                id="B2", listen=ANY_PORT, join=(str(one.address),), data=str(tmp_path)
            )
            assert not DataDirectory(settings).was_part
            two = Server(settings)
            await two.start()
            await two.entered()
            assert DataDirectory(settings).was_part
            await two.stop()

    run(scenario())


def test_a_broker_that_is_refused_was_not_part_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving("B1", network="one") as one:
            settings = Settings(
                id="B2",
                listen=ANY_PORT,
                join=(str(one.address),),
                data=str(tmp_path),
                network="another",
            )
            two = Server(settings)
            await two.start()
            await two.entered()
            assert not DataDirectory(settings).was_part
            with pytest.raises(RefusedError):
                await two.joined()
            await two.stop()

    run(scenario())


def test_a_new_session_begins_in_the_same_process() -> None:
    async def check() -> None:
        async with (
            serving("B1", link=QUICK) as first,
            serving("B2", join=(str(first.address),), link=QUICK) as second,
            connect(str(first.address)) as bus,
            bus.subscribe("n > 0") as numbers,
            connect(str(second.address)) as other,
        ):
            before = first.node
            first.driver.carry_out([Restart("a test")])
            assert first.node is not before
            assert first.node.config.session > before.config.session
            there = second.node.broker.subscriptions
            await until(lambda: bool(first.node.broker.subscriptions.filters(bus.name)), "a client")
            await until(lambda: len(there) == 1 and len(first.node.peers) == 2, "a link")
            assert [one.id for one in first.status().neighbours] == ["B2"]
            await other.publish({"n": 1})
            got = await numbers.get(10)
            while isinstance(got, Gap):  # what was under way is lost, and said to be
                got = await numbers.get(10)
            assert got["n"] == 1

    run(check())
