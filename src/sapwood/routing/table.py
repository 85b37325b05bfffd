"""A routing table and what each neighbour is owed because of it.

Subscriptions and advertisements spread in the same way: each has such a table of its own. A
neighbour may have a *scope*: only entries within it are owed. Subscriptions travel only towards
advertisements they overlap, so the scope of a neighbour are the advertisements that came from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sapwood.filters.filter import Filter
from sapwood.routing.algorithms import strategy
from sapwood.routing.strategy import Difference, Entry, Strategy

Scope = Callable[[Filter], bool]
"""Says whether a neighbour is concerned by entries with a filter."""


class EdgeLedger:
    """One neighbour that is told: its algorithm, its scope, and the entries within it."""

    def __init__(self, strategy: Strategy, scope: Scope | None) -> None:
        self.strategy = strategy
        self.scope = scope
        self._admitted: set[tuple[str, str]] = set()
        """Destination and id of the entries that were within the scope when last asked."""

    def add(self, entry: Entry) -> None:
        """An entry from another destination has come."""
        if self.scope is None:
            self.strategy.add(entry)
        elif self.scope(entry.filter):
            self._admitted.add(entry[:2])
            self.strategy.add(entry)

    def remove(self, entry: Entry) -> None:
        """An entry from another destination has gone."""
        if self.scope is None:
            self.strategy.remove(entry)
        elif entry[:2] in self._admitted:
            self._admitted.remove(entry[:2])
            self.strategy.remove(entry)

    def reconsider(self, entry: Entry) -> None:
        """The scope may be another now: take an entry in, or let go of it."""
        was_within = entry[:2] in self._admitted
        is_within = self.scope is None or self.scope(entry.filter)
        if is_within and not was_within:
            self._admitted.add(entry[:2])
            self.strategy.add(entry)
        elif was_within and not is_within:
            self._admitted.remove(entry[:2])
            self.strategy.remove(entry)


class RoutingTable:
    """Entries by destination and id, and a strategy for each neighbour that is told of them."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Filter]] = {}
        self._edges: dict[str, EdgeLedger] = {}

    def __len__(self) -> int:
        """How many entries there are."""
        return sum(map(len, self._entries.values()))

    def __iter__(self) -> Iterator[Entry]:
        """All entries, by destination in the order of arrival."""
        for destination in self._entries:
            yield from self.of(destination)

    def of(self, destination: str) -> list[Entry]:
        """The entries of one destination."""
        own = self._entries.get(destination, {})
        return [Entry(destination, entry_id, filter) for entry_id, filter in own.items()]

    def get(self, destination: str, entry_id: str) -> Filter | None:
        """The filter under an id of a destination."""
        return self._entries.get(destination, {}).get(entry_id)

    def add(self, entry: Entry) -> None:
        """Enter what a destination wants; it replaces what it wanted under the same id."""
        known = self.get(entry.destination, entry.id)
        if known == entry.filter:
            return
        if known is not None:
            self.remove(entry.destination, entry.id)
        self._entries.setdefault(entry.destination, {})[entry.id] = entry.filter
        for neighbour, edge in self._edges.items():
            if neighbour != entry.destination:
                edge.add(entry)

    def remove(self, destination: str, entry_id: str) -> Entry | None:
        """Take out what a destination wants under an id, if there is such an entry."""
        own = self._entries.get(destination)
        if own is None or entry_id not in own:
            return None
        entry = Entry(destination, entry_id, own.pop(entry_id))
        if not own:
            del self._entries[destination]
        for neighbour, edge in self._edges.items():
            if neighbour != destination:
                edge.remove(entry)
        return entry

    def open(self, neighbour: str, algorithm: str, scope: Scope | None = None) -> None:
        """Begin to owe a neighbour; everything within its scope is new to it."""
        edge = EdgeLedger(strategy(algorithm), scope)
        for entry in self._of_others(neighbour):
            edge.add(entry)
        self._edges[neighbour] = edge

    def close(self, neighbour: str) -> None:
        """Owe a neighbour nothing any more; it is not told."""
        self._edges.pop(neighbour, None)

    def rescope(self, neighbour: str) -> None:
        """The scope of a neighbour has changed: see which entries are within it now."""
        edge = self._edges.get(neighbour)
        if edge is not None and edge.scope is not None:
            for entry in self._of_others(neighbour):
                edge.reconsider(entry)

    def owed(self, neighbour: str) -> dict[str, Filter]:
        """Everything a neighbour is owed now, by id."""
        return self._edges[neighbour].strategy.owed()

    def differences(self) -> Iterator[tuple[str, Difference]]:
        """What each neighbour has to be told now; it counts as told."""
        for neighbour, edge in self._edges.items():
            difference = edge.strategy.difference()
            if difference:
                yield neighbour, difference

    def _of_others(self, neighbour: str) -> Iterator[Entry]:
        for destination in self._entries:
            if destination != neighbour:
                yield from self.of(destination)
