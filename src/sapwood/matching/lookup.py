"""Destinations by single values, for an index whose filters ask for nothing else.

Many tables hold filters of one equality each: classes, topics, ids. What such filters say about
one notification is a look into a dictionary, and the engine, made for many notifications and for
filters of every kind, costs several times as much to ask. Kept only for an index that was asked
about a single notification, and as long as all its rows are single values.
"""

from __future__ import annotations

from collections.abc import Iterable

ROWS_MAX = 16_384
"""Rows up to which it is kept: beyond, the dictionaries would take more than they give."""

ATTRIBUTES_MAX = 8
"""Attributes of a notification up to which it is quicker."""


class ValueLookup:
    """How many rows of each destination name a value, which is given by its slot."""

    def __init__(self, rows: Iterable[tuple[int, int]]) -> None:
        self._wanted: dict[int, dict[int, int]] = {}
        for slot, destination in rows:
            self.add(slot, destination)

    def add(self, slot: int, destination: int) -> None:
        """A row of a destination names a value."""
        wanted = self._wanted.setdefault(slot, {})
        wanted[destination] = wanted.get(destination, 0) + 1

    def discard(self, slot: int, destination: int) -> None:
        """It no longer does."""
        wanted = self._wanted[slot]
        wanted[destination] -= 1
        if wanted[destination] == 0:
            del wanted[destination]
            if not wanted:
                del self._wanted[slot]

    def destinations(self, slots: Iterable[int]) -> Iterable[int]:
        """Those that name any of the values, each once."""
        found: dict[int, int] = {}
        for slot in slots:
            wanted = self._wanted.get(slot)
            if wanted:
                found = wanted if not found else {**found, **wanted}
        return found
