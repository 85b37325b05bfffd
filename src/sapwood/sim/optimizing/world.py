"""One run: a course of events on a network whose brokers change the tree by one of the ways.

Clients publish and move as the course says. Every `MEASURE_TICKS` is read off what notifications
have cost since, by the hops that they really made, and how many changes of the tree were completed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.events import FramesReceived
from sapwood.protocol.reconfigure.messages import COMPLETED
from sapwood.protocol.tree import Groups
from sapwood.sim.network import SETTLING
from sapwood.sim.optimizing.network import CostedNetwork
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course, Stay

MEASURE_TICKS: Final = 250
"""How often costs are read off; the thesis does every 1,000 ticks."""

ROUTING: Final = "identity"
"""What the cost of the tree is measured with: nothing goes where nobody wants it."""


class Measured(NamedTuple):
    """What happened between two readings."""

    until: float
    """In ticks."""
    cost: float
    """Of all notifications, by tick."""
    hops: float
    """Links passed by notifications, by tick."""
    changes: int
    """Changes of the tree that were completed."""
    control: dict[str, int]
    """Links passed by all other messages, by kind."""
    degree_max: int


class Outcome(NamedTuple):
    """What a run came to."""

    measured: tuple[Measured, ...]
    links: tuple[tuple[str, str], ...]
    """The tree at the last reading at which no change had one end only."""
    problems: tuple[str, ...]
    """What does not hold in the end though it must."""

    def cost(self, begin: float = 0.0, end: float = math.inf) -> float:
        """The mean cost by tick between two times, given in ticks."""
        within = [one.cost for one in self.measured if begin < one.until <= end]
        return sum(within) / len(within)

    def changes(self, begin: float = 0.0, end: float = math.inf) -> float:
        """Changes in 1,000 ticks between two times."""
        within = [one.changes for one in self.measured if begin < one.until <= end]
        return 1000 * sum(within) / (len(within) * MEASURE_TICKS)

    def sent(self, kind: str, begin: float = 0.0, end: float = math.inf) -> float:
        """Messages of a kind by tick between two times."""
        within = [one.control.get(kind, 0) for one in self.measured if begin < one.until <= end]
        return sum(within) / (len(within) * MEASURE_TICKS)


class World:
    """A network in which a course of events takes place."""

    def __init__(
        self,
        course: Course,
        make_broker: Callable[[CostedNetwork, BrokerConfig, dict[str, Any]], Broker],
        jitter: float = 0.0,
    ) -> None:
        self.course = course
        random = Random(f"S56 run {course.seed}")

        def make(config: BrokerConfig, **shared: Any) -> Broker:
            return make_broker(self.network, config, shared)

        self.network = CostedNetwork(
            course.prices_at(0), random, {"routing": ROUTING}, make_broker=make, jitter=jitter
        )
        self.measured: list[Measured] = []
        self._publishers: dict[int, str] = {}
        """By job: the session that publishes."""
        self._sessions: dict[Stay, list[str]] = {}
        self._last = (0.0, 0)
        self._links: tuple[tuple[str, str], ...] = course.tree.links
        self._done: set[str] = set()
        """The names of all changes that were completed."""
        self._sent: Counter[str] = Counter()

    def run(self, watch: Callable[[float], None] | None = None) -> Outcome:
        """Let everything happen, and say what it cost; somebody may watch the time pass."""
        course, network, kernel = self.course, self.network, self.network.kernel
        network.build(course.tree, ROUTING)
        for stay in course.stays:
            self._at(stay.begin, self._come, stay)
            if stay.end < course.parameters.ticks:
                self._at(stay.end, self._go, stay)
        for at in course.price_times():
            self._at(at, lambda tick=at: network.change_prices(course.prices_at(tick)))
        for job in range(course.parameters.jobs):
            self._at(course.batch_at(job, 0), self._publish, job, 0)
        for tick in range(MEASURE_TICKS, course.parameters.ticks + 1, MEASURE_TICKS):
            kernel.run(tick * TICK_SECONDS)
            self._measure(tick)
            if watch is not None:
                watch(tick)
        return Outcome(tuple(self.measured), self._links, tuple(self.problems()))

    def problems(self) -> list[str]:
        """What does not hold of the tree though it must; nothing is said while a change is made.

        Its ends do not take it for made at the same time.
        """
        if any(one.turning.ring is not None for one in self.network.brokers.values()):
            return []
        return self._tree_problems(self.network.tree_links())

    def _tree_problems(self, links: list[tuple[str, str]]) -> list[str]:
        names = self.course.brokers
        sides = Groups(names)
        found = [f"{a}-{b} closes a circle" for a, b in links if not sides.join(a, b)]
        if len(links) - len(found) < len(names) - 1:
            found.append(f"{len(links)} links do not join {len(names)} brokers")
        return found

    def _at(self, tick: float, action: Callable[..., object], *arguments: Any) -> None:
        self.network.kernel.at(tick * TICK_SECONDS, action, *arguments)

    # Clients

    def _come(self, stay: Stay) -> None:
        """The clients of a job come to the brokers where it is from now on."""
        network, number = self.network, f"J{stay.job}"
        sessions = self._sessions[stay] = []
        for place, broker in enumerate(stay.places):
            session = f"{number}.{place}.{int(stay.begin)}"
            network.connect(session, broker)
            sessions.append(session)
            if place:
                network.subscribe(session, number, f"job = {stay.job}", settle=False)
        self._publishers[stay.job] = sessions[0]

    def _go(self, stay: Stay) -> None:
        """They leave."""
        for session in self._sessions.pop(stay):
            self.network.disconnect(session)

    def _publish(self, job: int, batch: int) -> None:
        """A job publishes what is due, in one go."""
        course, network = self.course, self.network
        count = int(course.published[job, batch])
        session = self._publishers[job]
        client = network.clients[session]
        if count:
            now, attributes = network.kernel.now, {"job": job}
            frames = [client.notification(attributes, now, b"", 0.0)[1] for _ in range(count)]
            network.publishes(client.broker, count)
            network.handle(client.broker, FramesReceived(session, b"".join(frames)))
        if batch + 1 < course.published.shape[1]:
            self._at(course.batch_at(job, batch + 1), self._publish, job, batch + 1)

    # Measuring

    def _measure(self, tick: float) -> None:
        network = self.network
        network.settle_up()
        cost, hops = self._last
        before = len(self._done)
        for broker in network.brokers.values():
            ended = broker.turning.finished.items()
            self._done.update(name for name, outcome in ended if outcome == COMPLETED)
        sent: Counter[str] = Counter()
        for direction in (*network.directions.values(), *network.cut):
            sent.update(direction.control)
        fresh = sent - self._sent
        self.measured.append(
            Measured(
                tick,
                (network.cost - cost) / MEASURE_TICKS,
                (network.hops_counted - hops) / MEASURE_TICKS,
                len(self._done) - before,
                {kind: count for kind, count in fresh.items() if kind not in SETTLING},
                max(len(one.neighbours.tree()) for one in network.brokers.values()),
            )
        )
        links = network.tree_links()
        if not self._tree_problems(links):
            self._links = tuple(links)
        self._last, self._sent = (network.cost, network.hops_counted), sent
