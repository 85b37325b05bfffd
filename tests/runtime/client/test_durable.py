"""Durable subscriptions and durable confirmations of the client library, on a live broker."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import sapwood
import sapwood.sync
from runtime.serving import chain_in_background, run, serving
from sapwood.errors import NotDurableError, ParameterError, RefusedError
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.runtime.client import Offset, connect

pytestmark = pytest.mark.slow  # each confirmation waits for the disk


def kept_in(folder: Path, **settings: Any) -> dict[str, Any]:
    return {"data": str(folder), "durability": DurabilitySettings(spool="disk", **settings)}


def asked(url: str, method: str = "GET") -> tuple[int, bytes]:
    try:
        with urlopen(Request(url, method=method), timeout=30) as answer:
            return answer.status, answer.read()
    except HTTPError as problem:
        with problem:
            return problem.code, problem.read()


def test_what_came_while_nobody_read_is_read_later_and_once(tmp_path: Path) -> None:
    async def scenario() -> list[list[Any]]:
        seen = []
        async with serving(**kept_in(tmp_path)) as server, connect(str(server.address)) as bus:
            async with bus.subscribe("n >= 0", durable="d"):
                pass
            for number in range(5):
                await bus.publish({"n": number}, confirm="durable")
            for _ in range(2):
                async with (
                    connect(str(server.address)) as other,
                    other.subscribe("n >= 0", durable="d") as found,
                ):
                    items = [await found.get(30), await found.get(30)]
                    seen.append([item["n"] for item in items])  # type: ignore[index]
        return seen

    assert run(scenario()) == [[0, 1], [2, 3]]


def test_it_outlives_the_broker_and_can_be_read_from_an_offset(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(**kept_in(tmp_path)) as server, connect(str(server.address)) as bus:
            state = await bus.durable("d").open("n >= 0")
            await bus.publish({"n": 1}, confirm="durable")
            await bus.publish({"n": 2}, b"payload", confirm="durable")
        async with serving(**kept_in(tmp_path)) as server, connect(str(server.address)) as bus:
            durable = bus.durable("d")
            page = await durable.read(Offset(state.epoch, 1), wait=30.0)
            assert [one["n"] for one in page.notifications] == [2]
            assert page.notifications[0].payload == b"payload"
            assert page.next == Offset(state.epoch, 2)
            assert (await durable.commit(page.next)).committed == 2
            assert (await durable.status()).next == 2
            start = Offset(state.epoch, 2)
            async with bus.subscribe("n >= 0", durable="d", start=start) as found:
                await bus.publish({"n": 3}, confirm="durable")
                assert (await found.get(30))["n"] == 3  # type: ignore[index]
                assert found.offset == Offset(state.epoch, 3)
            assert [one.name for one in await bus.durables()] == ["d"]
            await durable.drop()
            assert await bus.durables() == ()
            with pytest.raises(RefusedError, match="open it first"):
                await durable.status()

    run(scenario())


def test_durable_subscriptions_are_listed_and_removed_over_the_admin_endpoint(
    tmp_path: Path,
) -> None:
    async def scenario() -> tuple[str, list[int]]:
        settings = {**kept_in(tmp_path), "admin": "127.0.0.1:0"}
        async with serving(**settings) as server, connect(str(server.address)) as bus:
            await bus.durable("a/d").open("n >= 0")
            assert server.admin is not None
            _, said = await asyncio.to_thread(asked, f"{server.admin.url}/durable")
            listed = json.loads(said)
            remove = f"{server.admin.url}/durable/a/d"
            codes = [(await asyncio.to_thread(asked, remove, "DELETE"))[0] for _ in range(2)]
            assert await bus.durables() == ()
            return listed[0]["name"], codes

    assert run(scenario()) == ("a/d", [200, 404])


def test_what_was_given_up_is_a_gap_with_its_range(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = kept_in(tmp_path, mailbox_bytes=2**16)
        async with serving(**settings) as server, connect(str(server.address)) as bus:
            async with bus.subscribe("n >= 0", durable="d"):
                pass
            for number in range(20):
                await bus.publish({"n": number}, bytes(10_000), confirm="durable")
            async with bus.subscribe("n >= 0", durable="d") as found:
                gap, item = await found.get(30), await found.get(30)
                assert isinstance(gap, sapwood.Gap)
                assert "from position 0 on were given up" in gap.reason
                assert item["n"] == gap.count  # type: ignore[index]

    run(scenario())


def test_a_new_life_of_a_subscription_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(**kept_in(tmp_path)) as server, connect(str(server.address)) as bus:
            old = Offset(1, 5)
            async with bus.subscribe("n >= 0", durable="d", start=old) as found:
                gap = await found.get(30)
                assert isinstance(gap, sapwood.Gap)
                assert "has begun anew" in gap.reason

    run(scenario())


def test_nothing_is_durable_at_a_broker_without_a_journal() -> None:
    async def scenario() -> None:
        async with serving() as server, connect(str(server.address)) as bus:
            await bus.publish({"n": 1}, confirm="broker")
            await bus.publish({"n": 1}, confirm=True)
            with pytest.raises(NotDurableError, match="broker B1 keeps no journal"):
                await bus.publish({"n": 1}, confirm="durable")
            with pytest.raises(RefusedError, match="broker B1 keeps no journal"):
                await bus.durable("d").open("n >= 0")
            with pytest.raises(ParameterError, match="'broker' or 'durable'"):
                await bus.publish({"n": 1}, confirm="twice")  # type: ignore[arg-type]

    run(scenario())


def test_the_same_without_await(tmp_path: Path) -> None:
    with (
        chain_in_background(1, **kept_in(tmp_path)) as servers,
        sapwood.sync.connect(str(servers[0].address)) as bus,
    ):
        with bus.subscribe("n >= 0", durable="d") as found:
            bus.publish({"n": 7}, confirm="durable")
            assert next(found)["n"] == 7  # type: ignore[index]
            assert found.offset.position == 1
        assert [one.name for one in bus.durables()] == ["d"]
        durable = bus.durable("d")
        assert durable.open().committed == durable.status().next == 1
        bus.publish({"n": 8}, confirm="durable")
        page = durable.read(Offset(durable.open().epoch, 1), wait=30.0)
        assert [one["n"] for one in page.notifications] == [8]
        assert durable.commit(page.next).committed == 2
        durable.drop()
        assert bus.durables() == ()
