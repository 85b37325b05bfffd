"""Clients that publish at a steady rate, and clients that keep all they get."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import sapwood
from runtime.living import until
from sapwood.runtime.client import Bus

RATE = 250
"""Notifications a second of each publisher; four of them make a thousand."""


class Reader:
    """Collects what a subscription gets."""

    def __init__(self, subscription: sapwood.Subscription) -> None:
        self.got: dict[str, list[int]] = {}
        self.gaps: list[sapwood.Gap] = []
        self.task = asyncio.create_task(self._collect(subscription))

    async def _collect(self, subscription: sapwood.Subscription) -> None:
        async for item in subscription:
            if isinstance(item, sapwood.Gap):
                self.gaps.append(item)
            else:
                self.got.setdefault(str(item["who"]), []).append(int(item["n"]))


class Writer:
    """Publishes at a steady rate until it is stopped."""

    def __init__(self, name: str, bus: Bus) -> None:
        self.name = name
        self.bus = bus
        self.published = 0
        self.task = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            await self.bus.publish({"who": self.name, "n": self.published}, payload=bytes(100))
            self.published += 1
            due = asyncio.Event()
            loop.call_at(start + self.published / RATE, due.set)
            await due.wait()

    async def reaches(self, more: int) -> None:
        """Wait until so many more were published."""
        last = self.published + more
        await until(lambda: self.published >= last, "publications", seconds=60)

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
