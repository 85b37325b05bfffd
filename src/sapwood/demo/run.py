"""The demonstration: brokers, clients, faults, from the beginning to the end.

`run_demo` starts everything and stops everything, whatever happens. Whoever watches (an `Observer`)
gets events as they happen and, twice a second, how things are.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

from sapwood.demo.clients import Clients
from sapwood.demo.gaps import GapNews
from sapwood.demo.network import DemoNetwork
from sapwood.demo.script import Cut, Kill, Restart, script
from sapwood.demo.watching import LINKED, NOTHING, View, look
from sapwood.demo.workload import Subscriber, publishers, subscribers
from sapwood.protocol.tree import Link
from sapwood.runtime.client import Gap
from sapwood.trace.schema import SETTLE_SECONDS_DEFAULT

LOOK_SECONDS = 0.5
_CALM_SECONDS = SETTLE_SECONDS_DEFAULT + 0.5
_CALM_SECONDS_MAX = 30.0
_BACK_SECONDS = 30.0
"""How long a link may take to come back before that is said."""


class Options(NamedTuple):
    """What can be chosen."""

    brokers: int = 8
    seconds: float = 60.0
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
        self._returns: list[asyncio.Task[None]] = []

    @property
    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _say(self, text: str) -> None:
        self._observer.event(self._elapsed, text)

    async def run(self) -> Outcome:
        options, network = self._options, self._network
        self._say(f"starting {options.brokers} brokers")
        async with network:
            brokers = network.topology.brokers
            urls = {name: network.processes[name].url for name in brokers}
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
        return Outcome(published, delivered, self._gaps.count, died)

    # What goes wrong

    async def _play(self) -> None:
        seconds = self._options.seconds
        for scheduled in script(self._network.topology):
            await self._until(scheduled.share * seconds)
            fault = scheduled.fault
            if isinstance(fault, Cut):
                self._cut(fault)
            elif isinstance(fault, Kill):
                await self._kill(fault)
            else:
                self._later(self._restart(fault))
        await self._until(seconds)
        await asyncio.gather(*self._returns)

    async def _until(self, elapsed: float) -> None:
        await asyncio.sleep(max(0.0, elapsed - self._elapsed))

    def _later(self, doing: Coroutine[None, None, None]) -> None:
        self._returns.append(asyncio.create_task(doing))

    def _cut(self, fault: Cut) -> None:
        before = {link: self._resumed(link) for link in fault.links}
        names = ", ".join("–".join(link) for link in fault.links)
        if len(fault.links) > 2:
            names = f"all {len(fault.links)} links"
        for link in fault.links:
            self._network.cut(link)
        self._say(f"CUT   {names}: the connection breaks, without a word to either side")
        self._later(self._back(fault, before, names))

    async def _back(self, fault: Cut, before: dict[Link, int], names: str) -> None:
        """Say when links that were cut carry notifications again."""
        cut_at = self._elapsed
        while self._elapsed - cut_at < _BACK_SECONDS:
            view = await look(self._network.topology, self._network.processes)
            if all(
                view.links[link].state == LINKED and view.brokers[link[0]].resumed > before[link]
                for link in fault.links
                if view.brokers[link[0]].is_up and view.brokers[link[1]].is_up
            ):
                took = self._elapsed - cut_at
                self._say(f"BACK  {names}: connected again within {took:.1f} s, streams go on")
                return
            await asyncio.sleep(0.05)
        self._say(f"STILL {names}: not back after {_BACK_SECONDS:.0f} s")

    def _resumed(self, link: Link) -> int:
        found = self._view.brokers.get(link[0])
        return 0 if found is None else found.resumed

    async def _kill(self, fault: Kill) -> None:
        clients = self._view.brokers[fault.broker].clients if self._view.brokers else 0
        await self._network.kill(fault.broker)
        self._say(
            f"KILL  {fault.broker} (kill -9), with {clients} clients; its neighbour keeps its place"
        )

    async def _restart(self, fault: Restart) -> None:
        self._say(f"START {fault.broker} again")
        await self._network.restart(fault.broker)
        self._say(f"BACK  {fault.broker} is part of the network again, as a new session")

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
            self._view = await look(self._network.topology, self._network.processes)
            seen = self._outcome()
            self._observer.moment(
                Moment(self._elapsed, self._view, seen.published, seen.delivered, seen.gaps)
            )
            self._gaps.tell()
            await asyncio.sleep(LOOK_SECONDS)
