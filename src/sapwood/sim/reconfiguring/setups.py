"""The papers' networks to change, at any size: S44 (thesis 4.4.3, 002) and S003 (003, section VI).

Sizes are reduced by default, so that a run takes less than a second; the papers' own are in
`S44_PRINTED` and `S003_PRINTED`. Delays between brokers are drawn for each pair and stay; the
thesis takes them from an underlay, with 100 ms at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import msgspec

from sapwood.errors import ParameterError
from sapwood.filters.values import Value
from sapwood.protocol.reconfigure.exchange import Exchange, oriented
from sapwood.protocol.tree import Topology
from sapwood.sim.parameters import check_at_least
from sapwood.sim.reconfiguring.setting import Publication, Setting
from sapwood.sim.topology.delays import ConstantDelay
from sapwood.sim.topology.shapes import random_tree

TREES_MAX = 1000
"""Trees that are drawn until one has a way of the length that is asked for."""


class DrawnDelays:
    """Each pair of brokers has a delay of its own, all between two bounds equally likely."""

    def __init__(self, seed: object, delay_min: float, delay_max: float) -> None:
        self._seed, self._bounds = seed, (delay_min, delay_max)
        self._drawn: dict[frozenset[str], ConstantDelay] = {}

    def link(self, left: str, right: str) -> ConstantDelay:
        """The same in both directions, and always."""
        pair = frozenset((left, right))
        if pair not in self._drawn:
            random = Random(f"{self._seed} {' '.join(sorted(pair))}")
            self._drawn[pair] = ConstantDelay(random.uniform(*self._bounds))
        return self._drawn[pair]


class JobSetup(msgspec.Struct, frozen=True, kw_only=True):
    """S44: publishers, each with subscribers of its own, that get all it publishes."""

    brokers: int = 30
    publishers: int = 12
    subscribers: int = 4
    """For each publisher."""
    publish_period: float = 0.05
    """Mean seconds between two publications of a publisher."""
    delay_min: float = 0.01
    delay_max: float = 0.1

    def setting(self, ring: int, seed: int) -> Setting:
        """A network, and one of its links exchanged around a ring of so many brokers."""
        check_at_least("ring", ring, 3)
        random = Random(f"S44 {ring} {seed}")
        tree, change = _ringed(self.brokers, ring, random)
        jobs = [f"job = {number}" for number in range(self.publishers)]
        clients: dict[str, str] = {}
        subscriptions = []
        for number, filter in enumerate(jobs):
            clients[f"P{number}"] = random.choice(tree.brokers)
            for place in range(self.subscribers):
                name = f"S{number}.{place}"
                clients[name] = random.choice(tree.brokers)
                subscriptions.append((name, filter))
        change_at, busy = 0.5, 1.0 + 8 * ring * self.delay_max
        names = [f"P{number}" for number in range(self.publishers)]
        publications = [
            Publication(at, name, {"job": names.index(name)})
            for at, name in _published(names, self.publish_period, busy, random)
        ]
        return Setting(
            tree=tree,
            delays=DrawnDelays(seed, self.delay_min, self.delay_max),
            clients=clients,
            subscriptions=tuple(subscriptions),
            publications=tuple(publications),
            changes=(change,),
            change_at=change_at,
            until=busy + 4 * ring * self.delay_max,
            seed=seed,
            ring_seconds=ring * self.delay_max,
        )


class TopicSetup(msgspec.Struct, frozen=True, kw_only=True):
    """S003: half of the brokers only forward; clients with several subscriptions each."""

    brokers: int = 16
    clients: int = 16
    subscriptions: int = 5
    """For each client."""
    topics: int = 40
    """A subscription matches one of so many publications: one in 1,000 in the paper."""
    publish_period: float = 0.05
    """Seconds between two publications of a client: 0.75 in the paper."""
    delay_min: float = 0.001
    delay_max: float = 0.005
    answer_share: float = 0.3
    """How often a client answers; the paper does not say. Only then causal order shows."""

    def setting(self, ring: int, seed: int) -> Setting:
        """A network, and one of its links exchanged: for a swap around three brokers."""
        check_at_least("ring", ring, 3)
        random = Random(f"S003 {ring} {seed}")
        tree, change = _ringed(self.brokers, ring, random)
        serving = random.sample(tree.brokers, max(1, self.brokers // 2))
        clients = {f"C{number}": random.choice(serving) for number in range(self.clients)}
        subscriptions = [
            (name, f"topic = {topic}")
            for name in clients
            for topic in random.sample(range(self.topics), self.subscriptions)
        ]
        busy = 0.5 + 40 * ring * self.delay_max
        publications = []
        for at, name in _published(list(clients), self.publish_period, busy, random):
            attributes: dict[str, Value] = {"topic": random.randrange(self.topics)}
            publications.append(Publication(at, name, attributes))
        return Setting(
            tree=tree,
            delays=DrawnDelays(seed, self.delay_min, self.delay_max),
            clients=clients,
            subscriptions=tuple(subscriptions),
            publications=tuple(publications),
            changes=(change,),
            change_at=0.25,
            until=busy + 0.5,
            seed=seed,
            ring_seconds=ring * self.delay_max,
            answer_share=self.answer_share,
        )


S44_PRINTED = JobSetup(brokers=100, publishers=50, subscribers=9)
S003_PRINTED = TopicSetup(
    brokers=100, clients=100, subscriptions=10, topics=1000, publish_period=0.75
)


def _ringed(brokers: int, ring: int, random: Random) -> tuple[Topology, Exchange]:
    """A random tree with a way of the wanted length, and a link on it to be exchanged."""
    for _ in range(TREES_MAX):
        tree = random_tree(brokers, random)
        ways = [
            way
            for index, left in enumerate(tree.brokers)
            for right in tree.brokers[index + 1 :]
            if len(way := tree.path(left, right)) == ring
        ]
        if ways:
            way = random.choice(ways)
            return tree, oriented(way, random.randrange(1, ring), lambda caller, called: True)
    raise ParameterError(
        f"is {ring}; no tree of {brokers} brokers drawn had a way of so many", "ring"
    )


def _published(
    names: Sequence[str], period: float, until: float, random: Random
) -> Iterator[tuple[float, str]]:
    """When which client publishes, at exponential intervals, in the order of time."""
    at = 0.0
    while (at := at + random.expovariate(len(names) / period)) < until:
        yield at, random.choice(names)
