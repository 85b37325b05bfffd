"""The exact simulator driven by the clients that the formulas assume, measured edge by edge.

Brokers are the real ones, over perfect links without delay. Every run starts in equilibrium: with a
Poisson number of live subscriptions at each broker, each with what remains of its lifetime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import numpy as np

from sapwood.analysis.traffic.advertising import Advertisers
from sapwood.analysis.traffic.arrays import Flags, Floats
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.pipeline.study.statistics import t_quantile
from sapwood.sim.network import Network

ASKING = ("Subscribe", "Unsubscribe")
OFFERING = ("Advertise", "Unadvertise")
SAMPLES = 16

Lifetime: TypeAlias = Callable[[np.random.Generator, float, int], Floats]
"""Draws so many lifetimes of a mean; and, of what remains at a random time, `remaining`."""


def exponential(random: np.random.Generator, mean: float, count: int) -> Floats:
    return random.exponential(mean, count)


def always(random: np.random.Generator, mean: float, count: int) -> Floats:
    return np.full(count, mean)


def remaining_always(random: np.random.Generator, mean: float, count: int) -> Floats:
    return random.uniform(0, mean, count)


@dataclass
class Measured:
    """Messages per second by edge, as in the formulas, and entries for neighbours."""

    notifications: Floats
    changes: Floats
    entries: Floats
    advertisements: Floats


@dataclass
class Experiment:
    """A network and its clients; `run` measures it once."""

    rates: Rates
    algorithm: str
    floods: Flags
    filters: Sequence[str] = ()
    kinds: Sequence[dict[str, int]] = ()
    seconds: float = 200.0
    advertisers: Advertisers | None = None
    lifetime: Lifetime = exponential
    remaining: Lifetime = exponential
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        classes = self.rates.interests.kinds
        self.filters = self.filters or [f"class = {number}" for number in range(classes)]
        self.kinds = self.kinds or [{"class": number} for number in range(classes)]

    def run(self, seed: int) -> Measured:
        random = np.random.default_rng(seed)
        network = self._network(seed)
        self._events = []
        self._plan(network, random)
        network.kernel.run()
        before = self._counts(network)
        sums, taken = np.zeros_like(before.entries), 0
        every = self.seconds / SAMPLES
        ahead = sorted(self._events, key=lambda event: event[:2])
        for at, _, happens in ahead:
            while (taken + 0.5) * every < at:
                sums += self._entries(network)
                taken += 1
            network.kernel.run(at)
            happens()
            network.kernel.run()
        for _ in range(taken, SAMPLES):
            sums += self._entries(network)
        after = self._counts(network)
        return Measured(
            (after.notifications - before.notifications) / self.seconds,
            (after.changes - before.changes) / self.seconds,
            sums / SAMPLES,
            (after.advertisements - before.advertisements) / self.seconds,
        )

    def histories(self, seed: int) -> dict[tuple[int, int], list[tuple[float, float]]]:
        """When subscriptions begin and end in a run without publications, by broker and filter."""
        random = np.random.default_rng(seed)
        rates, found = self.rates, {}
        for at in range(len(rates.tree.brokers)):
            for index in range(len(self.filters)):
                mean = 1 / rates.departure_rate[at, index]
                found[at, index] = self._lives(random, rates.arrival_rate[at, index], mean)
            random.poisson(np.zeros(len(self.kinds)))
        return found

    def _network(self, seed: int) -> Network:
        tree = self.rates.tree
        required = self.advertisers is not None
        config = {"advertisements_required": required, "advertisement_routing": "identity"}
        network = Network(Random(seed), config=config)
        routing, links = {}, []
        for broker in range(1, len(tree.brokers)):
            here, above = tree.brokers[broker], tree.brokers[tree.parents[broker]]
            links.append((above, here))
            for way, edge in ((DOWN, (above, here)), (UP, (here, above))):
                routing[edge] = "flooding" if self.floods[way, broker - 1] else self.algorithm
        network.build_tree(links, lambda random: 0.0, routing)
        network.kernel.run()
        for name in tree.brokers:
            network.connect(f"{name}.1", name)
        return network

    def _plan(self, network: Network, random: np.random.Generator) -> None:
        rates, number = self.rates, 0
        for at, broker in enumerate(rates.tree.brokers):
            session = f"{broker}.1"
            if self.advertisers is not None:
                self._plan_offers(network, random, at, session)
            for index, filter in enumerate(self.filters):
                arrival, mean = rates.arrival_rate[at, index], 1 / rates.departure_rate[at, index]
                for start, end in self._lives(random, arrival, mean):
                    number += 1
                    name = f"{session}/{number}"
                    self._live(
                        start,
                        end,
                        _partial(network.subscribe, session, name, filter, False),
                        _partial(network.unsubscribe, session, name, False),
                    )
            for index, kind in enumerate(self.kinds):
                published = random.poisson(rates.publication_rate[at, index] * self.seconds)
                for when in random.uniform(0, self.seconds, published):
                    self._at(when, _partial(network.publish, session, kind))

    def _plan_offers(
        self, network: Network, random: np.random.Generator, at: int, session: str
    ) -> None:
        assert self.advertisers is not None
        offers, number = self.advertisers, 0
        for index, filter in enumerate(self.filters):
            lives = self._lives(
                random, offers.arrival_rate[at, index], 1 / offers.departure_rate[at, index]
            )
            if offers.stays[at, index]:
                lives.append((0.0, math.inf))
            for start, end in lives:
                number += 1
                name = f"{session}/a{number}"
                self._live(
                    start,
                    end,
                    _partial(network.advertise, session, name, filter, False),
                    _partial(network.unadvertise, session, name, False),
                )

    def _lives(
        self, random: np.random.Generator, arrival: float, mean: float
    ) -> list[tuple[float, float]]:
        first = self.remaining(random, mean, random.poisson(arrival * mean))
        starts = random.uniform(0, self.seconds, random.poisson(arrival * self.seconds))
        ends = starts + self.lifetime(random, mean, len(starts))
        return [(0.0, float(end)) for end in first] + list(
            zip(starts.tolist(), ends.tolist(), strict=True)
        )

    def _live(
        self, start: float, end: float, begin: Callable[[], None], stop: Callable[[], None]
    ) -> None:
        if start == 0.0:
            begin()
        else:
            self._at(start, begin)
        if end < self.seconds:
            self._at(end, stop)

    def _at(self, when: float, happens: Callable[[], None]) -> None:
        self._events.append((float(when), len(self._events), happens))

    def _counts(self, network: Network) -> Measured:
        found = Measured(*(np.zeros((2, self.rates.tree.links)) for _ in range(4)))
        for way, broker, edge in _edges(self.rates.tree):
            along, against = network.directions[edge], network.directions[edge[1], edge[0]]
            found.notifications[way, broker - 1] = along.notifications
            found.changes[way, broker - 1] = sum(against.control[kind] for kind in ASKING)
            found.advertisements[way, broker - 1] = sum(along.control[kind] for kind in OFFERING)
        return found

    def _entries(self, network: Network) -> Floats:
        found = np.zeros((2, self.rates.tree.links))
        for way, broker, (source, target) in _edges(self.rates.tree):
            held = network.brokers[source].subscriptions.of(target)
            found[way, broker - 1] = sum(1 for _ in held)
        return found


def _edges(tree: RootedTree) -> list[tuple[int, int, tuple[str, str]]]:
    edges = []
    for broker in range(1, len(tree.brokers)):
        here, above = tree.brokers[broker], tree.brokers[tree.parents[broker]]
        edges += [(DOWN, broker, (above, here)), (UP, broker, (here, above))]
    return edges


def _partial(call: Callable[..., object], *arguments: object) -> Callable[[], None]:
    def happens() -> None:
        call(*arguments)

    return happens


# --- intervals ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """A formula beside the mean of runs, with its confidence interval."""

    name: str
    formula: float
    mean: float
    half_width: float

    @property
    def holds(self) -> bool:
        return abs(self.mean - self.formula) <= self.half_width

    def __str__(self) -> str:
        return f"{self.name}: formula {self.formula:.5g}, {self.mean:.5g} ± {self.half_width:.3g}"


def compared(name: str, formula: float, values: Sequence[float], confidence: float) -> Comparison:
    """A formula and independent runs."""
    runs = len(values)
    half = t_quantile(runs - 1, confidence) * float(np.std(values, ddof=1)) / math.sqrt(runs)
    return Comparison(name, formula, float(np.mean(values)), half)
