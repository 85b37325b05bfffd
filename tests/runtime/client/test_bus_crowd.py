"""Many clients on one broker process: all get everything, and one that hangs disturbs nobody."""

from __future__ import annotations

import asyncio
import resource
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from runtime.living import run, transport_of, until
from sapwood.protocol.client.delivered import Delivered
from sapwood.runtime.client import Bus, Subscription, connect
from sapwood.testing import network

PER_SECOND = 10
"""Notifications that each client gets in a second."""

FILES = 4096
"""Open files that a process with a thousand clients may need."""

STEP = 0.01
"""Seconds between two bursts of the publisher."""


class Member:
    """One client: it counts what it gets, and how long that took."""

    def __init__(self, bus: Bus, wanted: Subscription) -> None:
        self.bus = bus
        self.got: list[int] = []
        self.seconds: list[float] = []
        self._task = asyncio.create_task(self._collect(wanted))

    async def _collect(self, wanted: Subscription) -> None:
        async for item in wanted:
            assert isinstance(item, Delivered)
            self.seconds.append(time.time() - item.published_at)
            self.got.append(item.id.sequence)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Crowd:
    """Clients that each want what is for them, one that wants all, and a publisher."""

    def __init__(self, members: list[Member], publisher: Bus, hanging: Member) -> None:
        self.members = members
        self.publisher = publisher
        self.hanging = hanging
        self.sent: dict[int, list[int]] = {number: [] for number in range(len(members))}

    async def publish_for(self, seconds: float) -> None:
        """Publish at the rate that was agreed, evenly spread."""
        loop = asyncio.get_running_loop()
        start, published = loop.time(), 0
        while loop.time() < start + seconds:
            due = int((loop.time() - start) * PER_SECOND * len(self.members))
            while published < due:
                to = published % len(self.members)
                name = await self.publisher.publish({"to": to}, b"x" * 100)
                self.sent[to].append(name.sequence)
                published += 1
            turned = asyncio.Event()
            loop.call_later(STEP, turned.set)
            await turned.wait()

    async def all_delivered(self) -> None:
        await until(
            lambda: all(
                len(member.got) == len(self.sent[to]) for to, member in enumerate(self.members)
            ),
            "all have got everything",
        )
        for to, member in enumerate(self.members):
            assert member.got == self.sent[to]

    def hang(self) -> None:
        """Let one client read nothing any more, as if its process stood still."""
        self._transport.pause_reading()

    async def recover(self) -> None:
        """Let it read again, until it has caught up.

        While its buffer is full of what was sent and not read, what is published now is given up.
        """
        self._transport.resume_reading()
        channel = self.hanging.bus._machine.channel
        published = self.publisher._publishing.sequence
        answers = 1  # that its subscription has settled
        await until(lambda: channel.received == answers + published, "it knows of all so far")
        last = await self.publisher.publish({"to": -1}, confirm=True)
        await until(lambda: last.sequence in self.hanging.got[-1:], "it has caught up")

    @property
    def _transport(self) -> asyncio.Transport:
        return transport_of(self.hanging.bus)


@asynccontextmanager
async def crowd(count: int, folder: Path) -> AsyncIterator[Crowd]:
    """A broker process whose buffers for clients are soon full, and so many clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    config = folder / "broker.toml"
    config.write_text("[client]\nbuffer_bytes = 262144\n")
    async with AsyncExitStack() as stack:
        net = await stack.enter_async_context(network("star", 1, arguments=[f"--config={config}"]))

        async def join(filter: str) -> Member:
            bus = await stack.enter_async_context(connect(net["B1"].url, connect_seconds=60))
            wanted = bus.subscribe(filter, gaps=filter != "true")
            member = Member(bus, await stack.enter_async_context(wanted))
            stack.push_async_callback(member.close)
            return member

        members: list[Member] = []
        for start in range(0, count, 50):
            numbers = range(start, min(start + 50, count))
            members += await asyncio.gather(*(join(f"to = {number}") for number in numbers))
        publisher = await stack.enter_async_context(connect(net["B1"].url))
        yield Crowd(members, publisher, await join("true"))


@pytest.mark.slow
def test_a_crowd_gets_everything_though_one_hangs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with crowd(100, tmp_path) as there:
            there.hang()
            await there.publish_for(2.0)
            await there.all_delivered()
            await there.recover()

    run(scenario(), 110)


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


@pytest.mark.long
def test_a_thousand_clients_do_not_notice_one_that_hangs(tmp_path: Path) -> None:
    """All get 10 a second; the others' 99th percentile moves by less than a fifth."""

    async def scenario() -> tuple[list[float], list[float]]:
        calm: list[float] = []
        hanging: list[float] = []
        async with crowd(1000, tmp_path) as there:
            await there.publish_for(2.0)
            for _ in range(8):
                calm.append(await measured(there))
                there.hang()
                await there.publish_for(1.0)  # until the buffer for the hanging one is full
                hanging.append(await measured(there))
                await there.recover()
            await there.all_delivered()
        return calm, hanging

    calm, hanging = run(scenario(), 600)
    ratio = statistics.median(hanging) / statistics.median(calm)
    print(f"p99 in ms: calm {_shown(calm)}; with one that hangs {_shown(hanging)}; ratio {ratio}")
    assert ratio < 1.2


async def measured(there: Crowd) -> float:
    """The 99th percentile of a while."""
    for member in there.members:
        member.seconds.clear()
    await there.publish_for(2.0)
    await there.all_delivered()
    return p99([seconds for member in there.members for seconds in member.seconds])


def _shown(seconds: list[float]) -> str:
    return " ".join(f"{1000 * one:.1f}" for one in seconds)
