"""Publishers and subscribers at every broker, which find out by themselves what goes wrong.

A publisher counts its notifications of each class; a subscriber gets all of some classes. So it
sees at once what is lost, repeated or out of order: the next number of that publisher and class is
known. What it sees is independent of the traces that are judged afterwards.

When a broker leaves, its clients go on at its neighbour. When it is back, new ones take their place
at it, so that there are publishers and subscribers everywhere.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple

from sapwood.errors import BenchmarkError, NetworkError, SapwoodError
from sapwood.runtime.client import Bus, Gap, connect
from sapwood.runtime.client.options import DEFAULT_NETWORK

CLASSES: Final = 32
"""Kinds of notifications; each is for some of the subscribers."""

WANTED: Final = 8
"""Classes that a subscriber wants: two of eight subscribers get a notification, on average."""

_PAYLOAD_BYTES: Final = 100
_NUMBER: Final = struct.Struct("<q")
_TICK_SECONDS: Final = 0.004
_PROBLEMS_MAX: Final = 20
_BUFFER: Final = 1_000_000
_CONNECT_SECONDS: Final = 60.0
"""How long a client looks for its broker: the machine may be busy."""
_ACCEPT_SECONDS: Final = 120.0
"""How long it may take until all that was published is at a broker."""


class Sample(NamedTuple):
    """One delivery: between which brokers, when it was published, and how long it took."""

    source: str
    target: str
    published_at: float
    seconds: float


class Publisher:
    """Publishes at a steady rate at one broker."""

    def __init__(self, name: str, home: str, bus: Bus, rate: float, random: Random) -> None:
        self.name = name
        self.home = home
        self.bus = bus
        self.published = 0
        self.last: dict[str, tuple[int, float]] = {}
        """By class: the last number, and when it was published."""
        self._rate = rate
        self._random = random
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to publish."""
        self._task = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        began, before = time.monotonic(), self.published
        while True:
            due = int((time.monotonic() - began) * self._rate) + before - self.published
            for _ in range(due):
                kind = f"c{self._random.randrange(CLASSES)}"
                number = self.last[kind][0] + 1 if kind in self.last else 0
                payload = _NUMBER.pack(number).ljust(_PAYLOAD_BYTES, b".")
                self.last[kind] = (number, time.time())
                self.published += 1
                await self.bus.publish({"class": kind, "who": self.name}, payload)
            await asyncio.sleep(_TICK_SECONDS)

    async def stop(self) -> None:
        """Publish no more; all of it is at a broker."""
        if self._task is not None:
            await cancelled(self._task)
            self._task = None
        try:
            async with asyncio.timeout(_ACCEPT_SECONDS):
                await self.bus.flush()
        except TimeoutError:
            raise BenchmarkError(
                f"what {self.bus} published was not accepted within {_ACCEPT_SECONDS:.0f} s"
            ) from None


class Subscriber:
    """Gets all notifications of some classes at one broker, and says what is wrong with them."""

    def __init__(self, name: str, home: str, bus: Bus, kinds: frozenset[str]) -> None:
        self.name = name
        self.home = home
        self.bus = bus
        self.kinds = kinds
        self.settled_at = float("inf")
        self.received = 0
        self.last: dict[tuple[str, str], int] = {}
        """By publisher and class: the last number that came."""
        self.problems: list[str] = []
        self.homes: dict[str, str] = {}
        """Of publishers whose deliveries are timed."""
        self.samples: list[Sample] = []
        self._subscription = bus.subscribe(
            f"class in ({', '.join(repr(kind) for kind in sorted(kinds))})", buffer=_BUFFER
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Subscribe; returns when everybody knows."""
        await self._subscription.__aenter__()
        if not self._subscription.settled:
            raise BenchmarkError(f"the subscription of {self.name} has not settled")
        self.settled_at = time.time()
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for item in self._subscription:
            if isinstance(item, Gap):
                self._complain(f"{self.name} was told of a gap: {item}")
                continue
            who, kind = str(item["who"]), str(item["class"])
            (number,) = _NUMBER.unpack_from(item.payload)
            expected = self.last.get((who, kind), number - 1) + 1
            if number != expected:
                self._complain(f"{self.name} got {number} of {who}, {kind}, and not {expected}")
            self.last[who, kind] = number
            self.received += 1
            source = self.homes.get(who)
            if source is not None:
                at = item.published_at
                self.samples.append(Sample(source, self.home, at, time.time() - at))

    def _complain(self, text: str) -> None:
        if len(self.problems) < _PROBLEMS_MAX:
            self.problems.append(text)

    def missing(self, publishers: list[Publisher]) -> list[str]:
        """What was published since it subscribed and has not come yet."""
        return [
            f"{self.name} has no {number} of {one.name}, {kind}, but {self.last.get(key)}"
            for one in publishers
            for kind, (number, at) in one.last.items()
            if kind in self.kinds and at > self.settled_at
            if self.last.get(key := (one.name, kind), -1) < number
        ]

    async def stop(self) -> None:
        """Unsubscribe."""
        with suppress(NetworkError):
            await self._subscription.close()
        if self._task is not None:
            await cancelled(self._task)


class Clients:
    """A publisher and a subscriber at each of some brokers. Use it with ``async with``."""

    def __init__(self, urls: dict[str, str], rate: float, random: Random) -> None:
        """`rate` is how many notifications all publishers together publish a second."""
        self.publishers: dict[str, Publisher] = {}
        self.subscribers: dict[str, Subscriber] = {}
        self.visits = 0
        """Subscribers that came for a moment."""
        self._urls = urls
        self._rate = rate / len(urls)
        self._random = random
        self._former: tuple[list[Publisher], list[Subscriber]] = ([], [])
        self._count = 0
        self._visiting: asyncio.Task[None] | None = None
        self._here: list[str] = []

    async def __aenter__(self) -> Clients:
        """Connect everybody, and begin when all subscriptions have settled."""
        for home in self._urls:
            await self._settle_at(home)
        for publisher in self.publishers.values():
            publisher.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._visiting is not None:
            with suppress(SapwoodError):
                await cancelled(self._visiting)
        everybody: list[Publisher | Subscriber] = [*self.publishers.values()]
        for one in (*everybody, *self.subscribers.values()):
            with suppress(NetworkError, BenchmarkError):
                await one.stop()
            with suppress(NetworkError):
                await one.bus.close()

    async def _connected(self, name: str, home: str) -> Bus:
        bus = connect(
            self._urls[home], id=name, network=DEFAULT_NETWORK, connect_seconds=_CONNECT_SECONDS
        )
        return await bus.__aenter__()

    async def _settle_at(self, home: str) -> None:
        self._count += 1
        kinds = frozenset(f"c{one}" for one in self._random.sample(range(CLASSES), WANTED))
        reader = await self._connected(f"s{self._count}-{home}", home)
        subscriber = Subscriber(reader.id, home, reader, kinds)
        await subscriber.start()
        writer = await self._connected(f"p{self._count}-{home}", home)
        self.subscribers[home] = subscriber
        self.publishers[home] = Publisher(
            writer.id, home, writer, self._rate, Random(self._random.getrandbits(64))
        )
        self._here.append(home)

    def gone(self, home: str) -> None:
        """A broker is about to leave: nobody new comes to it."""
        self._here.remove(home)

    def stayed(self, home: str) -> None:
        """A broker does not leave after all."""
        self._here.append(home)

    async def renew(self, home: str) -> None:
        """A broker is back: new clients at it take the place of those who went elsewhere."""
        publisher, subscriber = self.publishers.pop(home), self.subscribers.pop(home)
        await publisher.stop()
        await publisher.bus.close()
        self._former[0].append(publisher)
        await self._settle_at(home)
        self.publishers[home].start()
        await subscriber.stop()
        await subscriber.bus.close()
        subscriber.samples.clear()
        self._former[1].append(subscriber)

    def receive_visitors(self, seconds: float) -> None:
        """From now on, somebody subscribes somewhere every so many seconds, and goes again."""
        self._visiting = asyncio.create_task(self._visit(seconds))

    async def _visit(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / seconds))
            self.visits += 1
            home = self._random.choice(self._here)
            kinds = frozenset(f"c{one}" for one in self._random.sample(range(CLASSES), 2))
            bus = await self._connected(f"v{self.visits}", home)
            visitor = Subscriber(bus.id, home, bus, kinds)
            await visitor.start()
            await asyncio.sleep(self._random.uniform(0.1, 1.0))
            await visitor.stop()
            await bus.close()
            self._former[1].append(visitor)

    # What came of it

    @property
    def published(self) -> int:
        """How many notifications were published."""
        return sum(one.published for one in (*self.publishers.values(), *self._former[0]))

    @property
    def received(self) -> int:
        """How many have come to subscribers."""
        return sum(one.received for one in (*self.subscribers.values(), *self._former[1]))

    @property
    def problems(self) -> list[str]:
        """What subscribers have seen that is wrong."""
        everybody = (*self.subscribers.values(), *self._former[1])
        return [text for one in everybody for text in one.problems]

    def time_deliveries(self, is_timed: bool) -> None:
        """Begin, or end, to keep how long deliveries take."""
        homes = {one.name: one.home for one in self.publishers.values()} if is_timed else {}
        for subscriber in self.subscribers.values():
            subscriber.homes = homes

    def samples(self) -> list[Sample]:
        """All that were timed."""
        return [sample for one in self.subscribers.values() for sample in one.samples]

    async def finish(self, seconds: float) -> list[str]:
        """Publish no more, and wait for what is under way; what has not come by then."""
        if self._visiting is not None:
            await cancelled(self._visiting)
            self._visiting = None
        for publisher in self.publishers.values():
            await publisher.stop()
        publishers = [*self.publishers.values(), *self._former[0]]

        def missing() -> list[str]:
            return [text for one in self.subscribers.values() for text in one.missing(publishers)]

        return await waited(missing, seconds)


async def cancelled(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it has ended; raise what it has ended with before, if so.

    Who waits may be cancelled as well: that must not be taken for the end of the task.
    """
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def waited(missing: Callable[[], list[str]], seconds: float) -> list[str]:
    """Wait until nothing is missing any more; what still is, after some seconds."""
    deadline = time.monotonic() + seconds
    while (found := missing()) and time.monotonic() < deadline:  # noqa: ASYNC110 - of many things
        await asyncio.sleep(0.05)
    return found
