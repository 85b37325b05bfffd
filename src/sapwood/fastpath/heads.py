"""Read attributes from the bytes of a head into the matching engine, without Python objects.

Taken is what an encoder writes that follows ``sapwood.wire.frames``: names in ascending order, of
printable ASCII; texts of ASCII; integers of 64 bits; finite floats of 64 bits. Whatever else there
may be, right or wrong, is not acceptable here and left to the decoder, which knows all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.cpython import (
    clear_error,
    dict_get,
    int_value,
    new_float,
    new_int,
    new_text,
    release,
)
from sapwood.compiled.raw import big_endian, byte_at, is_equal, long_at, set_long, word_at
from sapwood.fastpath.state import ENGINE, NAME_COLUMNS, NAME_NUMBERS, NAMES, NAMES_MAX
from sapwood.filters.limits import DEFAULT_LIMITS
from sapwood.matching.chunk import BITS, LENGTH, OUT, attribute_at, note_value, touch_point
from sapwood.matching.exact import FALSE, FLOAT, INTEGER, MISSING, TEXT, TRUE, as_float
from sapwood.matching.layout import POINTS
from sapwood.wire import markers

_NAME_BYTES_MAX = DEFAULT_LIMITS.attribute_name_chars_max

_NAME_AT, _NAME_LENGTH, _NAME_NUMBER = range(NAME_COLUMNS)
"""Columns of a name that was read before: where it stands, how long it is, its number or -1."""

_HIGH_BITS = np.uint64(0x8080808080808080)


@part
def _is_ascii(address: Any, length: Any) -> Any:
    at = 0
    while at + 8 <= length:
        if word_at(address + at, 0) & _HIGH_BITS:
            return False
        at += 8
    while at < length:
        if byte_at(address, at) >= 0x80:
            return False
        at += 1
    return True


@part
def _is_printable(address: Any, length: Any) -> Any:
    for at in range(length):
        byte = byte_at(address, at)
        if byte < 0x20 or byte >= 0x7F:
            return False
    return True


@part
def _is_after(left: Any, left_length: Any, right: Any, right_length: Any) -> Any:
    """Whether the first of two texts comes behind the other."""
    for at in range(min(left_length, right_length)):
        if byte_at(left, at) != byte_at(right, at):
            return byte_at(left, at) > byte_at(right, at)
    return left_length > right_length


@part
def _read_text(memory: Any, at: Any, end: Any) -> Any:
    """Where a text ends that begins at an address, its bits and length in scratch; 0 if it is none.

    Only that it is one and ends in time is checked.
    """
    marker = np.int64(byte_at(at, 0))
    start = at + 1
    if markers.SHORT_TEXT <= marker < markers.SHORT_TEXT_END:
        length = marker - markers.SHORT_TEXT
    elif marker == markers.TEXT_8 and at + 2 <= end:
        length, start = np.int64(byte_at(at, 1)), at + 2
    elif marker == markers.TEXT_16 and at + 3 <= end:
        length, start = np.int64(big_endian(at + 1, 2)), at + 3
    else:
        return 0
    set_long(memory, BITS, start)
    set_long(memory, LENGTH, length)
    return start + length if start + length <= end else 0


@part
def _read_integer(memory: Any, at: Any, marker: Any, end: Any) -> Any:
    """Where an integer of several bytes ends, its bits in scratch; 0 if it is not acceptable."""
    is_signed = marker >= markers.SIGNED_8
    size = 1 << (marker - (markers.SIGNED_8 if is_signed else markers.UNSIGNED_8))
    if at + 1 + size > end:
        return 0
    bits = np.int64(big_endian(at + 1, size))
    if is_signed:
        spare = 64 - 8 * size
        bits = (bits << spare) >> spare
    elif bits < 0:
        return 0
    set_long(memory, BITS, bits)
    return at + 1 + size


@part
def _read_value(memory: Any, at: Any, end: Any) -> Any:
    """The kind of the value at an address and where it ends; its bits and length in scratch.

    The kind is MISSING if it is not acceptable.
    """
    marker = np.int64(byte_at(at, 0))
    if marker < markers.SHORT_MAP or marker >= markers.NEGATIVE:
        set_long(memory, BITS, marker if marker < markers.SHORT_MAP else marker - 256)
        return INTEGER, at + 1
    if marker in (markers.FALSE, markers.TRUE):
        return (FALSE if marker == markers.FALSE else TRUE), at + 1
    if marker == markers.FLOAT_64:
        if at + 9 > end:
            return MISSING, at
        bits = np.int64(big_endian(at + 1, 8))
        set_long(memory, BITS, bits)
        return (FLOAT if np.isfinite(as_float(bits)) else MISSING), at + 9
    if markers.UNSIGNED_8 <= marker <= markers.SIGNED_64:
        following = _read_integer(memory, at, marker, end)
        return (INTEGER if following else MISSING), following
    following = _read_text(memory, at, end)
    if following == 0 or not _is_ascii(long_at(memory, BITS), long_at(memory, LENGTH)):
        return MISSING, at
    return TEXT, following


@part
def _look_up_name(state: Any, address: Any, length: Any) -> Any:
    """The number of an attribute, or -1; -2 if there is no memory."""
    name = new_text(address, length)
    if name == 0:
        clear_error()
        return -2
    found = dict_get(long_at(state, NAME_NUMBERS), name)
    number = -1
    if found != 0:
        number = int_value(found, long_at(state, ENGINE) + 8 * OUT)
    release(name)
    return number


@part
def _name_number(state: Any, position: Any, address: Any, length: Any) -> Any:
    """The number of the attribute at a position; most have the same name as in the head before.

    -1 if nobody asks for it, -2 if it cannot be a name.
    """
    before = long_at(state, NAMES) + 8 * NAME_COLUMNS * position
    if long_at(before, _NAME_LENGTH) == length and is_equal(
        long_at(before, _NAME_AT), address, length
    ):
        return long_at(before, _NAME_NUMBER)
    if not 0 < length <= _NAME_BYTES_MAX or not _is_printable(address, length):
        return -2
    number = _look_up_name(state, address, length)
    if number > -2:
        set_long(before, _NAME_AT, address)
        set_long(before, _NAME_LENGTH, length)
        set_long(before, _NAME_NUMBER, number)
    return number


@part
def _touch(lanes: Any, memory: Any, event: Any, number: Any, kind: Any) -> Any:
    """Mark the point of a number or text that was read, if somebody named it."""
    points = long_at(attribute_at(memory, number), POINTS)
    if not points:
        return True
    bits = long_at(memory, BITS)
    if kind == TEXT:
        value = new_text(bits, long_at(memory, LENGTH))
    elif kind == INTEGER:
        value = new_int(bits)
    else:
        value = new_float(as_float(bits))
    if value == 0:
        clear_error()
        return False
    touch_point(lanes, memory, event, points, value)
    release(value)
    return True


@part
def _map_size(at: Any, end: Any) -> Any:
    """How many attributes there are, and where the first begins; -1 if too many, or no map."""
    marker = np.int64(byte_at(at, 0))
    if markers.SHORT_MAP <= marker < markers.SHORT_MAP_END:
        return marker - markers.SHORT_MAP, at + 1
    if marker == markers.MAP_16 and at + 3 <= end:
        count = np.int64(big_endian(at + 1, 2))
        return (count if count <= NAMES_MAX else -1), at + 3
    return -1, at


@part
def read_attributes(lanes: Any, state: Any, event: Any, at: Any, end: Any) -> Any:
    """Take in the attributes between two addresses as an event; False if not acceptable."""
    memory = long_at(state, ENGINE)
    count, at = _map_size(at, end)
    before, before_length = at, np.int64(-1)
    for position in range(count):
        if at >= end:
            return False
        following = _read_text(memory, at, end)
        if following == 0 or following >= end:
            return False
        name, length = long_at(memory, BITS), long_at(memory, LENGTH)
        if before_length >= 0 and not _is_after(name, length, before, before_length):
            return False
        before, before_length = name, length
        number = _name_number(state, position, name, length)
        if number == -2:
            return False
        kind, at = _read_value(memory, following, end)
        if kind == MISSING:
            return False
        if number >= 0:
            note_value(lanes, memory, event, number, kind)
            if kind > TRUE and not _touch(lanes, memory, event, number, kind):
                return False
    return count >= 0 and at == end


@part
def forget_names(state: Any) -> None:
    """Names that were read before stand no longer where they did."""
    for position in range(NAMES_MAX):
        set_long(long_at(state, NAMES) + 8 * NAME_COLUMNS * position, _NAME_LENGTH, -1)
