"""The demonstration: brokers, clients, faults, from the beginning to the end.

`run_demo` starts everything and stops everything, whatever happens. Whoever watches (an `Observer`)
gets events as they happen and, twice a second, how things are.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

from sapwood.demo.acts import ActReport, Stage
from sapwood.demo.clients import Clients
from sapwood.demo.gaps import GapNews
from sapwood.demo.network import DemoNetwork
from sapwood.demo.script import script
from sapwood.demo.settings import described
from sapwood.demo.watching import NOTHING, View, look
from sapwood.demo.workload import Subscriber, publishers, subscribers
from sapwood.runtime.client import Gap
from sapwood.trace.schema import SETTLE_SECONDS_DEFAULT

LOOK_SECONDS = 0.5
_CALM_SECONDS = SETTLE_SECONDS_DEFAULT + 0.5
_CALM_SECONDS_MAX = 30.0


class Options(NamedTuple):
    """What can be chosen."""

    brokers: int = 8
    seconds: float = 60.0
    """How long clients publish, at least: the acts take what they take."""
    rate: float = 300.0
    """Publications a second, of all publishers together."""
    seed: int = 1


class Moment(NamedTuple):
    """How things are at one moment."""

    elapsed: float
    view: View
    published: int
    delivered: int
    gaps: int


class Observer(Protocol):
    """Whoever watches."""

    def event(self, elapsed: float, text: str) -> None:
        """Something happened."""

    def moment(self, now: Moment) -> None:
        """How things are now."""


class Outcome(NamedTuple):
    """What the clients themselves have seen; the verdict is the trace's."""

    published: int
    delivered: int
    gaps: int
    died: tuple[str, ...]
    """Brokers that ended by themselves."""
    acts: tuple[ActReport, ...] = ()


async def run_demo(options: Options, directory: Path, observer: Observer) -> Outcome:
    """Give the demonstration; the brokers' traces are below the directory afterwards.

    If it is stopped from outside (SIGINT, SIGTERM), it stops all it has started first.
    """
    doing = asyncio.current_task()
    assert doing is not None
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, doing.cancel)
    try:
        return await _DemoRun(options, directory, observer).run()
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


class _DemoRun:
    def __init__(self, options: Options, directory: Path, observer: Observer) -> None:
        self._options = options
        self._observer = observer
        self._random = Random(options.seed)
        self._network = DemoNetwork(options.brokers, directory)
        self._view = NOTHING
        self._gaps = GapNews(self._say)
        self._clients: Clients | None = None
        self._began = time.monotonic()
        self._acts: list[ActReport] = []

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _say(self, text: str) -> None:
        self._observer.event(self._elapsed, text)

    async def run(self) -> Outcome:
        options, network = self._options, self._network
        self._say(f"starting {options.brokers} brokers; {described()}")
        async with network:
            brokers = network.topology.brokers
            urls = {name: network.servers(name) for name in brokers}
            sources = publishers(brokers, options.rate)
            listeners = subscribers(brokers, max(6, 2 * options.brokers), self._random)
            clients = Clients(sources, listeners, urls, self._gap)
            async with clients, self._watching():
                self._clients = clients
                self._say(
                    f"{len(sources)} publishers and {len(listeners)} subscribers are connected; "
                    f"{clients.settled} subscriptions have settled"
                )
                self._began = time.monotonic()
                clients.start_publishing(self._random)
                await self._play()
                await clients.stop_publishing()
                self._say("the publishers stop; what is under way arrives")
                await self._calm(clients)
            outcome = self._outcome()
            self._say("stopping the brokers, leaves first")
        return outcome

    async def _calm(self, clients: Clients) -> None:
        """Wait until nothing arrives any more.

        What was published last is judged only if the trace goes on for a while, so that is the
        least time without a delivery.
        """
        await clients.flush(_CALM_SECONDS_MAX)
        count = clients.delivered.total()
        since = began = self._elapsed
        while self._elapsed - since < _CALM_SECONDS and self._elapsed - began < _CALM_SECONDS_MAX:
            if clients.delivered.total() != count:
                count, since = clients.delivered.total(), self._elapsed
            await asyncio.sleep(0.1)

    def _outcome(self) -> Outcome:
        clients = self._clients
        if clients is None:
            return Outcome(0, 0, 0, ())
        published, delivered = clients.published.total(), clients.delivered.total()
        died = tuple(broker.id for broker in self._network.processes.died)
        return Outcome(published, delivered, self._gaps.count, died, tuple(self._acts))

    # What goes wrong

    async def _play(self) -> None:
        seconds = self._options.seconds
        stage = Stage(self._network, self._say)
        for scheduled in script(self._options.brokers):
            await self._until(scheduled.share * seconds)
            self._acts.append(await stage.play(scheduled.act))
        await self._until(max(seconds, self._elapsed + _CALM_SECONDS))

    async def _until(self, elapsed: float) -> None:
        await asyncio.sleep(max(0.0, elapsed - self._elapsed))

    # What is seen

    def _gap(self, subscriber: Subscriber, gap: Gap) -> None:
        self._gaps.add(subscriber, gap)

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            self._view = await look(self._network.processes)
            seen = self._outcome()
            self._observer.moment(
                Moment(self._elapsed, self._view, seen.published, seen.delivered, seen.gaps)
            )
            self._gaps.tell()
            await asyncio.sleep(LOOK_SECONDS)
