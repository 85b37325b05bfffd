"""How often what others want changes: what it would cost to tell a neighbour of it, in any way.

While a neighbour is told nothing, or in one way, a broker knows from its own table what it would
cost to tell it in another one: with simple routing every change is a message; with identity-based
routing the first and the last wish of a filter among all others is one; and for coverings and
mergers what would be owed is kept beside, for a few neighbours and ways at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Entry
from sapwood.routing.table import RoutingTable

Turn: TypeAlias = tuple[str, str]
"""A neighbour, and a way of telling it."""


class Wishes:
    """Changes of a table of subscriptions since they were last taken."""

    def __init__(self) -> None:
        self.holders: dict[str, dict[str, int]] = {}
        """By filter: how many entries of which destination want it."""
        self.changes: Counter[str] = Counter()
        """By destination: entries that came or went."""
        self.total = 0
        """The same of all destinations."""
        self.firsts = 0
        """Filters that a first entry wants, or a last one wanted, of all destinations."""
        self.unseen: Counter[str] = Counter()
        """By destination: how many of these are its own."""
        self.seen: Counter[str] = Counter()
        """By destination: filters that a first or last one beside it wants."""
        self.told: Counter[str] = Counter()
        """By neighbour: messages that told it what is wanted."""
        self.shadows: dict[Turn, EdgeLedger] = {}
        """What neighbours would be owed in other ways."""
        self.unsaid: Counter[Turn] = Counter()
        """Messages that would have told them of changes."""

    # Following the table

    def add(self, entry: Entry) -> None:
        """An entry has come."""
        holders = self.holders.setdefault(entry.filter.id, {})
        self._moved(holders, entry.destination)
        holders[entry.destination] = holders.get(entry.destination, 0) + 1
        for (neighbour, _), shadow in self.shadows.items():
            if neighbour != entry.destination:
                shadow.add(entry)

    def remove(self, entry: Entry) -> None:
        """An entry has gone."""
        holders = self.holders.get(entry.filter.id, {})
        left = holders.get(entry.destination, 0) - 1
        if left > 0:
            holders[entry.destination] = left
        else:
            holders.pop(entry.destination, None)
        self._moved(holders, entry.destination)
        if not holders:
            self.holders.pop(entry.filter.id, None)
        for (neighbour, _), shadow in self.shadows.items():
            if neighbour != entry.destination:
                shadow.remove(entry)

    def _moved(self, holders: dict[str, int], destination: str) -> None:
        """Somebody begins or ends to want a filter beside those who hold it."""
        self.changes[destination] += 1
        self.total += 1
        if not holders:
            self.firsts += 1
            self.unseen[destination] += 1
        elif len(holders) == 1 and destination not in holders:
            (only,) = holders
            self.seen[only] += 1

    def note(self, told: Iterable[str]) -> None:
        """Neighbours were told of changes, one message each; what would the others have been?"""
        self.told.update(told)
        for turn, shadow in self.shadows.items():
            said = shadow.take()
            if said:
                self.unsaid[turn] += len(said.subscribe) + len(said.unsubscribe)

    # Looking

    def simple(self, neighbour: str) -> int:
        """Messages of simple routing to a neighbour."""
        return self.total - self.changes[neighbour]

    def identity(self, neighbour: str) -> int:
        """Messages of identity-based routing to a neighbour."""
        return self.firsts - self.unseen[neighbour] + self.seen[neighbour]

    def filters(self, neighbour: str) -> int:
        """Filters that others than a neighbour want: what identity-based routing would tell."""
        return sum(1 for holders in self.holders.values() if holders.keys() - {neighbour})

    def clear(self) -> None:
        """Count anew from now on."""
        self.changes.clear()
        self.total = 0
        self.firsts = 0
        self.unseen.clear()
        self.seen.clear()
        self.told.clear()
        self.unsaid.clear()

    def build(self, table: RoutingTable) -> None:
        """Let who wants what be just what a table says."""
        self.holders = {}
        for entry in table:
            holders = self.holders.setdefault(entry.filter.id, {})
            holders[entry.destination] = holders.get(entry.destination, 0) + 1

    def cast(self, turns: Iterable[Turn], table: RoutingTable) -> None:
        """Keep beside what neighbours would be owed in ways of telling, these and no others."""
        self.shadows = {turn: self.shadows.get(turn) or _cast(turn, table) for turn in turns}


def _cast(turn: Turn, table: RoutingTable) -> EdgeLedger:
    """What a neighbour would be owed, as if it had been told of all there is."""
    neighbour, how = turn
    shadow = EdgeLedger(neighbour, how)
    for destination in table.destinations():
        if destination != neighbour:
            for entry in table.of(destination):
                shadow.add(entry)
    shadow.take()
    return shadow
