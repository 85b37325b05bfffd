"""Reading a subscription: in order, one by one or many, until its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sapwood.errors import ClosedError, RefusedError
from sapwood.filters.filter import Filter
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import Inbox
from sapwood.runtime.client import Gap, Subscription


class CountingBus:
    """A bus that only counts what a subscription asks of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def begin(self, subscription: Subscription) -> None:
        self.calls.append("begin")

    async def end(self, subscription: Subscription, *, settle: bool) -> None:
        self.calls.append(f"end, settle {settle}")

    def has_room(self) -> None:
        self.calls.append("room")


def make(buffer: int = 100, *, gaps: bool = True) -> tuple[Subscription, CountingBus]:
    bus = CountingBus()
    made = Subscription(bus, Filter("true"), buffer=buffer, settle=True, gaps=gaps)
    made.begin(made.inbox)
    return made, bus


def items(count: int) -> list[Delivered]:
    return [Delivered(b"", b"") for _ in range(count)]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_it_begins_and_ends_once() -> None:
    async def scenario() -> None:
        one, bus = make()
        async with one:
            await one.close(settle=True)
        await one.close()
        assert bus.calls == ["begin", "end, settle True"]

    run(scenario())


def test_it_yields_what_comes_and_then_ends() -> None:
    async def scenario() -> None:
        one, _ = make()
        came = items(3)
        reading = asyncio.create_task(_all(one))
        await asyncio.sleep(0)
        for item in came:
            one.items.append(item)
            one.wake()
            await asyncio.sleep(0)
        one.finish()
        assert await reading == came

    run(scenario())


async def _all(one: Subscription) -> list[Any]:
    return [item async for item in one]


def test_a_failure_comes_after_what_came_before() -> None:
    async def scenario() -> None:
        one, _ = make()
        came = items(2)
        one.items.extend(came)
        one.finish(RefusedError("too slow"))
        assert [await one.get(), await one.get()] == came
        with pytest.raises(RefusedError, match="too slow"):
            await one.get()
        with pytest.raises(RefusedError, match="too slow"):
            await _all(one)

    run(scenario())


def test_get_says_why_there_is_nothing() -> None:
    async def scenario() -> None:
        one, _ = make()
        with pytest.raises(TimeoutError):
            await one.get(0)
        await one.close()
        with pytest.raises(ClosedError, match="the subscription true is closed"):
            await one.get()

    run(scenario())


def test_a_wait_that_is_cancelled_takes_nothing() -> None:
    async def scenario() -> None:
        one, _ = make()
        waiting = asyncio.create_task(one.get())
        await asyncio.sleep(0)
        [item] = items(1)
        one.items.append(item)
        one.wake()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await one.get(1) is item

    run(scenario())


def test_two_may_read_and_each_item_goes_to_one() -> None:
    async def scenario() -> None:
        one, _ = make()
        readers = [asyncio.create_task(_all(one)) for _ in range(2)]
        await asyncio.sleep(0)
        came = items(4)
        one.items.extend(came)
        one.wake()
        await asyncio.sleep(0)
        one.finish()
        found = await asyncio.gather(*readers)
        assert sorted(map(id, found[0] + found[1])) == sorted(map(id, came))

    run(scenario())


def test_read_takes_what_is_there() -> None:
    async def scenario() -> None:
        one, _ = make()
        assert await one.read(seconds=0) == []
        came = items(5)
        one.items.extend(came)
        assert await one.read(3) == came[:3]
        assert await one.read() == came[3:]
        await one.close()
        assert await one.read() == []

    run(scenario())


def test_the_bus_is_told_when_half_is_free() -> None:
    async def scenario() -> None:
        one, bus = make(buffer=4)
        one.items.extend(items(5))
        for calls in (0, 0, 1, 1, 1):
            await one.get()
            assert bus.calls.count("room") == calls

    run(scenario())


def test_it_reads_the_inbox_it_is_given_and_waits_for_it() -> None:
    async def scenario() -> None:
        one, _ = make()
        inbox = Inbox("3", one.filter, 10, yields_gaps=True)
        one.begin(inbox)
        reading = asyncio.create_task(one.get())
        await asyncio.sleep(0)
        assert inbox.is_awaited
        inbox.report(Gap(2, "a"))
        one.wake()
        assert await reading == Gap(2, "a")
        inbox.settled, inbox.reason = False, "B2 is away"
        assert (one.settled, one.reason, list(one.gaps)) == (False, "B2 is away", [Gap(2, "a")])

    run(scenario())
