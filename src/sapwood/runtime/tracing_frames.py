"""Take runs of frames apart in compiled code, while the event loop goes on.

A trace needs of every notification its publisher, its sequence number and its size, and of those
that clients publish the attributes. At half a million notifications a second that cannot be done
frame by frame in Python: the interpreter is the event loop's. These functions work on whole
batches of bytes and do not hold it.

Publishers and attributes repeat, so each gets a number when it is first seen (`Interner`), and
only then somebody in Python has to look at it.
"""

from __future__ import annotations

import itertools
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from sapwood.wire.frames import ENVELOPE_SIZE, EXPIRES, GRAY, HEADER_SIZE, NOTIFICATION

_SMALLEST: Final = HEADER_SIZE + ENVELOPE_SIZE
_FLAGS: Final = GRAY | EXPIRES

# How msgpack begins a pair and a text: see sapwood.protocol.forwarding, which takes no others.
_PAIR, _SHORT_TEXT, _SHORT_TEXT_END, _TEXT_8 = 0x92, 0xA0, 0xC0, 0xD9

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_ENTRIES: Final = 256
_FULL_SHARE: Final = 2
"""There are at least so many slots for each entry."""


class Interner:
    """Numbers pieces of bytes from 0 in the order in which they are first seen."""

    def __init__(self) -> None:
        self.count = 0
        self.bytes_used = 0
        self.slots = np.full(_FULL_SHARE * _FIRST_ENTRIES, -1, np.int32)
        self.hashes = np.empty(_FIRST_ENTRIES, np.uint64)
        self.ends = np.zeros(_FIRST_ENTRIES + 1, np.int64)
        """Where each piece ends in the pool; it begins where the one before ends, from place 1."""
        self.pool = np.empty(_FIRST_ENTRIES * 16, np.uint8)

    def make_room(self, pieces: int, size: int) -> None:
        """Let so many new pieces fit, of so many bytes together."""
        entries = self.count + pieces
        if entries > len(self.hashes):
            entries = max(entries, 2 * len(self.hashes))
            self.hashes = _grown(self.hashes, self.count, entries)
            self.ends = _grown(self.ends, self.count + 1, entries + 1)
            slots = 1 << (_FULL_SHARE * entries - 1).bit_length()
            self.slots = np.full(slots, -1, np.int32)
            _fill_slots(self.slots, self.hashes, self.count)
        if self.bytes_used + size > len(self.pool):
            size_wanted = max(self.bytes_used + size, 2 * len(self.pool))
            self.pool = _grown(self.pool, self.bytes_used, size_wanted)

    def pieces(self, first: int, end: int) -> list[bytes]:
        """The pieces from one number up to another, without that."""
        ends = self.ends[first : end + 1].tolist()
        data = self.pool[ends[0] : ends[-1]].tobytes()
        return [data[start - ends[0] : stop - ends[0]] for start, stop in itertools.pairwise(ends)]


def _grown(array: Any, used: int, size: int) -> Any:
    larger = np.empty(size, array.dtype)
    larger[:used] = array[:used]
    return larger


class Found(NamedTuple):
    """The notifications in some runs of frames, one behind the other: each an array."""

    run: Any
    """In which run."""
    publisher: Any
    """The number of its publisher."""
    attributes: Any
    """The number of its attributes, as a msgpack map; -1 where they were not asked for."""
    sequence: Any
    size: Any
    """Bytes of the whole frame."""


def find(data: Any, ends: Any, wanted: Any, publishers: Interner, attributes: Interner) -> Found:
    """The notifications in runs of whole frames, given as one array of bytes and where runs end.

    `wanted` says for each run whether the attributes matter. Control messages are passed over, and
    so is what no broker takes for a notification: a head of another form, or a sequence number
    that is none.
    """
    room = len(data) // _SMALLEST
    for interner in (publishers, attributes):
        interner.make_room(room, len(data))
    codes = np.empty((3, room), np.int32)
    numbers = np.empty((2, room), np.int64)
    count, *used = _find(
        data,
        ends,
        wanted,
        codes,
        numbers,
        (publishers.slots, publishers.hashes, publishers.ends, publishers.pool, publishers.count),
        (attributes.slots, attributes.hashes, attributes.ends, attributes.pool, attributes.count),
    )
    for interner, known in zip((publishers, attributes), used, strict=True):
        interner.count = known
        interner.bytes_used = int(interner.ends[known])
    return Found(*codes[:, :count], *numbers[:, :count])


@njit(cache=True, nogil=True)
def _find(
    data: Any, ends: Any, wanted: Any, codes: Any, numbers: Any, publishers: Any, attributes: Any
) -> Any:
    count = 0
    at = np.int64(0)
    known_publishers, known_attributes = publishers[4], attributes[4]
    publisher, last_at, last_length = np.int32(-1), np.int64(0), np.int64(-1)
    for run in range(len(ends)):
        end = ends[run]
        while at + HEADER_SIZE <= end:
            body = np.int64(data[at + 1]) | np.int64(data[at + 2]) << 8
            body |= np.int64(data[at + 3]) << 16 | np.int64(data[at + 4]) << 24
            head = np.int64(data[at + 5]) | np.int64(data[at + 6]) << 8
            head_at = at + HEADER_SIZE
            body_at = head_at + head
            following = body_at + body
            if following > end:
                break
            is_notification = data[at] & ~_FLAGS == NOTIFICATION
            if is_notification and body >= ENVELOPE_SIZE and head >= 3:
                text_at, length = _text(data, head_at)
                sequence = np.int64(_word(data, body_at))
                if length >= 0 and text_at + length < body_at and sequence > 0:
                    if length != last_length or not _equal(data, text_at, data, last_at, length):
                        publisher, known_publishers = _number(
                            data, text_at, length, publishers, known_publishers
                        )
                        last_at, last_length = text_at, length
                    codes[0, count] = run
                    codes[1, count] = publisher
                    codes[2, count] = -1
                    if wanted[run]:
                        rest = text_at + length
                        codes[2, count], known_attributes = _number(
                            data, rest, body_at - rest, attributes, known_attributes
                        )
                    numbers[0, count] = sequence
                    numbers[1, count] = following - at
                    count += 1
            at = following
        at = end
    return count, known_publishers, known_attributes


@njit(cache=True, nogil=True)
def _word(data: Any, at: Any) -> Any:
    value = np.uint64(0)
    for index in range(8):
        value |= np.uint64(data[at + index]) << np.uint64(8 * index)
    return value


@njit(cache=True, nogil=True)
def _text(data: Any, head_at: Any) -> Any:
    """Where the text in a pair begins, and its length; -1 if there is none."""
    marker = np.int64(data[head_at + 1])
    if data[head_at] != _PAIR:
        return head_at, np.int64(-1)
    if _SHORT_TEXT <= marker < _SHORT_TEXT_END:
        return head_at + 2, marker - _SHORT_TEXT
    if marker == _TEXT_8:
        return head_at + 3, np.int64(data[head_at + 2])
    return head_at, np.int64(-1)


@njit(cache=True, nogil=True)
def _equal(one: Any, at: Any, other: Any, place: Any, length: Any) -> Any:
    for index in range(length):
        if one[at + index] != other[place + index]:
            return False
    return True


@njit(cache=True, nogil=True)
def _hash(data: Any, at: Any, length: Any) -> Any:
    value = np.uint64(length) * _MIX
    index = 0
    while index + 8 <= length:
        value = (value ^ _word(data, at + index)) * _MIX
        value ^= value >> np.uint64(29)
        index += 8
    while index < length:
        value = (value ^ np.uint64(data[at + index])) * _MIX
        index += 1
    return value ^ value >> np.uint64(32)


@njit(cache=True, nogil=True)
def _number(data: Any, at: Any, length: Any, known: Any, count: Any) -> Any:
    """The number of a piece, and how many there are then."""
    slots, hashes, ends, pool, _ = known
    value = _hash(data, at, length)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        number = slots[slot]
        first = ends[number]
        if (
            hashes[number] == value
            and ends[number + 1] - first == length
            and _equal(data, at, pool, first, length)
        ):
            return number, count
        slot = (slot + np.uint64(1)) & mask
    first = ends[count]
    for index in range(length):
        pool[first + index] = data[at + index]
    ends[count + 1] = first + length
    hashes[count] = value
    slots[slot] = count
    return np.int32(count), count + 1


@njit(cache=True, nogil=True)
def _fill_slots(slots: Any, hashes: Any, count: Any) -> None:
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = hashes[number] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@njit(cache=True, nogil=True)
def number(counters: Any, which: Any, numbers: Any) -> None:
    """Count on: each item gets the next number of its counter, none where that is negative."""
    for index in range(len(which)):
        counter = which[index]
        if counter >= 0:
            counters[counter] += 1
            numbers[index] = counters[counter]
        else:
            numbers[index] = 0


def warm() -> None:
    """Compile, or load what was compiled before, so that the first rows do not wait for it."""
    interner = Interner()
    interner.make_room(2 * _FIRST_ENTRIES, 1)
    data = np.frombuffer(bytes(_SMALLEST), np.uint8)
    find(data, np.array([_SMALLEST]), np.array([True]), interner, Interner())
    number(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
