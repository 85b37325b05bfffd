"""A chunk of events as masks: what its values say about every slot.

Whoever reads an event puts bits and length of a value into scratch words and notes the value here,
whatever form it was read from: a dictionary, or the bytes of a frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.cpython import dict_get, int_value
from sapwood.compiled.raw import int_at, long_at, set_byte, set_int, set_long, set_word, word_at
from sapwood.matching.cells import accumulate, number_cell, text_cell
from sapwood.matching.exact import FALSE, INTEGER, MISSING, TEXT, TRUE, as_float
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTE_COLUMNS,
    ATTRIBUTE_COUNT,
    ATTRIBUTES,
    BLOCK_PADDING,
    EPOCH,
    FALSE_SLOT,
    FIRST_EVENT,
    NUMBER_BLOCK,
    NUMBER_BOUNDS,
    NUMBER_CELLS,
    NUMBER_FIRST,
    NUMBER_MARKED,
    PRESENT,
    SCRATCH,
    SLOT_HITS,
    TABLE,
    TEXT_BLOCK,
    TEXT_CELLS,
    TEXT_FIRST,
    TEXT_MARKED,
    TOUCHED,
    TOUCHED_COUNT,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
)

OUT, BITS, LENGTH = range(SCRATCH, SCRATCH + 3)
"""Scratch words: what a conversion reports; bits and length of the value read last."""

CHUNK_SCRATCH_END = SCRATCH + 3
"""Where the scratch words begin that readers may use."""


@part
def begin_chunk(memory: Any, first: Any) -> None:
    """Begin a chunk whose first event has a number; ``forget_chunk`` ends it, in any case."""
    set_long(memory, EPOCH, long_at(memory, EPOCH) + 1)
    set_long(memory, FIRST_EVENT, first)
    set_long(memory, TOUCHED_COUNT, 0)


@part
def note_touched(memory: Any, slot: Any) -> None:
    """Remember a slot that is to be cleared after the chunk."""
    count = long_at(memory, TOUCHED_COUNT)
    set_int(long_at(memory, TOUCHED), count, slot)
    set_long(memory, TOUCHED_COUNT, count + 1)


@part
def is_empty(lanes: Any, table: Any, slot: Any) -> Any:
    """Whether no bit of a slot's mask is set."""
    word = np.uint64(0)
    for lane in range(len(lanes)):
        word |= word_at(table, slot * len(lanes) + lane)
    return word == 0


@part
def set_bit(lanes: Any, table: Any, slot: Any, event: Any) -> None:
    """Set an event's bit in the mask of a slot."""
    at = slot * len(lanes) + (event >> 6)
    set_word(table, at, word_at(table, at) | np.uint64(1) << np.uint64(event & 63))


@part
def _touch(lanes: Any, memory: Any, slot: Any, event: Any) -> None:
    """Set an event's bit in a point's slot, and note the slot if it was empty."""
    table, hits = long_at(memory, TABLE), long_at(memory, SLOT_HITS)
    if is_empty(lanes, table, slot):
        note_touched(memory, slot)
    set_bit(lanes, table, slot, event)
    set_long(hits, slot, long_at(hits, slot) + 1)


@part
def _note_marked(attribute: Any, column: Any, slot: Any) -> None:
    """Remember the first slot of a block that is marked: what is before it stays as it is."""
    first = long_at(attribute, column)
    if first == 0 or slot < first:
        set_long(attribute, column, slot)


@part
def _place(lanes: Any, memory: Any, attribute: Any, kind: Any, event: Any) -> None:
    """Mark the cell of a number or a text in its attribute's block."""
    table = long_at(memory, TABLE)
    bits = long_at(memory, BITS)
    if kind == TEXT:
        block = long_at(attribute, TEXT_BLOCK)
        if block:
            first, count = long_at(attribute, TEXT_FIRST), long_at(attribute, TEXT_CELLS)
            slot = block + 1 + text_cell(memory, first, count, bits, long_at(memory, LENGTH))
            set_bit(lanes, table, slot, event)
            _note_marked(attribute, TEXT_MARKED, slot)
    else:
        block = long_at(attribute, NUMBER_BLOCK)
        if block:
            first, count = long_at(attribute, NUMBER_FIRST), long_at(attribute, NUMBER_CELLS)
            real = np.float64(bits) if kind == INTEGER else as_float(bits)
            slot = block + 1 + number_cell(long_at(memory, NUMBER_BOUNDS), first, count, real)
            set_bit(lanes, table, slot, event)
            _note_marked(attribute, NUMBER_MARKED, slot)


@part
def attribute_at(memory: Any, number: Any) -> Any:
    """The address of an attribute's columns."""
    return long_at(memory, ATTRIBUTES) + 8 * ATTRIBUTE_COLUMNS * number


@part
def note_value(lanes: Any, memory: Any, event: Any, number: Any, kind: Any) -> None:
    """Take in the value of an attribute, of which bits and length are in scratch.

    Its point, if it is a number or a text, is for the caller to touch.
    """
    place = event * long_at(memory, ATTRIBUTE_COUNT) + number
    set_byte(long_at(memory, VALUE_KIND), place, kind)
    attribute = attribute_at(memory, number)
    set_long(attribute, PRESENT, long_at(attribute, PRESENT) + 1)
    if kind <= TRUE:
        slot = long_at(attribute, FALSE_SLOT - FALSE + kind)
        if slot:
            _touch(lanes, memory, slot, event)
        return
    set_long(long_at(memory, VALUE_BITS), place, long_at(memory, BITS))
    set_long(long_at(memory, VALUE_LENGTH), place, long_at(memory, LENGTH))
    _place(lanes, memory, attribute, kind, event)


@part
def touch_point(lanes: Any, memory: Any, event: Any, points: Any, value: Any) -> None:
    """Mark the point of a Python value, if somebody named it."""
    found = dict_get(points, value)
    if found != 0:
        _touch(lanes, memory, int_value(found, memory + 8 * OUT), event)


@part
def _accumulate(
    lanes: Any, table: Any, attribute: Any, marked: Any, block: Any, cells: Any
) -> None:
    """Turn the marks in an attribute's block, given by its columns, into cumulative masks."""
    first = long_at(attribute, marked)
    if first:
        end = long_at(attribute, block) + long_at(attribute, cells)
        accumulate(lanes, table, first - 1, end - first + 1)


@part
def accumulate_cells(lanes: Any, memory: Any) -> None:
    """Once all events of a chunk are read: turn the marks of all cells into cumulative masks."""
    table, attribute = long_at(memory, TABLE), long_at(memory, ATTRIBUTES)
    for _ in range(long_at(memory, ATTRIBUTE_COUNT)):
        _accumulate(lanes, table, attribute, NUMBER_MARKED, NUMBER_BLOCK, NUMBER_CELLS)
        _accumulate(lanes, table, attribute, TEXT_MARKED, TEXT_BLOCK, TEXT_CELLS)
        attribute += 8 * ATTRIBUTE_COLUMNS


@part
def _clear(lanes: Any, table: Any, first: Any, count: Any) -> None:
    """Clear the masks of slots in a row."""
    for at in range(first * len(lanes), (first + count) * len(lanes)):
        set_word(table, at, 0)


@part
def _clear_block(
    lanes: Any, table: Any, attribute: Any, marked: Any, block: Any, cells: Any
) -> None:
    """Clear one of an attribute's blocks, given by its columns, from the first mark on."""
    first = long_at(attribute, marked)
    if first:
        end = long_at(attribute, block) + long_at(attribute, cells)
        _clear(lanes, table, first, end + BLOCK_PADDING - first)
        set_long(attribute, marked, 0)


@part
def forget_chunk(lanes: Any, memory: Any, count: Any) -> None:
    """Clear what reading and searching a chunk left in masks and values."""
    table, touched = long_at(memory, TABLE), long_at(memory, TOUCHED)
    for at in range(long_at(memory, TOUCHED_COUNT)):
        _clear(lanes, table, np.int64(int_at(touched, at)), 1)
    _clear(lanes, table, ACTIVE, 1)
    kinds, attribute_count = long_at(memory, VALUE_KIND), long_at(memory, ATTRIBUTE_COUNT)
    for place in range(count * attribute_count):
        set_byte(kinds, place, MISSING)
    attribute = long_at(memory, ATTRIBUTES)
    for _ in range(attribute_count):
        _clear_block(lanes, table, attribute, NUMBER_MARKED, NUMBER_BLOCK, NUMBER_CELLS)
        _clear_block(lanes, table, attribute, TEXT_MARKED, TEXT_BLOCK, TEXT_CELLS)
        attribute += 8 * ATTRIBUTE_COLUMNS
