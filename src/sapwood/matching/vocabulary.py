"""What the filters of an index speak about: attributes, and a slot for every distinct predicate.

Points (one value) share their slots among all filters that name them, and so does every other
constraint that is not a plain range. A slot lives as long as a row refers to it;
a set also keeps the slots of its points alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.filters.constraint import Constraint
from sapwood.filters.values import Value
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
    SLOT_ATTRIBUTE,
    SLOT_EPOCH,
    SLOT_HITS,
    SLOT_PROGRAM,
    SLOT_REFERENCES,
    TABLE,
    TEXT_BLOCK,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
    Memory,
)
from sapwood.matching.members import members_of
from sapwood.matching.stores import ProgramStore, TextStore


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

    # Attributes

    def attribute(self, name: str) -> int:
        """The number of an attribute, a new one if need be."""
        number = self.names.get(name)
        return self._new_attribute(name) if number is None else number

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
        """The slot of *attribute = value*."""
        slot = self._slot_of(attribute, value)
        if slot == 0:
            slot = self._new_slot(attribute, value)
            self._set_slot(attribute, value, slot)
        return slot

    def lazy(self, attribute: int, constraint: Constraint) -> int:
        """The slot of any other constraint, a set of values among them."""
        slot = self._shared.get((attribute, constraint))
        if slot is None:
            slot = self._shared[attribute, constraint] = self._new_slot(attribute, constraint)
            for value in members_of(constraint) or ():
                point = self.point(attribute, value)
                self._memory[SLOT_REFERENCES][point] += 1
            self._compile(attribute, constraint, slot)
        return slot

    def _compile(self, attribute: int, constraint: Constraint, slot: int) -> None:
        """Write what a lazy slot's mask is computed from."""
        members = members_of(constraint)
        if members is None:
            program = self._programs.add(constraint)
        else:
            points = [self._slot_of(attribute, value) for value in members]
            program = -1 - self._programs.add_list(points)
        self._memory[SLOT_PROGRAM][slot] = program

    def count_references(self, attributes: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
        """Count predicates on attributes, and those that name slots, one for each mention."""
        np.add.at(self._memory[ATTRIBUTES][:, REFERENCES], attributes, 1)
        np.add.at(self._memory[SLOT_REFERENCES], slots, 1)

    def found_slot(self) -> int:
        """A slot for the events that something was found for."""
        return self._new_slot(-1, None)

    def release_found_slot(self, slot: int) -> None:
        """Give back a slot that no segment names."""
        self._free_slots.append(slot)

    def release(self, slot: int) -> None:
        """One reference less to a slot; without any it is retired.

        Segments may still name it, for rows that are gone, so nobody else gets it before
        ``reuse_retired``.
        """
        references = self._memory[SLOT_REFERENCES]
        references[slot] -= 1
        if references[slot] > 0:
            return
        attribute = int(self._memory[SLOT_ATTRIBUTE][slot])
        meaning, self._meanings[slot] = self._meanings[slot], None
        self._retired_slots.append(slot)
        if isinstance(meaning, Constraint):
            del self._shared[attribute, meaning]
            for value in members_of(meaning) or ():
                self.release(self._slot_of(attribute, value))
        else:
            self._set_slot(attribute, meaning, 0)

    def slots_of(self, attributes: Mapping[str, Value]) -> list[int]:
        """The slots of the values that somebody named."""
        slots = []
        for name, value in attributes.items():
            number = self.names.get(name)
            if number is not None and (slot := self._slot_of(number, value)):
                slots.append(slot)
        return slots

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
        for (attribute, constraint), slot in self._shared.items():
            self._compile(attribute, constraint, slot)
        self.texts.flush()
