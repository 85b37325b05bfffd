"""Read notifications that are Python dictionaries into a chunk.

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
    long_at,
    set_long,
    set_word,
)
from sapwood.filters.limits import DEFAULT_LIMITS
from sapwood.matching.chunk import (
    BITS,
    CHUNK_SCRATCH_END,
    LENGTH,
    OUT,
    accumulate_cells,
    attribute_at,
    note_value,
    touch_point,
)
from sapwood.matching.exact import FALSE, FLOAT, INTEGER, MISSING, TEXT, TRUE
from sapwood.matching.layout import (
    ACTIVE,
    POINTS,
    TABLE,
    TYPES,
)

_POSITION, _KEY, _VALUE = range(CHUNK_SCRATCH_END, CHUNK_SCRATCH_END + 3)
"""Scratch words that the interpreter writes: position in a dictionary, key, value."""
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

    ``events`` and ``names`` (from attribute names to numbers) are addresses. The chunk has begun.
    """
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
