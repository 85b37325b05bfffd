"""A random tree over long links and skewed interest: the network makes its own tree cheaper.

Every link of the first tree goes through a proxy that makes it long; so does, with a time of its
own, the address under which each broker can be dialled for new links. Few topics are published
much, and wanted at few brokers. Nobody asks for a change. What is measured is what frames cost on
the links they pass, by the rates and costs that brokers tell, and how long notifications take from
publisher to subscriber; before the first change, and after the last one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, Final, NamedTuple

import msgspec

from sapwood.demo.settings import OPTIMIZING, SETTINGS
from sapwood.errors import DemoError, NetworkError
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Bus, Gap, Subscription, connect
from sapwood.runtime.client.options import DEFAULT_NETWORK
from sapwood.runtime.config.configuration import to_toml
from sapwood.runtime.config.settings import TraceSettings
from sapwood.runtime.local.local_network import LocalNetwork
from sapwood.runtime.local.proxy import Proxy
from sapwood.sim.topology import random_tree

LONG_SECONDS: Final = (0.01, 0.06)
"""How long a byte takes over a link of the first tree, from and to."""

SHORT_SECONDS: Final = (0.001, 0.01)
"""The same over a link that is dialled later."""

START_SECONDS: Final = 180.0
"""Longest time until the first tree is there."""

LOOK_SECONDS: Final = 1.0
CALM_SECONDS: Final = 4.0

OPTIMIZATION: Final = OptimizationSettings(
    mode="on",
    period_seconds=2.0,
    window_min_seconds=15.0,
    window_max_seconds=60.0,
    gain_min=5.0,
    theta=0.05,
    changes_per_minute=30.0,
)
"""Shorter times than the defaults, so that it can be watched."""


class Pace(NamedTuple):
    """How much time it may take."""

    still_seconds: float
    """After so long without a change the tree is taken for settled."""
    seconds_max: float
    """Longest time until then."""
    optimization: OptimizationSettings


CALM: Final = Pace(25.0, 180.0, OPTIMIZATION)
"""Until nothing is left to be gained."""

ACT: Final = Pace(
    9.0, 60.0, msgspec.structs.replace(OPTIMIZATION, period_seconds=1.5, window_min_seconds=6.0)
)
"""As one act among others."""


class Topic(NamedTuple):
    """Something that is published at one broker, and wanted at some others."""

    name: str
    at: str
    rate: float
    """Publications a second."""
    wanted_at: tuple[str, ...]


class Change(NamedTuple):
    """A swap that was made, and why."""

    at: float
    text: str


class Optimized(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the tree."""

    cost_before: float
    """Milliseconds that all frames of a second take over all links, with the first tree."""
    cost_after: float
    latency_before: float
    """Median time from publisher to subscriber, in milliseconds."""
    latency_after: float
    links_before: tuple[tuple[str, str], ...]
    links_after: tuple[tuple[str, str], ...]
    changes: tuple[str, ...]
    """Each with its reason."""
    published: int
    delivered: int
    gaps: int

    @property
    def is_cheaper(self) -> bool:
        """Whether the tree is cheaper, and notifications take less time."""
        return self.cost_after < self.cost_before and self.latency_after < self.latency_before


def draw_topics(brokers: Sequence[str], random: Random, rate: float) -> list[Topic]:
    """Topics by Zipf's law: the k-th is published 1/k as often as the first; two want each."""
    count = len(brokers)
    weights = [1 / place for place in range(1, count + 1)]
    found = []
    for number, weight in enumerate(weights, 1):
        at, *wanted = random.sample(brokers, 3)
        found.append(Topic(f"t{number}", at, rate * weight / sum(weights), tuple(wanted)))
    return found


class OptimizingRun:
    """One network, from its start until nothing changes any more."""

    def __init__(
        self,
        brokers: int,
        directory: Path,
        say: Callable[[str], None],
        seed: int,
        rate: float,
        pace: Pace = CALM,
    ) -> None:
        random = Random(seed)
        self.topology: Topology = random_tree(brokers, random)
        self.topics = draw_topics(self.topology.brokers, random, rate)
        self.trace_directory = directory / "trace"
        self._settings = directory / "optimizing.toml"
        self._pace = pace
        self._say = say
        self._random = random
        self._network: LocalNetwork | None = None
        self._latencies: list[tuple[float, float]] = []
        """When it was sent, and how long it took."""
        self._costs: list[tuple[float, float]] = []
        self._changes: dict[str, Change] = {}
        self._links: tuple[tuple[str, str], ...] = ()
        self._published = self._gaps = 0

    async def run(self) -> Optimized:
        """Let it happen; everything is stopped afterwards."""
        traced = TraceSettings(directory=str(self.trace_directory), run=OPTIMIZING)
        optimization = self._pace.optimization
        settings = msgspec.structs.replace(SETTINGS, trace=traced, optimization=optimization)
        self._settings.write_text(to_toml(settings), "utf-8")
        async with AsyncExitStack() as stack:
            self._network = await self._started(stack)
            first = await self._until_tree()
            buses = await self._connected(stack)
            self._say(f"TREE  {_listed(first)}, drawn at random; links take 10 to 60 ms")
            sending = [
                asyncio.create_task(self._publish(buses[one.at], one)) for one in self.topics
            ]
            try:
                await self._watch()
            finally:
                for task in sending:
                    task.cancel()
                await asyncio.gather(*sending, return_exceptions=True)
            await asyncio.sleep(CALM_SECONDS)
        return self._outcome(first)

    async def _started(self, stack: AsyncExitStack) -> LocalNetwork:
        """Processes, with a proxy for each link and one before each broker."""
        names = self.topology.brokers
        above = {child: self.topology.path(child, names[0])[1] for child in names[1:]}
        long = {child: Proxy(self._random.uniform(*LONG_SECONDS)) for child in above}
        short = {name: Proxy(self._random.uniform(*SHORT_SECONDS)) for name in names}
        for proxy in (*long.values(), *short.values()):
            await proxy.start()
            stack.push_async_callback(proxy.stop)
        network = LocalNetwork(
            self.topology,
            [f"--config={self._settings}"],
            dials={child: proxy.url for child, proxy in long.items()},
            advertises=True,
            advertised={name: proxy.url for name, proxy in short.items()},
        )
        for child, proxy in long.items():
            proxy.target_port = network[above[child]].port
        for name, proxy in short.items():
            proxy.target_port = network[name].port
        return await stack.enter_async_context(network)

    async def _statuses(self) -> dict[str, dict[str, Any]]:
        assert self._network is not None
        answers = {}
        for name, process in self._network.items():
            with suppress(NetworkError):
                answers[name] = await asyncio.to_thread(process.status)
        return answers

    async def _until_tree(self) -> tuple[tuple[str, str], ...]:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            links = links_of(await self._statuses())
            if set(links) == {(min(link), max(link)) for link in self.topology.links}:
                return links
            await asyncio.sleep(0.2)
        raise DemoError(f"the brokers form no tree within {START_SECONDS:.0f} s; is it too busy?")

    async def _connected(self, stack: AsyncExitStack) -> dict[str, Bus]:
        assert self._network is not None
        buses = {}
        for name, process in self._network.items():
            buses[name] = await stack.enter_async_context(
                connect(process.url, id=f"at-{name}", network=DEFAULT_NETWORK, connect_seconds=30.0)
            )
        for topic in self.topics:
            for name in topic.wanted_at:
                subscription = buses[name].subscribe(f"topic = '{topic.name}'")
                opened = await stack.enter_async_context(subscription)
                listening = asyncio.create_task(self._listen(opened))
                stack.callback(listening.cancel)
        return buses

    async def _publish(self, bus: Bus, topic: Topic) -> None:
        random = Random(f"{topic.name} {topic.at}")
        while True:
            await asyncio.sleep(random.expovariate(topic.rate))
            await bus.publish({"topic": topic.name, "sent": time.time()})
            self._published += 1

    async def _listen(self, subscription: Subscription) -> None:
        async for item in subscription:
            if isinstance(item, Gap):
                self._gaps += 1
            else:
                sent = float(item["sent"])
                self._latencies.append((sent, time.time() - sent))

    # Watching

    async def _watch(self) -> None:
        """Look until nothing has changed for a while."""
        began = last = time.time()
        still, most = self._pace.still_seconds, self._pace.seconds_max
        while (not self._changes or time.time() - last < still) and time.time() - began < most:
            await asyncio.sleep(LOOK_SECONDS)
            statuses = await self._statuses()
            self._costs.append((time.time(), cost_of(statuses)))
            self._links = links_of(statuses) or self._links
            for change, text in changes_of(statuses).items():
                if change not in self._changes:
                    last = time.time()
                    self._changes[change] = Change(last, text)
                    self._say(f"SWAP  {text}")

    def _outcome(self, first: tuple[tuple[str, str], ...]) -> Optimized:
        times = [one.at for one in self._changes.values()]
        if not times:
            raise DemoError("no link was moved: nothing that would have paid was found in time")
        settled = max(times) + 2 * LOOK_SECONDS

        def mean(found: list[float]) -> float:
            return fmean(found) if found else float("nan")

        # What a look finds has happened since the one before.
        begun = min(times) - 2 * LOOK_SECONDS
        before = [cost for at, cost in self._costs[2:] if at < begun]
        return Optimized(
            cost_before=mean(before or [self._costs[0][1]]),
            cost_after=mean([cost for at, cost in self._costs if at > settled]),
            latency_before=1000 * median([took for at, took in self._latencies if at < begun]),
            latency_after=1000 * median([took for at, took in self._latencies if at > settled]),
            links_before=first,
            links_after=self._links,
            changes=tuple(one.text for one in self._changes.values()),
            published=self._published,
            delivered=len(self._latencies),
            gaps=self._gaps,
        )


def links_of(statuses: Mapping[str, dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """The links that are part of the tree by both ends."""
    ends = {
        (name, one["id"])
        for name, status in statuses.items()
        for one in status["neighbours"]
        if one["in_tree"] and one["state"] == "linked"
    }
    return tuple(sorted(link for link in ends if link[0] < link[1] and link[::-1] in ends))


def cost_of(statuses: Mapping[str, dict[str, Any]]) -> float:
    """What the frames of a second cost on the links they pass, in milliseconds."""
    total = 0.0
    for status in statuses.values():
        costs = status["optimization"]["link_costs"]
        for one in status["neighbours"]:
            if one["in_tree"]:
                total += one["rate"]["frames_in"] * costs.get(one["id"], 0.0)
    return total


def changes_of(statuses: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """By name: the swaps that were made, each with its reason."""
    found = {}
    for status in statuses.values():
        for one in status["optimization"]["decisions"]:
            if one.get("outcome") == "completed":
                found[one["change"]] = (
                    f"{one['mover']} leaves {one['middle']} for {one['onto']}: "
                    f"{one['moved']:.1f} notifications/s, {one['alone']:.1f} of them only between "
                    f"the two; link {one['cost_old']:.1f} → {one['cost_new']:.1f} ms, gain "
                    f"{one['gain']:.0f} ± {one['sigma']:.0f} ms/s"
                    + (f" ({one['reason']})" if one.get("reason") else "")
                )
    return found


def _listed(links: Sequence[tuple[str, str]]) -> str:
    return ", ".join("–".join(link) for link in links)


def described(found: Optimized) -> list[str]:
    """What became of the tree, in lines."""
    share = found.cost_after / found.cost_before
    return [
        f"before  {_listed(found.links_before)}",
        f"after   {_listed(found.links_after)}",
        f"cost    {found.cost_before:,.0f} → {found.cost_after:,.0f} ms of links a second "
        f"({share:.2f} of it)",
        f"p50     {found.latency_before:.1f} → {found.latency_after:.1f} ms from publisher to "
        "subscriber",
        f"{len(found.changes)} links moved; {found.published:,} published, "
        f"{found.delivered:,} delivered, {found.gaps} gaps reported",
    ]
