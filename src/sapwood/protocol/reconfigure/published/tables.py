"""Tables of one broker: who wants what, and what each neighbour was told of it.

What a neighbour is owed is a function of the entries of all other destinations, and the difference
to what it was told is sent: the one rule that holds for every algorithm (docs/decisions). The
papers' own way, to pass each message on, loses with link exchange in almost every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value

ParseFilter: TypeAlias = Callable[[str], Filter]
Entries: TypeAlias = dict[str, str]
"""Filters by key."""

IDENTITY, SIMPLE = "identity", "simple"
ALGORITHMS = (IDENTITY, SIMPLE)


class Difference(NamedTuple):
    """What a neighbour has to be told."""

    neighbour: str
    added: list[tuple[str, str]]
    """Key and filter."""
    removed: list[str]


class Tables:
    """Entries by destination, and what was told by neighbour."""

    def __init__(self, parse: ParseFilter, algorithm: str = IDENTITY) -> None:
        if algorithm not in ALGORITHMS:
            raise ParameterError(
                f"is {algorithm!r}; wanted one of {', '.join(ALGORITHMS)}", "algorithm"
            )
        self.entries: dict[str, Entries] = {}
        self.told: dict[str, Entries] = {}
        self._parse = parse
        self._algorithm = algorithm
        self._found: dict[tuple[tuple[str, Value], ...], list[str]] = {}
        """Destinations by attributes, until an entry changes."""

    def key(self, client: str, filter: str) -> str:
        """What a client's subscription is known by: itself, or its filter."""
        found = self._parse(filter).id
        return found if self._algorithm == IDENTITY else f"{client}/{found}"

    # Entries

    def add(self, destination: str, key: str, filter: str) -> None:
        """A destination wants something."""
        self.entries.setdefault(destination, {})[key] = filter
        self._found.clear()

    def remove(self, destination: str, key: str) -> None:
        """A destination wants something no more."""
        self.entries.get(destination, {}).pop(key, None)
        self._found.clear()

    def forget(self, destination: str) -> Entries:
        """A destination is gone; what it wanted."""
        self._found.clear()
        self.told.pop(destination, None)
        return self.entries.pop(destination, {})

    def of(self, destination: str) -> Entries:
        """What a destination wants."""
        return dict(self.entries.get(destination, {}))

    def wanting(self, attributes: dict[str, Value]) -> list[str]:
        """The destinations that want a notification."""
        seen = tuple(sorted(attributes.items()))
        found = self._found.get(seen)
        if found is None:
            found = self._found[seen] = [
                destination
                for destination, entries in self.entries.items()
                if any(self._parse(text).matches(attributes) for text in entries.values())
            ]
        return found

    # What neighbours are told

    def owed(self, neighbour: str, without: Iterable[str] = ()) -> Entries:
        """What all others want, and so what a neighbour has to know; some may be left out."""
        others = {neighbour, *without}
        return {
            key: filter
            for destination, entries in self.entries.items()
            if destination not in others
            for key, filter in entries.items()
        }

    def difference(self, neighbour: str) -> Difference:
        """What a neighbour has to be told now; it counts as told from then on."""
        owed, told = self.owed(neighbour), self.told.get(neighbour, {})
        self.told[neighbour] = owed
        return Difference(
            neighbour,
            [(key, filter) for key, filter in owed.items() if key not in told],
            [key for key in told if key not in owed],
        )
