"""From dictionaries to masks: what a chunk of events says about every slot.

Reading an event checks it too. A value that is not exactly a bool, an int of 64 bits, a finite
float or a text of acceptable length stops the reading at that event; the caller then lets the
slower, wordier check of ``sapwood.filters`` say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.compiling import part
from sapwood.compiled.cpython import (
    TYPE_OFFSET,
    clear_error,
    dict_get,
    dict_next,
    dict_size,
    float_value,
    int_value,
    list_get,
    text_bytes,
)
from sapwood.compiled.raw import (
    byte_at,
    int_at,
    long_at,
    set_byte,
    set_int,
    set_long,
    set_word,
    word_at,
)
from sapwood.filters.limits import DEFAULT_LIMITS
from sapwood.matching.cells import accumulate, number_cell, text_cell
from sapwood.matching.exact import FALSE, FLOAT, INTEGER, MISSING, TEXT, TRUE, as_float
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTE_COLUMNS,
    ATTRIBUTE_COUNT,
    ATTRIBUTES,
    BLOCK_PADDING,
    FALSE_SLOT,
    NUMBER_BLOCK,
    NUMBER_BOUNDS,
    NUMBER_CELLS,
    NUMBER_FIRST,
    NUMBER_MARKED,
    POINTS,
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
    TYPES,
    VALUE_BITS,
    VALUE_KIND,
    VALUE_LENGTH,
)

# Scratch words that the interpreter writes: position in a dictionary, key, value, whatever a
# conversion reports; then bits and length of the value read last.
_POSITION, _KEY, _VALUE, OUT, BITS, LENGTH = range(SCRATCH, SCRATCH + 6)
_DICT, _TEXT, _INTEGER, _FLOAT, _TRUE, _FALSE = range(TYPES, TYPES + 6)

_ATTRIBUTES_MAX = DEFAULT_LIMITS.attributes_max
_NAME_CHARS_MAX = DEFAULT_LIMITS.attribute_name_chars_max
_TEXT_BYTES_MAX = DEFAULT_LIMITS.text_bytes_max
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def write_types(memory: NDArray[np.int64]) -> None:
    """Tell the kernels the addresses of the types and objects they know."""
    memory[_DICT : _FALSE + 1] = [id(item) for item in (dict, str, int, float, True, False)]


@part
def _type_of(address: Any) -> Any:
    return long_at(address + TYPE_OFFSET, 0)


@part
def _read_value(memory: Any, value: Any) -> Any:
    """The kind of a Python value; its bits and length in scratch. MISSING if not acceptable."""
    found = _type_of(value)
    if found == long_at(memory, _TEXT):
        address = text_bytes(value, memory + 8 * LENGTH)
        if address == 0:
            clear_error()
            return MISSING
        set_long(memory, BITS, address)
        return TEXT if long_at(memory, LENGTH) <= _TEXT_BYTES_MAX else MISSING
    if found == long_at(memory, _FLOAT):
        real = float_value(value)
        set_long(memory, BITS, np.float64(real).view(np.int64))
        return FLOAT if np.isfinite(real) else MISSING
    if found == long_at(memory, _INTEGER):
        set_long(memory, OUT, 0)
        set_long(memory, BITS, int_value(value, memory + 8 * OUT))
        return INTEGER if long_at(memory, OUT) == 0 else MISSING
    if value == long_at(memory, _TRUE):
        return TRUE
    return FALSE if value == long_at(memory, _FALSE) else MISSING


@part
def _is_name(memory: Any, key: Any) -> Any:
    """Whether a text that the index does not know could be the name of an attribute.

    The names it knows come from filters, which have been checked.
    """
    address = text_bytes(key, memory + 8 * LENGTH)
    if address == 0:
        clear_error()
        return False
    chars = 0
    before = np.int64(0)
    for at in range(long_at(memory, LENGTH)):
        byte = np.int64(byte_at(address, at))
        if byte < 0x20 or byte == 0x7F or (before == 0xC2 and byte < 0xA0):
            return False
        if byte & 0xC0 != 0x80:
            chars += 1
        before = byte
    return 0 < chars <= _NAME_CHARS_MAX


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
def _set_bit(lanes: Any, table: Any, slot: Any, event: Any) -> None:
    at = slot * len(lanes) + (event >> 6)
    set_word(table, at, word_at(table, at) | np.uint64(1) << np.uint64(event & 63))


@part
def _touch(lanes: Any, memory: Any, slot: Any, event: Any) -> None:
    """Set an event's bit in a point's slot, and note the slot if it was empty."""
    table, hits = long_at(memory, TABLE), long_at(memory, SLOT_HITS)
    if is_empty(lanes, table, slot):
        note_touched(memory, slot)
    _set_bit(lanes, table, slot, event)
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
            _set_bit(lanes, table, slot, event)
            _note_marked(attribute, TEXT_MARKED, slot)
    else:
        block = long_at(attribute, NUMBER_BLOCK)
        if block:
            first, count = long_at(attribute, NUMBER_FIRST), long_at(attribute, NUMBER_CELLS)
            real = np.float64(bits) if kind == INTEGER else as_float(bits)
            slot = block + 1 + number_cell(long_at(memory, NUMBER_BOUNDS), first, count, real)
            _set_bit(lanes, table, slot, event)
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
def _note(lanes: Any, memory: Any, event: Any, number: Any, value: Any) -> Any:
    """Take in one attribute of an event; False if its value is not acceptable."""
    kind = _read_value(memory, value)
    if kind == MISSING:
        return False
    note_value(lanes, memory, event, number, kind)
    points = long_at(attribute_at(memory, number), POINTS)
    if kind > TRUE and points:
        touch_point(lanes, memory, event, points, value)
    return True


@part
def _read_event(lanes: Any, memory: Any, event: Any, dictionary: Any, names: Any) -> Any:
    """Take in an event; False if it is not acceptable."""
    if _type_of(dictionary) != long_at(memory, _DICT) or dict_size(dictionary) > _ATTRIBUTES_MAX:
        return False
    set_long(memory, _POSITION, 0)
    position, key_at, value_at = memory + 8 * _POSITION, memory + 8 * _KEY, memory + 8 * _VALUE
    while dict_next(dictionary, position, key_at, value_at) != 0:
        key, value = long_at(memory, _KEY), long_at(memory, _VALUE)
        if _type_of(key) != long_at(memory, _TEXT):
            return False
        number = dict_get(names, key)
        if number == 0:
            if not _is_name(memory, key) or _read_value(memory, value) == MISSING:
                return False
        elif not _note(lanes, memory, event, int_value(number, memory + 8 * OUT), value):
            return False
    return True


@part
def read_chunk(lanes: Any, memory: Any, events: Any, first: Any, count: Any, names: Any) -> Any:
    """Read events of a list into the masks; the number of the first bad one, or -1.

    ``events`` and ``names`` (from attribute names to numbers) are addresses. Whatever the outcome,
    ``forget_chunk`` has to follow before the next chunk.
    """
    set_long(memory, TOUCHED_COUNT, 0)
    for event in range(count):
        if not _read_event(lanes, memory, event, list_get(events, first + event), names):
            return first + event
    table = long_at(memory, TABLE)
    for lane in range(len(lanes)):
        rest = count - 64 * lane
        word = _ALL if rest >= 64 else (np.uint64(1) << np.uint64(max(rest, 0))) - np.uint64(1)
        set_word(table, ACTIVE * len(lanes) + lane, word)
    accumulate_cells(lanes, memory)
    return -1


@part
def accumulate_cells(lanes: Any, memory: Any) -> None:
    """Once all events of a chunk are read: turn the marks of all cells into cumulative masks."""
    table, attribute = long_at(memory, TABLE), long_at(memory, ATTRIBUTES)
    for _ in range(long_at(memory, ATTRIBUTE_COUNT)):
        first = long_at(attribute, NUMBER_MARKED)
        if first:
            end = long_at(attribute, NUMBER_BLOCK) + long_at(attribute, NUMBER_CELLS)
            accumulate(lanes, table, first - 1, end - first + 1)
        first = long_at(attribute, TEXT_MARKED)
        if first:
            end = long_at(attribute, TEXT_BLOCK) + long_at(attribute, TEXT_CELLS)
            accumulate(lanes, table, first - 1, end - first + 1)
        attribute += 8 * ATTRIBUTE_COLUMNS


@part
def _clear(lanes: Any, table: Any, first: Any, count: Any) -> None:
    """Clear the masks of slots in a row."""
    for at in range(first * len(lanes), (first + count) * len(lanes)):
        set_word(table, at, 0)


@part
def forget_chunk(lanes: Any, memory: Any, count: Any) -> None:
    """Clear what ``read_chunk`` and a search left in masks and values."""
    table, touched = long_at(memory, TABLE), long_at(memory, TOUCHED)
    for at in range(long_at(memory, TOUCHED_COUNT)):
        _clear(lanes, table, np.int64(int_at(touched, at)), 1)
    _clear(lanes, table, ACTIVE, 1)
    kinds, attribute_count = long_at(memory, VALUE_KIND), long_at(memory, ATTRIBUTE_COUNT)
    for place in range(count * attribute_count):
        set_byte(kinds, place, MISSING)
    attribute = long_at(memory, ATTRIBUTES)
    for _ in range(attribute_count):
        first = long_at(attribute, NUMBER_MARKED)
        if first:
            end = long_at(attribute, NUMBER_BLOCK) + long_at(attribute, NUMBER_CELLS)
            _clear(lanes, table, first, end + BLOCK_PADDING - first)
            set_long(attribute, NUMBER_MARKED, 0)
        first = long_at(attribute, TEXT_MARKED)
        if first:
            end = long_at(attribute, TEXT_BLOCK) + long_at(attribute, TEXT_CELLS)
            _clear(lanes, table, first, end + BLOCK_PADDING - first)
            set_long(attribute, TEXT_MARKED, 0)
        attribute += 8 * ATTRIBUTE_COLUMNS
