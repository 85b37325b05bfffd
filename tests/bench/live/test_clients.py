"""Subscribers see by themselves what is lost, repeated or out of order."""

from __future__ import annotations

import asyncio
import struct
from random import Random
from typing import Any, cast

import pytest

import sapwood
from runtime.living import broker, run, until
from sapwood.bench.live import clients as live_clients
from sapwood.bench.live.clients import (
    CLASSES,
    Clients,
    Publisher,
    Subscriber,
    cancelled,
    waited,
)
from sapwood.errors import BenchmarkError

KINDS = frozenset(["c1"])


async def seen(*numbers: int) -> list[str]:
    """What a subscriber says when these numbers come, in this order."""
    async with (
        broker("B1") as server,
        sapwood.connect(str(server.address), id="reader") as reader,
        sapwood.connect(str(server.address), id="writer") as writer,
    ):
        subscriber = Subscriber("reader", "B1", reader, KINDS)
        await subscriber.start()
        for number in numbers:
            await writer.publish({"class": "c1", "who": "w"}, struct.pack("<q", number))
        await until(lambda: subscriber.received == len(numbers), "all of them")
        await subscriber.stop()
        return subscriber.problems


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ((5, 6, 7), []),
        ((5, 7), ["reader got 7 of w, c1, and not 6"]),
        ((5, 5), ["reader got 5 of w, c1, and not 6"]),
    ],
)
def test_the_next_number_is_known(numbers: tuple[int, ...], problem: list[str]) -> None:
    assert run(seen(*numbers)) == problem


@pytest.mark.slow
def test_everybody_gets_what_is_theirs_and_what_is_missing_is_named() -> None:
    async def scenario() -> None:
        async with broker("B1") as server:
            clients = Clients({"B1": str(server.address)}, 2000.0, Random(1))
            async with clients:
                clients.time_deliveries(True)
                clients.receive_visitors(0.01)
                await until(lambda: clients.received > 100 and clients.visits > 2, "some")
                clients.gone("B1")
                clients.stayed("B1")
                await clients.renew("B1")
                assert await clients.finish(20.0) == []
                assert clients.problems == []
                assert clients.published > clients.received / 2 > 0
                (publisher,) = clients.publishers.values()
                (subscriber,) = clients.subscribers.values()
                kind = min(subscriber.kinds)
                publisher.last[kind] = (10**6, subscriber.settled_at + 1)
                (missing,) = subscriber.missing([publisher])
                assert missing.startswith(f"{subscriber.name} has no 1000000 of {publisher.name}")

    run(scenario())


def test_publishers_keep_their_rate() -> None:
    async def scenario() -> None:
        async with broker("B1") as server, sapwood.connect(str(server.address)) as bus:
            publisher = Publisher("p", "B1", bus, 500.0, Random(1))
            publisher.start()
            await until(lambda: publisher.published >= 100, "a hundred")
            await publisher.stop()
            assert sum(number + 1 for number, _ in publisher.last.values()) == publisher.published
            assert set(publisher.last) <= {f"c{one}" for one in range(CLASSES)}

    run(scenario())


def test_one_waits_until_nothing_is_missing() -> None:
    answers = [["one"], []]
    assert asyncio.run(waited(lambda: answers.pop(0), 10.0)) == []
    assert asyncio.run(waited(lambda: ["one"], 0.0)) == ["one"]


def test_who_waits_for_the_end_of_a_task_can_be_cancelled() -> None:
    """A visitor that unsubscribes when all is over must not take that for the end of its task."""

    async def scenario() -> None:
        is_cancelled, may_end = asyncio.Event(), asyncio.Event()

        async def slow_to_end() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                is_cancelled.set()
                await may_end.wait()

        task = asyncio.create_task(slow_to_end())
        await asyncio.sleep(0)
        waiting = asyncio.create_task(cancelled(task))
        await is_cancelled.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        may_end.set()
        await cancelled(task)
        assert task.cancelled()

    asyncio.run(scenario())


def test_what_a_task_has_ended_with_is_raised() -> None:
    async def wrong() -> None:
        raise BenchmarkError("wrong")

    async def scenario() -> None:
        task = asyncio.create_task(wrong())
        await asyncio.sleep(0)
        await cancelled(task)

    with pytest.raises(BenchmarkError):
        asyncio.run(scenario())


def test_what_is_never_accepted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unheard:
        async def flush(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(live_clients, "_ACCEPT_SECONDS", 0.01)
    publisher = Publisher("p", "B1", cast("Any", Unheard()), 1.0, Random(1))
    with pytest.raises(BenchmarkError, match=r"Unheard.* published was not accepted within"):
        asyncio.run(publisher.stop())
