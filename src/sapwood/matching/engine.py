"""`CompiledIndex`: the engine behind a `MatchIndex` that has grown.

The design, and what it was measured against, is in ``docs/decisions/matching-engine.md``; the
arrays are described in ``layout.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple

import numpy as np

from sapwood.errors import UnknownKeyError
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value, check_attributes
from sapwood.matching import lookup
from sapwood.matching.dictionaries import write_types
from sapwood.matching.domains import choose_cells
from sapwood.matching.entry import Event, IndexEntry, Key, check_new, plain
from sapwood.matching.kernel import match_events
from sapwood.matching.layout import (
    CHUNK,
    DESTINATION_SLOT,
    ENTRY_DESTINATION,
    ENTRY_FIRST_ROW,
    ENTRY_ROWS,
    ENTRY_SLOT,
    FOUND,
    PER_ENTRY,
    Memory,
)
from sapwood.matching.rows import RowStore
from sapwood.matching.segments import NEW_ROWS_MAX, SegmentStore
from sapwood.matching.vocabulary import Vocabulary

DEAD_ROWS_MIN = 1024
"""Rows that are removed stay in the arrays until they are this many and half of the others."""


class Engine(NamedTuple):
    """Addresses for compiled code: the engine's memory, its names, its destinations."""

    memory: int
    names: int
    destinations: int


class CompiledIndex(Generic[Key]):
    """Filters under keys, in arrays that compiled code searches; what its methods do is said there.

    Filters that are not kept (``keeps_filters``) cannot be listed again.
    """

    def __init__(self, *, keeps_filters: bool = True) -> None:
        self._filters: list[Any] | None = [] if keeps_filters else None
        self._memory = Memory()
        write_types(self._memory.addresses)
        self._vocabulary = Vocabulary(self._memory)
        self._rows = RowStore(self._memory, self._vocabulary)
        self._segments = SegmentStore(self._memory)
        self._entry_of: dict[Key, int] = {}
        self._keys: list[Any] = []
        self._free_entries: list[int] = []
        self._memory[DESTINATION_SLOT][0] = self._vocabulary.found_slot()
        self._destinations: list[Any] = [None]
        self._memory.reserve(FOUND, CHUNK)
        self._engine = Engine(
            self._memory.address, id(self._vocabulary.names), id(self._destinations)
        )
        """The same for as long as the index is there: whoever has it need not be told again."""
        self._destination_of: dict[Hashable, int] = {None: 0}
        self._destination_entries: list[int] = [0]
        self._free_destinations: list[int] = []
        self._dead_rows = 0
        self._rows_at_rebuild = 0
        self._arranged_rows = 0
        self._events = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entry_of)

    def __contains__(self, key: object) -> bool:
        """Whether there is an entry under this key."""
        return key in self._entry_of

    def add(self, key: Key, filter: Filter, destination: Hashable = None) -> int:
        """Enter a filter under a new key; 0, as nothing has to be looked at one by one."""
        check_new(key, filter, self._entry_of)
        entry = self._new_entry(key, destination)
        if self._filters is not None:
            self._filters[entry : entry + 1] = [filter]
        self._memory[ENTRY_ROWS][entry] = len(filter.boxes)
        self._memory[ENTRY_FIRST_ROW][entry] = self._rows.count
        if len(filter.boxes) > 1:
            self._memory[ENTRY_SLOT][entry] = self._vocabulary.found_slot()
        for box in filter.boxes:
            self._rows.add(box, entry)
        if self._rows.count - self._arranged_rows >= NEW_ROWS_MAX:
            self._settle()
        return 0

    def remove(self, key: Key) -> None:
        """Take out what was entered under a key."""
        entry = self._entry_of.pop(key, None)
        if entry is None:
            raise UnknownKeyError(f"the key {key!r} is not in the index")
        self._rows.flush()
        first = int(self._memory[ENTRY_FIRST_ROW][entry])
        count = int(self._memory[ENTRY_ROWS][entry])
        for row in range(first, first + count):
            self._rows.drop(row, is_arranged=row < self._arranged_rows)
        if count > 1:
            self._vocabulary.release_found_slot(int(self._memory[ENTRY_SLOT][entry]))
            self._memory[ENTRY_SLOT][entry] = 0
        self._keys[entry] = None
        if self._filters is not None:
            self._filters[entry] = None
        self._free_entries.append(entry)
        self._leave_destination(int(self._memory[ENTRY_DESTINATION][entry]))
        self._dead_rows += count
        if self._dead_rows > DEAD_ROWS_MIN + (self._rows.count - self._dead_rows) // 2:
            self._rebuild()

    def entries(self) -> Iterator[IndexEntry[Key]]:
        """All entries, in the order they were added; the filters must be kept."""
        assert self._filters is not None, "the index was told not to keep its filters"
        for key, entry in self._entry_of.items():
            number = int(self._memory[ENTRY_DESTINATION][entry])
            yield IndexEntry(key, self._filters[entry], self._destinations[number])

    def match(self, notification: Event) -> list[Key]:
        """The keys of all filters that match a notification."""
        return self._query([notification], self._keys)[0]

    def match_batch(self, notifications: Sequence[Event]) -> list[list[Key]]:
        """For each notification, the keys of all filters that match it."""
        return self._query(notifications, self._keys)

    def destinations(self, notification: Event, exclude: Hashable = None) -> list[Any]:
        """The destinations, except one, for which at least one filter matches."""
        if (
            self._rows.others == 0
            and type(notification) is dict
            and len(notification) <= lookup.ATTRIBUTES_MAX
            and self._rows.count <= lookup.ROWS_MAX
        ):
            return self._looked_up(check_attributes(notification), exclude)
        return self.destinations_batch([notification], exclude)[0]

    def destinations_batch(
        self, notifications: Sequence[Event], exclude: Hashable = None
    ) -> list[list[Any]]:
        """For each notification, the destinations for which at least one filter matches."""
        return self._query(notifications, self._destinations, self._destination_of.get(exclude, 0))

    def _looked_up(self, attributes: Mapping[str, Value], exclude: Hashable) -> list[Any]:
        """The destinations without the engine: all filters are single values."""
        found = self._rows.lookup().destinations(self._vocabulary.slots_of(attributes))
        left_out = (0, self._destination_of.get(exclude, 0))
        return [self._destinations[number] for number in found if number not in left_out]

    def engine(self) -> Engine:
        """What compiled code needs that asks for destinations by itself; until the next change."""
        if self._arranged_rows < self._rows.count:
            self._settle()
        return self._engine

    def destination(self, number: int) -> Any:
        """The destination that compiled code knows by a number."""
        return self._destinations[number]

    def count_events(self, count: int) -> None:
        """Compiled code has asked about so many notifications."""
        self._events += count

    def optimize(self) -> None:
        """Rearrange everything, using what the notifications matched so far were like."""
        self._rebuild()

    def _query(
        self, notifications: Sequence[Event], items: list[Any], exclude: int = -1
    ) -> list[list[Any]]:
        events = notifications if type(notifications) is list else list(notifications)
        if events and type(events[0]) is not dict:
            events = [plain(event) for event in events]
        if self._arranged_rows < self._rows.count:
            self._settle()
        results: list[list[Any]] = [[] for _ in events]
        bad = match_events(
            self._memory.address,
            id(events),
            len(events),
            id(self._vocabulary.names),
            id(items),
            id(results),
            exclude,
        )
        if bad >= 0:
            check_attributes(events[bad])
            return self._query([plain(event) for event in events], items, exclude)
        self._events += len(events)
        return results

    def _new_entry(self, key: Key, destination: Hashable) -> int:
        number = self._join_destination(destination)  # first: it fails on what has no hash
        if self._free_entries:
            entry = self._free_entries.pop()
            self._keys[entry] = key
        else:
            entry = len(self._keys)
            self._keys.append(key)
            if entry >= len(self._memory[ENTRY_ROWS]):
                for column in PER_ENTRY:
                    self._memory.reserve(column, entry + 1)
        self._entry_of[key] = entry
        self._memory[ENTRY_DESTINATION][entry] = number
        return entry

    def _join_destination(self, destination: Hashable) -> int:
        number = self._destination_of.get(destination)
        if number is None:
            if self._free_destinations:
                number = self._free_destinations.pop()
                self._destinations[number] = destination
            else:
                number = len(self._destinations)
                self._destinations.append(destination)
                self._destination_entries.append(0)
                self._memory.reserve(DESTINATION_SLOT, number + 1)
            self._memory[DESTINATION_SLOT][number] = self._vocabulary.found_slot()
            self._destination_of[destination] = number
        self._destination_entries[number] += 1
        return number

    def _leave_destination(self, number: int) -> None:
        self._destination_entries[number] -= 1
        if number and self._destination_entries[number] == 0:
            self._vocabulary.release_found_slot(int(self._memory[DESTINATION_SLOT][number]))
            del self._destination_of[self._destinations[number]]
            self._destinations[number] = None
            self._free_destinations.append(number)

    def _settle(self) -> None:
        """Bring the segments up to date with the rows."""
        self._rows.flush()
        if self._rows.count >= 2 * self._rows_at_rebuild + NEW_ROWS_MAX:
            self._rebuild()
            return
        new = np.arange(self._arranged_rows, self._rows.count, dtype=np.int32)
        self._segments.append(new, self._events, self._rows.longest)
        self._arranged_rows = self._rows.count

    def _rebuild(self) -> None:
        """Drop what is dead, choose the cells anew, and arrange all rows into one segment."""
        self._rows.flush()
        if self._dead_rows:
            self._rows.compact()
            self._vocabulary.reuse_retired()
            self._dead_rows = 0
        choose_cells(self._memory, self._vocabulary, *self._rows.ranges())
        rows = np.arange(self._rows.count, dtype=np.int32)
        self._segments.rebuild(rows, self._events, self._rows.longest)
        self._arranged_rows = self._rows_at_rebuild = self._rows.count
