"""One matching for many tables: the filters of all brokers that share a process.

In a simulated network a notification meets the same filters at every broker on its way. So it is
matched once, against the filters of all of them together; what each broker then asks is to whom
it owes the filters that were found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Generic, NamedTuple

from sapwood.errors import UnknownKeyError
from sapwood.filters.filter import Filter
from sapwood.matching.entry import Event, IndexEntry, Key, check_new
from sapwood.matching.index import MatchIndex


class Matched(NamedTuple):
    """What was found for a notification."""

    name: bytes
    """What the notification is known by: one object for all that are equal."""
    filters: tuple[int, ...]
    """The numbers of all filters that match it."""


class SharedFilters:
    """Filters under numbers, each as long as a table holds it, and what was matched lately.

    A number is never used again. What was matched is forgotten when a filter is new; one that goes
    may still be found, but no table holds it.
    """

    def __init__(self, remembered_max: int) -> None:
        self.matched: dict[bytes, Matched] = {}
        """By name; to be read only."""
        self._index: MatchIndex[int] = MatchIndex()
        self._numbers: dict[Filter, int] = {}
        self._holders: dict[int, int] = {}
        self._next = 0
        self._remembered_max = remembered_max

    def __len__(self) -> int:
        """How many different filters there are."""
        return len(self._numbers)

    def hold(self, filter: Filter) -> int:
        """Take in a filter on behalf of one more table; its number."""
        number = self._numbers.get(filter)
        if number is None:
            number = self._next
            self._index.add(number, filter)
            self._next += 1
            self._numbers[filter] = number
            self._holders[number] = 0
            self.matched.clear()
        self._holders[number] += 1
        return number

    def number_of(self, filter: Filter) -> int:
        """The number of a filter that a table holds."""
        return self._numbers[filter]

    def release(self, filter: Filter) -> None:
        """A table no longer holds a filter."""
        number = self._numbers[filter]
        self._holders[number] -= 1
        if not self._holders[number]:
            self._index.remove(number)
            del self._numbers[filter], self._holders[number]

    def match(self, name: bytes, notification: Event) -> Matched:
        """Match a notification, or recall what was found for one of the same name."""
        matched = self.matched.get(name)
        if matched is None:
            matched = Matched(name, tuple(self._index.match(notification)))
            if len(self.matched) >= self._remembered_max:
                self.matched.clear()
            self.matched[name] = matched
        return matched

    def match_batch(self, notifications: Sequence[Event]) -> list[list[int]]:
        """For each notification, the numbers of all filters that match it."""
        return self._index.match_batch(notifications)


class SharedIndex(Generic[Key]):
    """The table of one of those who share filters; its methods do what those of `MatchIndex` do."""

    has_engine = False
    """There is no engine for this table alone."""

    def __init__(self, filters: SharedFilters) -> None:
        self._filters = filters
        self._entries: dict[Key, IndexEntry[Key]] = {}
        self._destinations: dict[int, tuple[Any, ...]] = {}
        """By filter, once for each entry."""

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        """Whether there is an entry under this key."""
        return key in self._entries

    def entries(self) -> Iterator[IndexEntry[Key]]:
        """All entries, in the order they were added."""
        return iter(self._entries.values())

    def add(self, key: Key, filter: Filter, destination: Hashable) -> None:
        """Enter a filter under a new key, on behalf of a destination."""
        check_new(key, filter, self._entries)
        entry = IndexEntry(key, filter, destination)
        hash(destination)  # fails on what has no hash, before anything is changed
        number = self._filters.hold(filter)
        self._entries[key] = entry
        self._destinations[number] = (*self._destinations.get(number, ()), destination)

    def remove(self, key: Key) -> None:
        """Take out what was entered under a key."""
        entry = self._entries.pop(key, None)
        if entry is None:
            raise UnknownKeyError(f"the key {key!r} is not in the index")
        number = self._filters.number_of(entry.filter)
        others = list(self._destinations[number])
        others.remove(entry.destination)
        if others:
            self._destinations[number] = tuple(others)
        else:
            del self._destinations[number]
        self._filters.release(entry.filter)

    def clear(self) -> None:
        """Hold nothing any more, as another table takes the place of this one."""
        for entry in self._entries.values():
            self._filters.release(entry.filter)
        self._entries = {}
        self._destinations = {}

    def destinations(self, notification: Event, exclude: Hashable = None) -> list[Any]:
        """The destinations, except one, for which at least one filter matches."""
        return self.destinations_batch([notification], exclude)[0]

    def destinations_batch(
        self, notifications: Sequence[Event], exclude: Hashable = None
    ) -> list[list[Any]]:
        """For each notification, the destinations for which at least one filter matches."""
        return [
            [one for one in self.owed(numbers) if one != exclude]
            for numbers in self._filters.match_batch(notifications)
        ]

    def owed(self, filters: Sequence[int]) -> dict[Any, None]:
        """The destinations of any of these filters."""
        found: dict[Any, None] = {}
        destinations = self._destinations
        for number in filters:
            if number in destinations:
                for destination in destinations[number]:
                    found[destination] = None
        return found
