"""A broker between others is restarted under load: what its neighbours can keep is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import sapwood
from runtime.living import until
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Bus
from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.runtime.local.local_network import LocalNetwork

CHAIN = Topology(("B1", "B2", "B3"), (("B1", "B2"), ("B2", "B3")))
RATE = 500


class Load:
    """Publishes so many a second, and counts what arrives at the other end."""

    def __init__(self, bus: Bus, subscription: sapwood.Subscription) -> None:
        self.published = 0
        self.got: list[int] = []
        self.gaps: list[sapwood.Gap] = []
        self._tasks = [
            asyncio.create_task(self._publish(bus)),
            asyncio.create_task(self._collect(subscription)),
        ]

    async def _publish(self, bus: Bus) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            await bus.publish({"n": self.published}, payload=bytes(100))
            self.published += 1
            due = asyncio.Event()
            loop.call_at(start + self.published / RATE, due.set)
            await due.wait()

    async def _collect(self, subscription: sapwood.Subscription) -> None:
        async for item in subscription:
            if isinstance(item, sapwood.Gap):
                self.gaps.append(item)
            else:
                self.got.append(int(item["n"]))

    async def reaches(self, more: int) -> None:
        """Wait until so many more were published."""
        last = self.published + more
        await until(lambda: self.published >= last, "publications", seconds=60)

    async def stop(self) -> None:
        """Publish no more; return when the last one has arrived."""
        publishing, collecting = self._tasks
        publishing.cancel()
        await until(lambda: self.got[-1:] == [self.published - 1], "the last one", seconds=60)
        collecting.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task


async def restart(data: Path, end: Callable[[BrokerProcess], object]) -> Load:
    """What arrives when the broker in the middle ends under load, and comes back."""
    async with (
        LocalNetwork(CHAIN, data=data) as network,
        sapwood.connect(network["B1"].url) as first,
        sapwood.connect(network["B3"].url) as last,
        last.subscribe("n >= 0", buffer=1_000_000) as subscription,
    ):
        load = Load(first, subscription)
        await load.reaches(RATE)
        middle = network["B2"]
        await asyncio.to_thread(end, middle)
        await load.reaches(RATE)
        await asyncio.to_thread(middle.launch)
        await asyncio.to_thread(middle.wait_until_joined)
        await load.reaches(RATE)
        await load.stop()
        return load


@pytest.mark.slow
def test_an_orderly_restart_loses_nothing(tmp_path: Path) -> None:
    load = asyncio.run(restart(tmp_path, BrokerProcess.stop))
    assert load.got == list(range(load.published))
    assert load.gaps == []


@pytest.mark.slow
def test_a_crash_loses_what_was_inside_the_process_and_says_so(tmp_path: Path) -> None:
    load = asyncio.run(restart(tmp_path, BrokerProcess.kill))
    assert load.got == sorted(set(load.got)), "nothing is repeated or out of order"
    lost = load.published - len(load.got)
    assert lost < RATE / 2, "not what its neighbour had kept"
    assert load.gaps or not lost
