"""Whether the tables of all brokers are right, and since when.

A routing configuration is right if every entry is there for a reason, and every reason has its
entry: what a broker holds from a neighbour is wanted by some client behind it, and what clients
there want is matched by what the broker holds. That is more than clients see (Jaeger 2007, 3.2.1):
a network that falls back to flooding delivers everything, and is not right. What has changed less
than the settling time ago is under way, and is excused.

Where subscriptions follow advertisements, only those are asked for that an advertisement on the
other side overlaps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sapwood.filters.filter import Filter
from sapwood.protocol.broker import Broker
from sapwood.protocol.clients import ADVERTISED, SUBSCRIBED
from sapwood.protocol.tree import Topology
from sapwood.routing.table import RoutingTable


class Declared(NamedTuple):
    """What a client has subscribed to or advertised."""

    session: str
    broker: str
    kind: str
    filter: Filter


class Wants(NamedTuple):
    """Filters by how many want them: those that must be known, and those that may be."""

    required: Counter[Filter]
    allowed: Counter[Filter]


class Expectation:
    """What clients have declared, as each broker has to see it: by the direction it comes from."""

    def __init__(self, topology: Topology) -> None:
        self._towards = {name: _directions(topology, name) for name in topology.brokers}
        """For each broker: the neighbour through which it reaches every other one."""
        self._wants: dict[tuple[str, str, str], Wants] = {}

    def wants(self, broker: str, kind: str, destination: str) -> Wants:
        """What a broker has to hold, or may hold, from a neighbour or client."""
        key = (broker, kind, destination)
        found = self._wants.get(key)
        if found is None:
            found = self._wants[key] = Wants(Counter(), Counter())
        return found

    def change(self, declared: Declared, *, required: int = 0, allowed: int = 0) -> None:
        """Something is to be known, or may be, by everybody; or no longer."""
        for broker, towards in self._towards.items():
            destination = (
                declared.session if broker == declared.broker else towards[declared.broker]
            )
            wants = self.wants(broker, declared.kind, destination)
            _count(wants.required, declared.filter, required)
            _count(wants.allowed, declared.filter, allowed)


def _count(counts: Counter[Filter], filter: Filter, change: int) -> None:
    counts[filter] += change
    if not counts[filter]:
        del counts[filter]


def _directions(topology: Topology, origin: str) -> dict[str, str]:
    directions: dict[str, str] = {}
    for broker, parent in topology.parents(origin).items():
        directions[broker] = broker if parent == origin else directions[parent]
    return directions


def problems(broker: Broker, expectation: Expectation) -> Iterator[str]:
    """What is wrong with the tables of a broker."""
    for kind, table in ((SUBSCRIBED, broker.subscriptions), (ADVERTISED, broker.advertisements)):
        for destination in [*broker.neighbours.tree(), *broker.clients]:
            wants = expectation.wants(broker.id, kind, destination)
            if not _is_told(broker, kind, destination):
                wants = Wants(Counter(), Counter())
            held = [entry.filter for entry in table.of(destination)]
            yield from _unfounded(kind, destination, held, wants)
            yield from _missing(broker, kind, destination, held, wants, expectation)
        yield from _strangers(broker, kind, table)


def _is_told(broker: Broker, kind: str, destination: str) -> bool:
    """Whether a broker is to know what somebody wants."""
    if destination in broker.clients:
        return True
    if kind == ADVERTISED:
        return broker.config.spreads_advertisements
    return not broker.neighbours[destination].is_flooded


def _unfounded(kind: str, destination: str, held: list[Filter], wants: Wants) -> Iterator[str]:
    """Entries for which there is no reason: nobody wants it, nor do several together."""
    together: Filter | None = None
    for filter in held:
        if filter in wants.allowed:
            continue
        together = together or _union(wants.allowed)
        if not together.covers(filter):
            yield f"{kind} {filter} is held from {destination}, where nobody wants it"


def _missing(
    broker: Broker,
    kind: str,
    destination: str,
    held: list[Filter],
    wants: Wants,
    expectation: Expectation,
) -> Iterator[str]:
    """What is wanted, and no entry matches it, nor do several together."""
    known = set(held)
    for filter in wants.required:
        if filter in known or filter.is_empty:
            continue
        if kind == SUBSCRIBED and not _is_in_scope(broker, destination, filter, expectation):
            continue
        if not any(one.covers(filter) for one in held) and not _union(held).covers(filter):
            yield f"{kind} {filter} is not held from {destination}, where somebody wants it"


def _is_in_scope(
    broker: Broker, destination: str, filter: Filter, expectation: Expectation
) -> bool:
    """Whether a neighbour has to tell of a subscription: something on this side overlaps it."""
    if destination in broker.clients or not broker.config.spreads_advertisements:
        return True
    advertised = expectation.wants(destination, ADVERTISED, broker.id).required
    return any(one.overlaps(filter) for one in advertised)


def _strangers(broker: Broker, kind: str, table: RoutingTable) -> Iterator[str]:
    for entry in table:
        if entry.destination not in broker.clients and entry.destination not in broker.neighbours:
            yield f"{kind} {entry.filter} is held from {entry.destination}, who is unknown"


def _union(filters: Iterable[Filter]) -> Filter:
    return Filter.from_boxes([box for filter in filters for box in filter.boxes])


class RecoveryWatch:
    """Looks at brokers whenever something has changed there; knows since when all is right.

    A broker is looked at when time goes on, not in the middle of an instant.
    """

    def __init__(
        self, brokers: dict[str, Broker], topology: Topology, now: Callable[[], float]
    ) -> None:
        self.expectation = Expectation(topology)
        self.right_since: float | None = 0.0
        self._brokers = brokers
        self._now = now
        self._touched: dict[str, None] = dict.fromkeys(brokers)
        self._touched_at = 0.0
        self._wrong: set[str] = set()

    def touch(self, broker: str) -> None:
        """Something has happened at a broker."""
        if self._now() > self._touched_at:
            self.look()
        self._touched[broker] = None

    def touch_all(self) -> None:
        """What is expected has changed."""
        for broker in self._brokers:
            self.touch(broker)

    def look(self) -> None:
        """Look at what has changed until now."""
        for broker in self._touched:
            wrong = next(problems(self._brokers[broker], self.expectation), None)
            if wrong is None:
                self._wrong.discard(broker)
            else:
                self._wrong.add(broker)
        if self._wrong:
            self.right_since = None
        elif self.right_since is None:
            self.right_since = self._touched_at
        self._touched = {}
        self._touched_at = self._now()

    def problems(self) -> list[str]:
        """What is wrong now."""
        return [
            f"{name}: {problem}"
            for name, broker in self._brokers.items()
            for problem in problems(broker, self.expectation)
        ]
