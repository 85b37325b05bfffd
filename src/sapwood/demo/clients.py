"""The clients at work: each publishes or listens until it is told to stop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from random import Random
from typing import TypeAlias

from sapwood.demo.workload import Publisher, Subscriber
from sapwood.errors import NetworkError
from sapwood.runtime.client import Bus, Gap, Subscription, connect
from sapwood.runtime.client.options import DEFAULT_NETWORK

GapSink: TypeAlias = Callable[[Subscriber, Gap], None]


class Clients:
    """All clients of the demonstration, on the running event loop. Use it with ``async with``."""

    def __init__(
        self,
        publishers: Sequence[Publisher],
        subscribers: Sequence[Subscriber],
        urls: Mapping[str, Sequence[str]],
        on_gap: GapSink,
    ) -> None:
        """`urls` has the servers of a broker's clients: its own, then where they go without it."""
        self.published: Counter[str] = Counter()
        """By publisher."""
        self.delivered: Counter[str] = Counter()
        """By subscriber."""
        self.settled = 0
        """How many subscriptions were in effect everywhere before the first publication."""
        self._publishers = publishers
        self._subscribers = subscribers
        self._urls = urls
        self._on_gap = on_gap
        self._stack = AsyncExitStack()
        self._publishing: list[asyncio.Task[None]] = []
        self._buses: dict[str, Bus] = {}

    async def __aenter__(self) -> Clients:
        """Connect everybody, and wait for the subscriptions to settle."""
        await self._stack.__aenter__()
        try:
            for one in self._publishers:
                self._buses[one.name] = await self._connect(one.name, one.broker)
            for two in self._subscribers:
                bus = await self._connect(two.name, two.broker)
                subscription = await bus.subscribe(two.filter).__aenter__()
                self.settled += bool(subscription.settled)
                listening = asyncio.create_task(self._listen(two, subscription))
                self._stack.callback(listening.cancel)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop_publishing()
        await self._stack.aclose()

    async def _connect(self, name: str, broker: str) -> Bus:
        bus = await connect(
            *self._urls[broker], id=name, network=DEFAULT_NETWORK, connect_seconds=30.0
        ).__aenter__()
        self._stack.push_async_callback(_leave, bus)
        return bus

    def start_publishing(self, random: Random) -> None:
        """Let the publishers begin, each with random numbers of its own."""
        for one in self._publishers:
            own = Random(random.getrandbits(64))
            self._publishing.append(asyncio.create_task(self._publish(one, own)))

    async def stop_publishing(self) -> None:
        """Let the publishers end."""
        tasks, self._publishing = self._publishing, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def flush(self, seconds: float) -> None:
        """Wait until brokers have accepted what was published, for so long at most."""
        with suppress(NetworkError, TimeoutError):
            async with asyncio.timeout(seconds):
                for bus in self._buses.values():
                    await bus.flush()

    async def _publish(self, one: Publisher, random: Random) -> None:
        """Publish at random times, not in step with anybody else."""
        bus = self._buses[one.name]
        loop = asyncio.get_running_loop()
        at = loop.time()
        while True:
            at += random.expovariate(one.rate)
            await asyncio.sleep(max(0.0, at - loop.time()))
            await bus.publish(one.draw(random))
            self.published[one.name] += 1

    async def _listen(self, one: Subscriber, subscription: Subscription) -> None:
        async for item in subscription:
            if isinstance(item, Gap):
                self._on_gap(one, item)
            else:
                self.delivered[one.name] += 1


async def _leave(bus: Bus) -> None:
    """Let a client leave, whatever became of its broker."""
    with suppress(NetworkError):
        await bus.close()
