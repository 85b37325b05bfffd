"""The evaluation of self-optimizing hybrid routing (Schröter et al., section 6; set-up S004).

A complete binary tree of brokers; every notification is of one type, every subscription wants one
type; where, and of which type, is drawn evenly. Subscriptions arrive ever faster and slower again,
and last for a minute in the mean. Beside what the brokers carry, message by message, it is counted
what simple routing and flooding would carry with the same publications and subscriptions.

The printed rates are per second; only per minute do they agree with the printed results, and only
a geometric ramp with the printed place where the curves of simple routing and flooding cross.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING, peer_to_peer
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.network import Network

RAMP = ((0.0, 10.0), (400.0, 10.0), (850.0, 20_000.0), (950.0, 20_000.0), (1800.0, 2_000.0))
"""Times in seconds, and subscriptions per minute; between them geometric, and constant after."""


class Setup(NamedTuple):
    """What is evaluated. `scale` divides rates and types alike, so all shares stay as they are."""

    depth: int = 6
    types: int = 1000
    publication_rate: float = 500.0
    """Per second, in the whole network."""
    lifetime: float = 60.0
    ramp: tuple[tuple[float, float], ...] = RAMP
    seconds: int = 2200
    scale: float = 1.0
    settings: EdgeRoutingSettings = EdgeRoutingSettings(
        choice="auto", telling=("simple",), unit="messages"
    )
    start: str = "simple"
    groups: float = 0.0
    """Share of subscriptions that want ten types at once: something that covers others."""
    seed: int = 1
    delay: float = 0.001

    @property
    def brokers(self) -> int:
        """How many there are."""
        return (2 << self.depth) - 1

    def arrival_rate(self, at: float) -> float:
        """Subscriptions per second at a time."""
        times = [time for time, _ in self.ramp]
        logs = [math.log(rate) for _, rate in self.ramp]
        return math.exp(float(np.interp(at, times, logs))) / 60.0 / self.scale


class Second(NamedTuple):
    """What was carried in a second, and how many edges flooded at its end."""

    carried: int
    simple: int
    flooding: int
    flooded_edges: int
    switches: int
    """Decisions in this second."""


class Evaluation:
    """One run."""

    def __init__(self, setup: Setup, watch: Callable[[str], None] | None = None) -> None:
        self.setup = setup
        self.random = Random(setup.seed)
        self.network = Network(
            Random(setup.seed + 1),
            {"edges": setup.settings, "routing": setup.start, "settle_interval": 0.0},
        )
        names = [f"B{number}" for number in range(1, setup.brokers + 1)]
        links = [(names[number // 2 - 1], names[number - 1]) for number in range(2, len(names) + 1)]
        self.network.build_tree(links, lambda random: setup.delay, peer_to_peer(links, setup.start))
        self.names = names
        for name in names:
            self.network.connect(f"c{name}", name)
        self._types = max(1, round(setup.types / setup.scale))
        self._count = 0
        self._wanted = np.zeros((setup.brokers, self._types), np.int32)
        """By broker and type: subscriptions of clients there."""
        self._sides = _sides(setup.brokers)
        self._simple = self._flooding = 0
        self.invalid: list[str] = []
        """Edges that were routed in a way in which something could have been missed."""
        self.network.watch = self._watched if watch is None else watch

    def _watched(self, name: str) -> None:
        """After every event but notifications: edges are routed so that nothing is missed."""
        around = [name, *self.network.brokers[name].neighbours]
        self.invalid += invalid_edges({one: self.network.brokers[one] for one in around})

    # What clients do

    def _publish(self) -> None:
        place, kind = self.random.randrange(len(self.names)), self.random.randrange(self._types)
        self.network.publish(f"c{self.names[place]}", {"type": kind})
        beyond = self._wanted[:, kind] > 0
        self._flooding += len(self.names) - 1
        self._simple += int((self._sides[place] @ beyond > 0).sum())
        self.network.kernel.at(
            self.network.kernel.now
            + self.random.expovariate(self.setup.publication_rate / self.setup.scale),
            self._publish,
        )

    def _subscribe(self) -> None:
        place, kind = self.random.randrange(len(self.names)), self.random.randrange(self._types)
        kinds = [kind]
        filter = f"type = {kind}"
        if self.setup.groups and self.random.random() < self.setup.groups:
            first = kind // 10 * 10
            kinds = list(range(first, min(first + 10, self._types)))
            filter = f"type >= {first} and type < {first + 10}"
        self._count += 1
        name = f"s{self._count}"
        session = f"c{self.names[place]}"
        self.network.subscribe(session, name, filter, settle=False)
        self._wanted[place, kinds] += 1
        self._simple += len(self.names) - 1
        lifetime = self.random.expovariate(1 / self.setup.lifetime)
        now = self.network.kernel.now
        self.network.kernel.at(now + lifetime, self._unsubscribe, place, session, name, kinds)

    def _unsubscribe(self, place: int, session: str, name: str, kinds: list[int]) -> None:
        self.network.unsubscribe(session, name, settle=False)
        self._wanted[place, kinds] -= 1
        self._simple += len(self.names) - 1

    def _arrive(self) -> None:
        """A subscription, and when the next one comes: by thinning, as the rate changes."""
        kernel = self.network.kernel
        highest = max(rate for _, rate in self.setup.ramp) / 60.0 / self.setup.scale
        if self.random.random() * highest < self.setup.arrival_rate(kernel.now):
            self._subscribe()
        kernel.at(kernel.now + self.random.expovariate(highest), self._arrive)

    # Running

    def run(self, report: Callable[[int, Second], None] | None = None) -> list[Second]:
        """All seconds."""
        present = round(self.setup.arrival_rate(0.0) * self.setup.lifetime)
        for _ in range(present):
            self._subscribe()
        self._arrive()
        self._publish()
        self.network.kernel.run(0.5)  # everybody was told what is wanted at first
        seconds: list[Second] = []
        before, decided = self._carried(), self._decided()
        self._simple = self._flooding = 0
        for at in range(1, self.setup.seconds + 1):
            self.network.kernel.run(float(at))
            carried, decisions = self._carried(), self._decided()
            second = Second(
                carried - before,
                self._simple,
                self._flooding,
                self.flooded_edges(),
                decisions - decided,
            )
            seconds.append(second)
            before, decided = carried, decisions
            self._simple = self._flooding = 0
            if report is not None:
                report(at, second)
        return seconds

    def _carried(self) -> int:
        hops = self.network.hops()
        return hops.notifications + hops.control

    def _decided(self) -> int:
        return sum(one.edge_choice.counts["done"] for one in self.network.brokers.values())

    def flooded_edges(self) -> int:
        """Edges that flood now."""
        return sum(
            one.receives == FLOODING
            for broker in self.network.brokers.values()
            for one in broker.neighbours.values()
        )


def _sides(brokers: int) -> list[np.ndarray]:
    """For each broker, by edge away from it: which brokers are behind that edge."""
    parents = [(number + 1) // 2 - 1 for number in range(brokers)]
    below = np.eye(brokers, dtype=np.int32)
    for number in range(brokers - 1, 0, -1):
        below[parents[number]] += below[number]
    found = []
    for place in range(brokers):
        rows = []
        for number in range(1, brokers):
            rows.append(1 - below[number] if below[number, place] else below[number])
        found.append(np.array(rows, dtype=np.int32))
    return found


def smoothed(values: list[int], seconds: int = 20) -> np.ndarray:
    """Means over some seconds."""
    return np.convolve(np.array(values, float), np.ones(seconds) / seconds, "valid")


def excess(seconds: list[Second]) -> float:
    """By which share the network carried more than the cheaper of simple routing and flooding.

    The worst mean of 20 seconds.
    """
    carried = smoothed([one.carried for one in seconds])
    simple = smoothed([one.simple for one in seconds])
    flooding = smoothed([one.flooding for one in seconds])
    least = np.minimum(simple, flooding)
    is_any = least > 0
    return float(((carried - least)[is_any] / least[is_any]).max(initial=0.0))
