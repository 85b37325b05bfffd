"""`FilterScan`: which of a few filters match, without anything compiled.

Most filters ask for one of a few values of some attribute. Such a filter is looked at only when a
notification has one of these values; all others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeAlias

from sapwood.errors import UnknownKeyError
from sapwood.filters.box import Box
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.entry import Event, IndexEntry, Key, check_new, plain
from sapwood.matching.members import members_of

Test: TypeAlias = tuple[str, Callable[[Value | None], bool]]
"""An attribute, and whether a value of it will do."""

Place: TypeAlias = tuple[str, Hashable]
"""An attribute and one of its values; that of rows which ask for none has no name."""

_LOOSE: Place = ("", None)

_TRUE, _FALSE = ("true",), ("false",)
"""In place of truth values: Python takes True for 1."""


class Row(NamedTuple):
    """A conjunction of an entry's filter, less what is certain where the row is looked at."""

    entry: int
    key: Any
    destination: Hashable
    tests: tuple[Test, ...]


Rows: TypeAlias = dict[int, Row]
"""By a number of their own, in the order they were added."""


class FilterScan(Generic[Key]):
    """Filters under keys; its methods do what those of `MatchIndex` do.

    Keys come in the order in which they were added, destinations in that of the rows that match.
    """

    def __init__(self) -> None:
        self._entries: dict[Key, IndexEntry[Key]] = {}
        self._places: dict[Key, list[tuple[Place, int]]] = {}
        """Where the rows of an entry are, and their numbers there."""
        self._loose: Rows = {}
        self._by_value: dict[str, dict[Hashable, Rows]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def entries(self) -> Iterator[IndexEntry[Key]]:
        """All entries, in the order they were added."""
        return iter(self._entries.values())

    def add(self, key: Key, filter: Filter, destination: Hashable = None) -> int:
        """Enter a filter; how many rows have to be looked at together with its own at most."""
        check_new(key, filter, self._entries)
        hash(destination)  # fails on what has no hash, before anything is changed
        self._entries[key] = IndexEntry(key, filter, destination)
        placed = self._places[key] = []
        entry = self._next
        together = 0
        for box in filter.boxes:
            name, members = _fewest_members(box)
            tests = tuple((own, constraint.matches) for own, constraint in box if own != name)
            row = Row(entry, key, destination, tests)
            for place in [(name, _distinct(value)) for value in members] or [_LOOSE]:
                rows = self._rows_at(place)
                rows[self._next] = row
                placed.append((place, self._next))
                together = max(together, len(rows))
            self._next += 1
        self._next += 1
        return together

    def _rows_at(self, place: Place) -> Rows:
        name, value = place
        return self._by_value.setdefault(name, {}).setdefault(value, {}) if name else self._loose

    def remove(self, key: Key) -> None:
        """Take out what was entered under a key."""
        if self._entries.pop(key, None) is None:
            raise UnknownKeyError(f"the key {key!r} is not in the index")
        for place, number in self._places.pop(key):
            rows = self._rows_at(place)
            del rows[number]
            if not rows and rows is not self._loose:
                name, value = place
                del self._by_value[name][value]
                if not self._by_value[name]:
                    del self._by_value[name]

    def match(self, notification: Event) -> list[Key]:
        """The keys of all filters that match a notification."""
        attributes = plain(notification)
        get = attributes.get
        found: dict[int, Any] = {}
        for rows in self._candidates(attributes):
            for entry, key, _, tests in rows.values():
                if entry not in found and _passes(tests, get):
                    found[entry] = key
        return [found[entry] for entry in sorted(found)]

    def match_batch(self, notifications: Iterable[Event]) -> list[list[Key]]:
        """For each notification, the keys of all filters that match it."""
        return [self.match(notification) for notification in notifications]

    def destinations_batch(
        self, notifications: Iterable[Event], exclude: Hashable = None
    ) -> list[list[Any]]:
        """For each notification, the destinations for which at least one filter matches."""
        return [self.destinations(notification, exclude) for notification in notifications]

    def destinations(self, notification: Event, exclude: Hashable = None) -> list[Any]:
        """The destinations, except one, for which at least one filter matches."""
        attributes = plain(notification)
        get = attributes.get
        found: dict[Hashable, None] = {None: None, exclude: None}
        known = len(found)
        for rows in self._candidates(attributes):
            for _, _, destination, tests in rows.values():
                if destination not in found and _passes(tests, get):
                    found[destination] = None
        return list(found)[known:]

    def _candidates(self, attributes: Mapping[str, Value]) -> list[Rows]:
        """All rows that may match."""
        candidates = [self._loose] if self._loose else []
        by_value = self._by_value
        for name, value in attributes.items():
            if name in by_value:
                if type(value) is bool:
                    rows = by_value[name].get(_distinct(value))
                else:
                    rows = by_value[name].get(value)
                if rows:
                    candidates.append(rows)
        return candidates


def _fewest_members(box: Box) -> tuple[str, list[Value]]:
    """The attribute of which a box allows the fewest values, and these; no name if of none."""
    best_name = ""
    best: list[Value] = []
    for name, constraint in box:
        members = members_of(constraint)
        if members and (not best or len(members) < len(best)):
            best_name, best = name, members
    return best_name, best


def _distinct(value: Value) -> Hashable:
    """A value as a key that equals no other's; numbers are one type."""
    if type(value) is bool:
        return _TRUE if value else _FALSE
    return value


def _passes(tests: tuple[Test, ...], get: Callable[[str], Value | None]) -> bool:
    for name, is_allowed in tests:
        if not is_allowed(get(name)):
            return False
    return True
