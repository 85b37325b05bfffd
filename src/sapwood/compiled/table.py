"""A hash table from bytes to numbers, filled and read in compiled code.

A key has a *salt* that says what kind of thing it is, so that one table serves for several kinds.
Whoever can choose keys cannot choose where they go: hashes begin with a number that differs from
process to process. And nobody looks further than a few places: what is not found there is unknown.

Keys are entries in the order in which they came, with their bytes one behind the other; a place
holds the number of an entry. Compiled code gets the address of a table. It never makes a table
larger: it says that it needs room, and Python provides it between two calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.compiling import kernel, nogil_kernel, part
from sapwood.compiled.raw import (
    byte_at,
    int_at,
    is_equal,
    long_at,
    set_byte,
    set_int,
    set_long,
    word_at,
)

(
    _PLACES,
    _MASK,
    _ENTRIES,
    _USED,
    _ENTRIES_MAX,
    _BYTES,
    _BYTES_USED,
    _BYTES_MAX,
    _NEEDS_ROOM,
    _SEED,
) = range(10)
"""Numbers of a table: where its places are, and how many less one; its entries, how many there are
and may be; the bytes of all keys, how many there are and may be; whether a key found no room; what
hashes begin with."""

_TABLE_SIZE = 10

_ENTRY_COLUMNS = 4
_HASH, _START, _LENGTH, _VALUE = range(_ENTRY_COLUMNS)
"""Columns of an entry: its hash, where its bytes begin, how many and the salt, its value."""

_PLACES_MAX = 32
"""Places that are looked at for a key."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_RANDOM = hash(__name__) & 0x7FFFFFFFFFFFFFFF
"""As unpredictable as Python's own hashes. Where keys go changes no answer."""


class ByteTable:
    """The memory of a table, with ``size`` places, a power of two; half of them can be taken.

    Keys may have ``key_bytes`` bytes each on average.
    """

    def __init__(self, size: int = 512, key_bytes: int = 16, seed: int = _RANDOM) -> None:
        self._key_bytes = key_bytes
        self._numbers = np.zeros(_TABLE_SIZE, np.int64)
        self._numbers[_SEED] = seed
        self.address = self._numbers.ctypes.data
        self.size = 0
        self.clear(size)

    @property
    def count(self) -> int:
        """How many keys there are."""
        return int(self._numbers[_USED])

    @property
    def bytes_used(self) -> int:
        """Bytes of all keys."""
        return int(self._numbers[_BYTES_USED])

    @property
    def needs_room(self) -> bool:
        """Whether a key was left out because there was no room for it."""
        return bool(self._numbers[_NEEDS_ROOM])

    def clear(self, size: int) -> None:
        """Remove all keys, and have ``size`` places from now on."""
        if size != self.size:
            self._use(size, np.empty((size // 2, _ENTRY_COLUMNS), np.int64))
            self._use_bytes(np.empty(self._key_bytes * size // 2, np.uint8))
        else:
            self._places.fill(0)
        self._numbers[[_USED, _BYTES_USED, _NEEDS_ROOM]] = 0

    def make_room(self, length: int) -> None:
        """Let one more key fit, of up to that length, and then about as many again as there are."""
        if self.count >= self.size // 2:
            self._use(2 * self.size, _grown(self._entries, self.count, self.size))
            _fill_places(self.address)
        if self.bytes_used + length > len(self._bytes):
            self._use_bytes(_grown(self._bytes, self.bytes_used, 2 * len(self._bytes) + length))
        self._numbers[_NEEDS_ROOM] = 0

    def keys(self, first: int, end: int) -> list[bytes]:
        """The keys from one number up to another, in the order in which they came."""
        entries = self._entries[first : min(end, self.count)]
        lengths = entries[:, _LENGTH] & 0xFFFFFFFF
        start = int(entries[0, _START]) if len(entries) else 0
        data = self._bytes[start : start + int(lengths.sum())].tobytes()
        ends = np.cumsum(lengths).tolist()
        return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def _use(self, size: int, entries: NDArray[np.int64]) -> None:
        self.size = size
        self._entries = entries
        self._places = np.zeros(size, np.int32)
        self._numbers[[_PLACES, _ENTRIES]] = self._places.ctypes.data, entries.ctypes.data
        self._numbers[[_MASK, _ENTRIES_MAX]] = size - 1, size // 2

    def _use_bytes(self, data: NDArray[np.uint8]) -> None:
        self._bytes = data
        self._numbers[[_BYTES, _BYTES_MAX]] = data.ctypes.data, len(data)


def _grown(array: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


@part
def _mixed(number: Any, more: Any) -> Any:
    number = (number ^ more) * _FACTOR
    return number ^ (number >> np.uint64(32))


@part
def hash_of(table: Any, address: Any, length: Any, salt: Any) -> Any:
    """The hash of a key."""
    found = _mixed(np.uint64(long_at(table, _SEED)), np.uint64(salt << 32 | length))
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
def find(table: Any, address: Any, length: Any, salt: Any, hashed: Any) -> Any:
    """The value of a key, or -1."""
    places, mask = long_at(table, _PLACES), long_at(table, _MASK)
    at = np.int64(hashed) & mask
    for _ in range(_PLACES_MAX):
        number = np.int64(int_at(places, at))
        if number == 0:
            return -1
        entry = long_at(table, _ENTRIES) + 8 * _ENTRY_COLUMNS * (number - 1)
        if (
            word_at(entry, _HASH) == hashed
            and long_at(entry, _LENGTH) == (salt << 32 | length)
            and is_equal(long_at(table, _BYTES) + long_at(entry, _START), address, length)
        ):
            return long_at(entry, _VALUE)
        at = (at + 1) & mask
    return -1


@part
def _free_place(table: Any, hashed: Any) -> Any:
    """The place where a key that is not there can go, or -1."""
    places, mask = long_at(table, _PLACES), long_at(table, _MASK)
    at = np.int64(hashed) & mask
    for _ in range(_PLACES_MAX):
        if int_at(places, at) == 0:
            return at
        at = (at + 1) & mask
    return np.int64(-1)


@part
def _has_room(table: Any, length: Any) -> Any:
    """Whether there is memory for one more key; if there is none, that is noted."""
    if long_at(table, _USED) < long_at(table, _ENTRIES_MAX) and long_at(
        table, _BYTES_USED
    ) + length <= long_at(table, _BYTES_MAX):
        return True
    set_long(table, _NEEDS_ROOM, 1)
    return False


@part
def _append(
    table: Any, place: Any, address: Any, length: Any, salt: Any, hashed: Any, value: Any
) -> None:
    """Enter a key for which there is memory; with no place (-1) it will not be found."""
    number, start = long_at(table, _USED), long_at(table, _BYTES_USED)
    data = long_at(table, _BYTES) + start
    for at in range(length):
        set_byte(data, at, byte_at(address, at))
    entry = long_at(table, _ENTRIES) + 8 * _ENTRY_COLUMNS * number
    set_long(entry, _HASH, np.int64(hashed))
    set_long(entry, _START, start)
    set_long(entry, _LENGTH, salt << 32 | length)
    set_long(entry, _VALUE, value)
    set_long(table, _USED, number + 1)
    set_long(table, _BYTES_USED, start + length)
    if place >= 0:
        set_int(long_at(table, _PLACES), place, number + 1)


@part
def put(table: Any, address: Any, length: Any, salt: Any, hashed: Any, value: Any) -> Any:
    """Enter a key that is not there; False if there is no room for it."""
    if not _has_room(table, length):
        return False
    place = _free_place(table, hashed)
    if place < 0:
        return False
    _append(table, place, address, length, salt, hashed, value)
    return True


@part
def intern(table: Any, address: Any, length: Any) -> Any:
    """The number of a key, which is entered if it is new; -1 if there is no room for it.

    Keys are numbered from 0 in the order in which they are first seen. In a table that is crowded
    where a key belongs, it gets another number every time: it is never searched for long.
    """
    hashed = hash_of(table, address, length, np.int64(0))
    number = find(table, address, length, np.int64(0), hashed)
    if number < 0 and _has_room(table, length):
        number = long_at(table, _USED)
        place = _free_place(table, hashed)
        _append(table, place, address, length, np.int64(0), hashed, number)
    return number


@kernel
def remember(table: Any, address: Any, length: Any, salt: Any, value: Any) -> Any:
    """Enter a key, unless it is there; False if there is no room for it."""
    hashed = hash_of(table, address, length, salt)
    if find(table, address, length, salt, hashed) >= 0:
        return True
    return put(table, address, length, salt, hashed, value)


@nogil_kernel
def _fill_places(table: Any) -> None:
    """Give all entries their places, in places that are empty."""
    for number in range(long_at(table, _USED)):
        entry = long_at(table, _ENTRIES) + 8 * _ENTRY_COLUMNS * number
        place = _free_place(table, word_at(entry, _HASH))
        if place >= 0:
            set_int(long_at(table, _PLACES), place, number + 1)


def warm() -> None:
    """Compile, or load what was compiled before, so that nobody waits for it later."""
    table = ByteTable(2)
    remember(table.address, table.address, 0, 0, 0)
    table.make_room(0)
