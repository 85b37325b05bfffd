"""The rows of an index: boxes of filters as predicates on slots and ranges.

New rows wait in Python lists until a match needs them or enough have come together: filling an
array by single numbers is slow, by slices it is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.filters.box import Box
from sapwood.filters.constraint import Constraint
from sapwood.filters.number_set import LOWEST, NumberCuts
from sapwood.filters.text_set import TextCuts
from sapwood.matching.layout import (
    CHAINS,
    ENTRY_DESTINATION,
    ENTRY_FIRST_ROW,
    HIGH_KIND,
    HIGH_SIDE,
    LOW_SIDE,
    NUMBER_BLOCK,
    NUMBER_RANGE,
    NUMBER_RANGES,
    ON_DEMAND,
    POINT,
    PREDICATE_KIND,
    PREDICATE_REFERENCE,
    ROW_COUNT,
    ROW_ENTRY,
    ROW_FIRST,
    ROW_PLACE,
    SLOT_ATTRIBUTE,
    TEXT_BLOCK,
    TEXT_RANGE,
    TEXT_RANGES,
    Memory,
)
from sapwood.matching.lookup import ValueLookup
from sapwood.matching.members import members_of
from sapwood.matching.stores import number_bits
from sapwood.matching.vocabulary import Vocabulary


class Waiting:
    """Items on their way into an array: how many there are, and those not yet written."""

    def __init__(self) -> None:
        self.count = 0
        self.items: list[Any] = []

    def add(self, item: Any) -> int:
        """Take an item; its number."""
        self.items.append(item)
        self.count += 1
        return self.count - 1

    def take(self) -> tuple[int, list[Any]]:
        """The items not yet written, and the number of the first of them."""
        items, self.items = self.items, []
        return self.count - len(items), items


class RowStore:
    """Rows and their predicates, appended in order; rows that are removed stay until compaction."""

    def __init__(self, memory: Memory, vocabulary: Vocabulary) -> None:
        self.longest = 0
        self.others = 0
        """How many rows, not counting removed ones, are more than a single value."""
        self._lookup: ValueLookup | None = None
        self._memory = memory
        self._vocabulary = vocabulary
        self._rows = Waiting()
        self._predicates = Waiting()
        self._number_ranges = Waiting()
        self._text_ranges = Waiting()

    @property
    def count(self) -> int:
        """How many rows there are, removed ones included."""
        return self._rows.count

    def add(self, box: Box, entry: int) -> int:
        """Append a row for a box of an entry's filter; its number."""
        predicates, attribute_of = self._predicates, self._vocabulary.attribute
        row = self._rows.add((entry, predicates.count, len(box)))
        for name, constraint in box:
            attribute = attribute_of(name)
            predicates.items.append((*self._predicate(attribute, constraint), attribute))
        predicates.count += len(box)
        if len(box) > self.longest:
            self.longest = len(box)
        if len(box) != 1 or predicates.items[-1][0] != POINT:
            self.others += 1
            self._lookup = None
        elif self._lookup is not None:
            destination = int(self._memory[ENTRY_DESTINATION][entry])
            self._lookup.add(predicates.items[-1][1], destination)
        return row

    def lookup(self) -> ValueLookup:
        """Destinations by value, if all rows are single values; from now on kept up to date."""
        if self._lookup is None:
            self.flush()
            memory = self._memory
            live = np.flatnonzero(memory[ROW_ENTRY][: self.count] >= 0)
            slots = memory[PREDICATE_REFERENCE][memory[ROW_FIRST][live]]
            destinations = memory[ENTRY_DESTINATION][memory[ROW_ENTRY][live]]
            rows = zip(slots.tolist(), destinations.tolist(), strict=True)
            self._lookup = ValueLookup(rows)
        return self._lookup

    def _predicate(self, attribute: int, constraint: Constraint) -> tuple[int, int]:
        """Kind and reference of a constraint on an attribute."""
        numbers, texts = constraint.numbers, constraint.texts
        if not (constraint.missing or constraint.bools or texts.required or texts.excluded):
            if not texts.ranges and len(numbers) <= 2:
                if len(numbers) == 2 and numbers[0][0] == numbers[1][0]:
                    return POINT, self._vocabulary.point(attribute, numbers[0][0])
                return NUMBER_RANGE, self._add_number_range(attribute, numbers)
            if not numbers and len(texts.ranges) <= 2:
                if len(texts.ranges) == 2 and texts.ranges[1] == texts.ranges[0] + "\0":
                    return POINT, self._vocabulary.point(attribute, texts.ranges[0])
                return TEXT_RANGE, self._add_text_range(attribute, texts.ranges)
        members = members_of(constraint)
        if members is not None and len(members) == 1:
            return POINT, self._vocabulary.point(attribute, members[0])
        return ON_DEMAND, self._vocabulary.lazy(attribute, constraint)

    def _add_number_range(self, attribute: int, cuts: NumberCuts) -> int:
        if not self._vocabulary.has_block(attribute, NUMBER_BLOCK):
            self._vocabulary.open_block(attribute, NUMBER_BLOCK)
        flags = low = high = 0
        if cuts[0] != LOWEST:
            kind, low = number_bits(cuts[0][0])
            flags = kind | cuts[0][1] << LOW_SIDE
        if len(cuts) == 2:
            kind, high = number_bits(cuts[1][0])
            flags |= kind << HIGH_KIND | cuts[1][1] << HIGH_SIDE
        return self._number_ranges.add((attribute, flags, low, high))

    def _add_text_range(self, attribute: int, cuts: TextCuts) -> int:
        if not self._vocabulary.has_block(attribute, TEXT_BLOCK):
            self._vocabulary.open_block(attribute, TEXT_BLOCK)
        store = self._vocabulary.texts
        high = store.add(cuts[1]) if len(cuts) == 2 else (0, -1)
        return self._text_ranges.add((attribute, *store.add(cuts[0]), *high))

    def flush(self) -> None:
        """Write the rows that wait into the arrays."""
        at, rows = self._rows.take()
        if not rows:
            return
        entry, first, count = np.array(rows, np.int64).T
        self._memory.write(ROW_ENTRY, at, entry)
        self._memory.reserve(ROW_PLACE, self._rows.count)
        self._memory.write(ROW_FIRST, at, first)
        self._memory.write(ROW_COUNT, at, count)
        at, predicates = self._predicates.take()
        kind, reference, attribute = np.array(predicates, np.int64).reshape(-1, 3).T
        self._memory.write(PREDICATE_KIND, at, kind)
        self._memory.write(PREDICATE_REFERENCE, at, reference)
        is_slot = (kind == POINT) | (kind == ON_DEMAND)
        self._vocabulary.count_references(attribute, reference[is_slot])
        self._memory.write(NUMBER_RANGES, *self._number_ranges.take())
        self._memory.write(TEXT_RANGES, *self._text_ranges.take())
        self._vocabulary.texts.flush()

    def drop(self, row: int, is_arranged: bool) -> None:
        """Mark a row as removed, where it is arranged too, and release what it refers to."""
        memory, vocabulary = self._memory, self._vocabulary
        first, count = int(memory[ROW_FIRST][row]), int(memory[ROW_COUNT][row])
        if count != 1 or memory[PREDICATE_KIND][first] != POINT:
            self.others -= 1
        elif self._lookup is not None:
            destination = int(memory[ENTRY_DESTINATION][memory[ROW_ENTRY][row]])
            self._lookup.discard(int(memory[PREDICATE_REFERENCE][first]), destination)
        memory[ROW_ENTRY][row] = -1
        if is_arranged:
            memory[CHAINS][memory[ROW_PLACE][row] + 1, 1] = -1
        for at in range(first, first + count):
            kind, reference = memory[PREDICATE_KIND][at], int(memory[PREDICATE_REFERENCE][at])
            if kind == NUMBER_RANGE:
                vocabulary.release_attribute(int(memory[NUMBER_RANGES][reference, 0]))
            elif kind == TEXT_RANGE:
                vocabulary.release_attribute(int(memory[TEXT_RANGES][reference, 0]))
            else:
                vocabulary.release(reference)
                vocabulary.release_attribute(int(memory[SLOT_ATTRIBUTE][reference]))

    def compact(self) -> None:
        """Write rows, ranges and texts anew without what was removed; rows are renumbered."""
        memory = self._memory
        keep = np.flatnonzero(memory[ROW_ENTRY][: self.count] >= 0)
        entry, count = memory[ROW_ENTRY][keep], memory[ROW_COUNT][keep]
        first = np.cumsum(count) - count
        old = np.repeat(memory[ROW_FIRST][keep] - first, count) + np.arange(count.sum())
        kind, reference = memory[PREDICATE_KIND][old], memory[PREDICATE_REFERENCE][old]
        for waiting, range_kind, array in (
            (self._number_ranges, NUMBER_RANGE, NUMBER_RANGES),
            (self._text_ranges, TEXT_RANGE, TEXT_RANGES),
        ):
            of_kind = kind == range_kind
            ranges = memory[array][reference[of_kind]]
            reference[of_kind] = np.arange(len(ranges))
            waiting.count = len(ranges)
            memory.replace(array, ranges)
        self._rows.count, self._predicates.count = len(keep), len(kind)
        for number, column in (
            (ROW_ENTRY, entry),
            (ROW_FIRST, first),
            (ROW_COUNT, count),
            (PREDICATE_KIND, kind),
            (PREDICATE_REFERENCE, reference),
        ):
            memory.replace(number, column)
        is_first = np.flatnonzero(np.diff(entry, prepend=-1) != 0)
        memory[ENTRY_FIRST_ROW][entry[is_first]] = is_first
        texts = memory[TEXT_RANGES][: self._text_ranges.count]
        self._vocabulary.texts.keep_only(texts[:, 1:3], texts[:, 3:5])
        self._vocabulary.rewrite_programs()

    def ranges(self) -> tuple[Any, Any]:
        """All ranges of numbers and of texts."""
        return (
            self._memory[NUMBER_RANGES][: self._number_ranges.count],
            self._memory[TEXT_RANGES][: self._text_ranges.count],
        )
