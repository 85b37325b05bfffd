"""What the filters of an index speak about: attributes, and a slot for every distinct predicate.

Points (one value) and sets of points share their slots among all filters that name them, and so
does every other constraint that is not a plain range. A slot lives as long as a row refers to it;
a set also keeps the slots of its points alive.
"""

from __future__ import annotations

from typing import Any

from sapwood.filters.constraint import Constraint
from sapwood.filters.values import Value
from sapwood.matching.compiling import kernel
from sapwood.matching.layout import (
    ATTRIBUTE_COUNT,
    ATTRIBUTES,
    BLOCK_PADDING,
    CHUNK,
    FALSE_SLOT,
    FIRST_FREE_SLOT,
    NUMBER_FIRST,
    PER_SLOT,
    POINTS,
    REFERENCES,
    SET_LINKS,
    SLOT_ATTRIBUTE,
    SLOT_EPOCH,
    SLOT_HITS,
    SLOT_PROGRAM,
    SLOT_ROWS,
    SLOT_SETS,
    TABLE,
    TEXT_BLOCK,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
    Memory,
)
from sapwood.matching.raw import int_at, long_at, set_int
from sapwood.matching.stores import ProgramStore, TextStore


@kernel
def _unlink(memory: Any, point: Any, holder: Any) -> Any:
    """Take a set out of the list of those that hold a point; the link that is free now."""
    heads, links = long_at(memory, SLOT_SETS), long_at(memory, SET_LINKS)
    before, link = 0, int_at(heads, point)
    while int_at(links, 2 * link) != holder:
        before, link = link, int_at(links, 2 * link + 1)
    following = int_at(links, 2 * link + 1)
    if before == 0:
        set_int(heads, point, following)
    else:
        set_int(links, 2 * before + 1, following)
    return link


def members_of(constraint: Constraint) -> list[Value] | None:
    """The values of a constraint that allows finitely many, and not that the value is missing."""
    texts, numbers = constraint.texts, constraint.numbers
    if constraint.missing or texts.has_patterns or len(numbers) & 1 or len(texts.ranges) & 1:
        return None
    members: list[Value] = []
    for (low, _), (high, _) in zip(numbers[::2], numbers[1::2], strict=True):
        if low != high:
            return None
        members.append(low)
    for low_text, high_text in zip(texts.ranges[::2], texts.ranges[1::2], strict=True):
        if high_text != low_text + "\0":
            return None
        members.append(low_text)
    return members + [value for value in (False, True) if constraint.matches(value)]


class Vocabulary:
    """Attributes and slots with their reference counts."""

    def __init__(self, memory: Memory) -> None:
        self.names: dict[str, int] = {}
        self.texts = TextStore(memory)
        self._memory = memory
        self._programs = ProgramStore(memory, self.texts)
        self._attribute_names: list[str] = []
        self._free_attributes: list[int] = []
        self._points: list[dict[Value, int]] = []
        self._shared: dict[tuple[int, Constraint], int] = {}
        self._meanings: list[Any] = [None] * FIRST_FREE_SLOT
        self._free_slots: list[int] = []
        self._retired_slots: list[int] = []
        self._blocks: dict[tuple[int, int], tuple[int, int]] = {}
        self._free_blocks: dict[int, list[int]] = {}
        self._links = 1
        self._free_links: list[int] = []

    # Attributes

    def attribute(self, name: str) -> int:
        """The number of an attribute, a new one if need be; counts one more predicate on it."""
        number = self.names.get(name)
        if number is None:
            number = self._new_attribute(name)
        self._memory[ATTRIBUTES][number, REFERENCES] += 1
        return number

    def _new_attribute(self, name: str) -> int:
        if self._free_attributes:
            number = self._free_attributes.pop()
            self._attribute_names[number] = name
        else:
            number = len(self._attribute_names)
            self._attribute_names.append(name)
            self._points.append({})
            self._memory.reserve(ATTRIBUTES, number + 1)
            self._memory.addresses[ATTRIBUTE_COUNT] = number + 1
            for column in (VALUE_KIND, VALUE_BITS, VALUE_LENGTH):
                self._memory.reserve(column, CHUNK * (number + 1))
        self.names[name] = number
        return number

    def release_attribute(self, number: int) -> None:
        """One predicate less on an attribute; without any its number is free."""
        attributes = self._memory[ATTRIBUTES]
        attributes[number, REFERENCES] -= 1
        if attributes[number, REFERENCES] == 0:
            del self.names[self._attribute_names[number]]
            self._free_attributes.append(number)

    # Slots

    def point(self, attribute: int, value: Value) -> int:
        """The slot of *attribute = value*; counts one more reference to it."""
        slot = self._slot_of(attribute, value)
        if slot == 0:
            slot = self._new_slot(attribute, value)
            self._set_slot(attribute, value, slot)
        self._memory[SLOT_ROWS][slot] += 1
        return slot

    def one_of(self, attribute: int, constraint: Constraint, members: list[Value]) -> int:
        """The slot of a finite set of values; counts one more reference to it."""
        slot = self._shared.get((attribute, constraint))
        if slot is None:
            slot = self._shared[attribute, constraint] = self._new_slot(attribute, constraint)
            for value in members:
                self._link(self.point(attribute, value), slot)
        self._memory[SLOT_ROWS][slot] += 1
        return slot

    def lazy(self, attribute: int, constraint: Constraint) -> int:
        """The slot of any other constraint; counts one more reference to it."""
        slot = self._shared.get((attribute, constraint))
        if slot is None:
            slot = self._shared[attribute, constraint] = self._new_slot(attribute, constraint)
            self._memory[SLOT_PROGRAM][slot] = self._programs.add(constraint)
        self._memory[SLOT_ROWS][slot] += 1
        return slot

    def release(self, slot: int) -> None:
        """One reference less to a slot; without any it is retired.

        Segments may still name it, for rows that are gone, so nobody else gets it before
        ``reuse_retired``.
        """
        rows = self._memory[SLOT_ROWS]
        rows[slot] -= 1
        if rows[slot] > 0:
            return
        attribute = int(self._memory[SLOT_ATTRIBUTE][slot])
        meaning, self._meanings[slot] = self._meanings[slot], None
        self._retired_slots.append(slot)
        if isinstance(meaning, Constraint):
            del self._shared[attribute, meaning]
            for value in members_of(meaning) or ():
                point = self._slot_of(attribute, value)
                self._free_links.append(_unlink(self._memory.address, point, slot))
                self.release(point)
        else:
            self._set_slot(attribute, meaning, 0)

    def reuse_retired(self) -> None:
        """No segment names a retired slot any more: they may be given out again."""
        self._free_slots += self._retired_slots
        self._retired_slots.clear()

    def _slot_of(self, attribute: int, value: Value) -> int:
        """The slot of a point, or 0."""
        if type(value) is bool:
            return int(self._memory[ATTRIBUTES][attribute, FALSE_SLOT + value])
        return self._points[attribute].get(value, 0)

    def _set_slot(self, attribute: int, value: Value, slot: int) -> None:
        if type(value) is bool:
            self._memory[ATTRIBUTES][attribute, FALSE_SLOT + value] = slot
            return
        points = self._points[attribute]
        if slot:
            points[value] = slot
        else:
            del points[value]
        self._memory[ATTRIBUTES][attribute, POINTS] = id(points) if points else 0

    def _new_slot(self, attribute: int, meaning: Any) -> int:
        if self._free_slots:
            slot = self._free_slots.pop()
            self._meanings[slot] = meaning
        else:
            slot = self._new_slots(1)
            self._meanings[slot] = meaning
        for column in (TABLE, SLOT_HITS, SLOT_EPOCH):
            self._memory[column][slot] = 0
        self._memory[SLOT_ATTRIBUTE][slot] = attribute
        return slot

    def _new_slots(self, count: int) -> int:
        first = len(self._meanings)
        self._meanings += [None] * count
        for column in PER_SLOT:
            self._memory.reserve(column, first + count)
        return first

    def _link(self, point: int, holder: int) -> None:
        if self._free_links:
            link = self._free_links.pop()
        else:
            link, self._links = self._links, self._links + 1
        heads = self._memory[SLOT_SETS]
        self._memory.reserve(SET_LINKS, self._links)[link] = holder, heads[point]
        heads[point] = link

    # Blocks of slots for the cells of an ordered domain

    def has_block(self, attribute: int, column: int) -> bool:
        """Whether an attribute has cells for numbers or texts (the column of its block)."""
        return (attribute, column) in self._blocks

    def open_block(self, attribute: int, column: int, cells: int = 0) -> None:
        """Give an attribute a run of slots for ``cells`` bounds.

        Without any bound there is one cell, and ranges are decided value by value.
        """
        size = 1 << (cells + BLOCK_PADDING - 1).bit_length()
        free = self._free_blocks.setdefault(size, [])
        start = free.pop() if free else self._new_slots(size)
        self._blocks[attribute, column] = start, size
        self._memory[ATTRIBUTES][attribute, column] = start

    def close_blocks(self) -> None:
        """Take back all blocks; every attribute is without cells then."""
        for start, size in self._blocks.values():
            self._free_blocks[size].append(start)
        self._blocks.clear()
        self._memory[ATTRIBUTES][:, NUMBER_FIRST : TEXT_BLOCK + 1] = 0

    def rewrite_programs(self) -> None:
        """Compile the lazy constraints anew, after the text store was emptied of their texts."""
        self._programs.clear()
        for (_, constraint), slot in self._shared.items():
            if members_of(constraint) is None:
                self._memory[SLOT_PROGRAM][slot] = self._programs.add(constraint)
