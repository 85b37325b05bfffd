"""A hash table from bytes to numbers, in compiled code.

A key has a *salt* that says what kind of thing it is, so that one table serves for all. Whoever
can choose keys cannot choose where they go: hashes begin with a number that differs from process
to process. And nobody looks further than a few places: what is not found there is not known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.compiled.raw import byte_at, long_at, set_byte, set_long, word_at
from sapwood.fastpath.state import (
    BYTES,
    BYTES_MAX,
    BYTES_USED,
    KEY_COLUMNS,
    KEYS,
    KEYS_MASK,
    KEYS_MAX,
    KEYS_USED,
    NEEDS_ROOM,
    SEED,
)

PLACES_MAX = 32
"""Places that are looked at for a key."""

_HASH, _AT, _LENGTH, _VALUE = range(KEY_COLUMNS)
"""Columns of a place: hash, where its bytes are, how many and the salt, the value plus one."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@part
def _mixed(number: Any, more: Any) -> Any:
    number = (number ^ more) * _FACTOR
    return number ^ (number >> np.uint64(32))


@part
def hash_of(state: Any, address: Any, length: Any, salt: Any) -> Any:
    """The hash of a key."""
    found = _mixed(np.uint64(long_at(state, SEED)), np.uint64(salt << 32 | length))
    at = 0
    while at + 8 <= length:
        found = _mixed(found, word_at(address + at, 0))
        at += 8
    rest = np.uint64(0)
    while at < length:
        rest = rest << np.uint64(8) | np.uint64(byte_at(address, at))
        at += 1
    return _mixed(_mixed(found, rest), found)


@part
def is_equal(left: Any, right: Any, length: Any) -> Any:
    """Whether bytes at two places are the same."""
    at = 0
    while at + 8 <= length:
        if word_at(left + at, 0) != word_at(right + at, 0):
            return False
        at += 8
    while at < length:
        if byte_at(left, at) != byte_at(right, at):
            return False
        at += 1
    return True


@part
def find(state: Any, address: Any, length: Any, salt: Any, hashed: Any) -> Any:
    """The value of a key, or -1."""
    mask = long_at(state, KEYS_MASK)
    at = np.int64(hashed) & mask
    for _ in range(PLACES_MAX):
        place = long_at(state, KEYS) + 8 * KEY_COLUMNS * at
        value = long_at(place, _VALUE)
        if value == 0:
            return -1
        if (
            word_at(place, _HASH) == hashed
            and long_at(place, _LENGTH) == (salt << 32 | length)
            and is_equal(long_at(state, BYTES) + long_at(place, _AT), address, length)
        ):
            return value - 1
        at = (at + 1) & mask
    return -1


@part
def put(state: Any, address: Any, length: Any, salt: Any, hashed: Any, value: Any) -> Any:
    """Enter a key that is not there; False if there is no room for it."""
    used, start = long_at(state, KEYS_USED), long_at(state, BYTES_USED)
    if used >= long_at(state, KEYS_MAX) or start + length > long_at(state, BYTES_MAX):
        set_long(state, NEEDS_ROOM, 1)
        return False
    mask = long_at(state, KEYS_MASK)
    at = np.int64(hashed) & mask
    for _ in range(PLACES_MAX):
        place = long_at(state, KEYS) + 8 * KEY_COLUMNS * at
        if long_at(place, _VALUE) == 0:
            for byte in range(length):
                set_byte(long_at(state, BYTES), start + byte, byte_at(address, byte))
            set_long(place, _HASH, np.int64(hashed))
            set_long(place, _AT, start)
            set_long(place, _LENGTH, salt << 32 | length)
            set_long(place, _VALUE, value + 1)
            set_long(state, KEYS_USED, used + 1)
            set_long(state, BYTES_USED, start + length)
            return True
        at = (at + 1) & mask
    return False


@kernel
def remember(state: Any, address: Any, length: Any, salt: Any, value: Any) -> Any:
    """Enter a key, unless it is there; False if there is no room for it."""
    hashed = hash_of(state, address, length, salt)
    if find(state, address, length, salt, hashed) >= 0:
        return True
    return put(state, address, length, salt, hashed, value)
