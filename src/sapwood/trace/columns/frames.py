"""Take runs of frames apart in compiled code, while the event loop goes on.

A trace needs of every notification its publisher, its sequence number and its size, and of those
that clients publish the attributes. At millions of notifications a second that cannot be done
frame by frame in Python: the interpreter is the event loop's. These functions work on whole
batches, read the bytes where they are, and do not hold the interpreter.

Who publishes much publishes notifications that are alike and count up by one. Such neighbours are
one *span*: to see that a frame continues the last one takes a comparison of its header and head,
and of nothing else. Publishers and attributes repeat beyond that, so each gets a number when it
is first seen (`Interner`), and only then somebody in Python has to look at it.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

import msgspec
import numpy as np
from numba import njit, types

from sapwood.matching.raw import byte_at
from sapwood.wire.frames import (
    ENVELOPE_SIZE,
    EXPIRES,
    GRAY,
    HEAD_BYTES_MAX,
    HEADER_SIZE,
    NOTIFICATION,
)

SPAN_COLUMNS: Final = 7
RUN, PUBLISHER, ATTRIBUTES, SEQUENCE, SIZE, COUNT, ORDER = range(SPAN_COLUMNS)
"""Columns of spans: in which run; the numbers of publisher and attributes, -1 for none; the first
sequence number, which the others count up from; bytes of each frame; how many frames; and room for
the order of a client, 0 so far."""

_FLAGS: Final = GRAY | EXPIRES
_HEAD_MIN: Final = 3
_SEQUENCE_MAX: Final = 2**63 - 1

# How msgpack begins a pair and a text: see sapwood.protocol.forwarding, which takes no others.
_PAIR, _SHORT_TEXT, _SHORT_TEXT_END, _TEXT_8 = 0x92, 0xA0, 0xC0, 0xD9

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_ENTRIES: Final = 256
_FIRST_SPANS: Final = 1024
_FULL_SHARE: Final = 2
"""There are at least so many slots for each entry."""

_RUN_COLUMNS: Final = 5

# What the kernel has done so far, so that it can go on when there is more room.
_PROGRESS_COLUMNS: Final = 6
_AT_RUN, _AT_BYTE, _AT_FRAME, _SPANS, _PUBLISHERS, _HEADS = range(_PROGRESS_COLUMNS)

_memcmp = types.ExternalFunction("memcmp", types.int32(types.int64, types.int64, types.uint64))
_difference: Any = _memcmp
"""Not zero if two pieces of memory of some size differ."""


class Frames(msgspec.Struct, frozen=True, gc=False):
    """Consecutive frames of a run: of all its whole frames, those from one number up to another."""

    data: bytes
    first: int = 0
    end: int = 1 << 62


class Interner:
    """Numbers pieces of bytes from 0 in the order in which they are first seen."""

    def __init__(self) -> None:
        self.count = 0
        self.slots = np.full(_FULL_SHARE * _FIRST_ENTRIES, -1, np.int32)
        self.hashes = np.empty(_FIRST_ENTRIES, np.uint64)
        self.ends = np.zeros(_FIRST_ENTRIES + 1, np.int64)
        """Where each piece ends in the pool; it begins where the one before ends, from place 1."""
        self.pool = np.empty(_FIRST_ENTRIES * 16, np.uint8)

    @property
    def bytes_used(self) -> int:
        """Bytes of all pieces."""
        return int(self.ends[self.count])

    def make_room(self) -> None:
        """Let one more piece fit, of any size, and then as many again as there are."""
        if self.count >= len(self.hashes):
            entries = 2 * len(self.hashes)
            self.hashes = _grown(self.hashes, self.count, entries)
            self.ends = _grown(self.ends, self.count + 1, entries + 1)
            self.slots = np.full(_FULL_SHARE * entries, -1, np.int32)
            _fill_slots(self.slots, self.hashes, self.count)
        used = self.bytes_used
        if used + HEAD_BYTES_MAX > len(self.pool):
            self.pool = _grown(self.pool, used, 2 * len(self.pool) + HEAD_BYTES_MAX)

    def pieces(self, first: int, end: int) -> list[bytes]:
        """The pieces from one number up to another, without that."""
        ends = self.ends[first : end + 1].tolist()
        data = self.pool[ends[0] : ends[-1]].tobytes()
        return [data[start - ends[0] : stop - ends[0]] for start, stop in itertools.pairwise(ends)]


def _grown(array: Any, used: int, size: int) -> Any:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def find(runs: Any, publishers: Interner, attributes: Interner) -> Any:
    """The spans of notifications in runs of frames: an array, a row for each span.

    Each run is a row that begins with the address of its bytes, how many there are, the first frame
    and the end, and whether the attributes matter; whoever calls keeps the bytes alive. Control
    messages are passed over, and so is what no broker takes for a
    notification: a head of another form, or a sequence number that is none. A run without any
    bytes stands for something that is no notification: it has a span of its own, of one, with
    nothing in it.
    """
    progress = np.zeros(_PROGRESS_COLUMNS, np.int64)
    progress[_PUBLISHERS], progress[_HEADS] = publishers.count, attributes.count
    spans = np.empty((_FIRST_SPANS, SPAN_COLUMNS), np.int64)
    while not _find(
        runs,
        spans,
        progress,
        (publishers.slots, publishers.hashes, publishers.ends, publishers.pool),
        (attributes.slots, attributes.hashes, attributes.ends, attributes.pool),
    ):
        publishers.count, attributes.count = progress[_PUBLISHERS], progress[_HEADS]
        publishers.make_room()
        attributes.make_room()
        if progress[_SPANS] == len(spans):
            spans = _grown(spans, len(spans), 2 * len(spans))
    publishers.count, attributes.count = progress[_PUBLISHERS], progress[_HEADS]
    return spans[: progress[_SPANS]]


@njit(cache=True, nogil=True)
def _find(runs: Any, spans: Any, progress: Any, publishers: Any, heads: Any) -> Any:
    """Go on from where it was; whether it came to the end, or else needs more room."""
    at, number, count = progress[_AT_BYTE], progress[_AT_FRAME], progress[_SPANS]
    known_publishers, known_heads = progress[_PUBLISHERS], progress[_HEADS]
    for run in range(progress[_AT_RUN], len(runs)):
        data, end, first, stop, is_wanted = runs[run, :_RUN_COLUMNS]
        if end == 0:
            if count == len(spans):
                _save(progress, run, 0, 0, count, known_publishers, known_heads)
                return False
            _put(spans, count, run, -1, -1, 0, 0)
            spans[count, COUNT] = 1
            count += 1
        while number < first and at + HEADER_SIZE <= end:
            at += _size(data + at)
            number += 1
        while number < stop and at + HEADER_SIZE <= end:
            frame = data + at
            size = _size(frame)
            if at + size > end:
                break
            text, length = _publisher(frame, size)
            if length >= 0:
                head = _little(frame + 5, 2)
                if (
                    count == len(spans)
                    or not _has_room(publishers, known_publishers, length)
                    or not _has_room(heads, known_heads, head)
                ):
                    _save(progress, run, at, number, count, known_publishers, known_heads)
                    return False
                publisher, known_publishers = _number(text, length, publishers, known_publishers)
                attributes, compared = np.int64(-1), text + length - frame - HEADER_SIZE
                if is_wanted:
                    attributes, known_heads = _number(
                        text + length, head - compared, heads, known_heads
                    )
                    compared = head
                sequence = _long(frame + HEADER_SIZE + head)
                if not _extends(spans, count - 1, run, publisher, attributes, sequence, size):
                    _put(spans, count, run, publisher, attributes, sequence, size)
                    count += 1
                following = _following(
                    frame, size, sequence, compared, min(stop - number - 1, (end - at) // size - 1)
                )
                spans[count - 1, COUNT] += 1 + following
                number += following
                at += following * size
            at += size
            number += 1
        at, number = np.int64(0), np.int64(0)
    _save(progress, len(runs), 0, 0, count, known_publishers, known_heads)
    return True


@njit(cache=True, nogil=True)
def _following(frame: Any, size: Any, sequence: Any, compared: Any, at_most: Any) -> Any:
    """How many frames behind one continue it.

    They have the same header and so many bytes of head in common, and the sequence counts up.
    """
    count = np.int64(0)
    sequence_at = HEADER_SIZE + _little(frame + 5, 2)
    header, head, length = _long(frame), frame + HEADER_SIZE, np.uint64(compared)
    while count < at_most and sequence < _SEQUENCE_MAX:
        frame += size
        sequence += 1
        if (
            _long(frame) != header
            or _long(frame + sequence_at) != sequence
            or _difference(frame + HEADER_SIZE, head, length) != 0
        ):
            break
        count += 1
    return count


@njit(cache=True, nogil=True)
def _save(
    progress: Any, run: Any, at: Any, number: Any, count: Any, publishers: Any, heads: Any
) -> None:
    progress[_AT_RUN], progress[_AT_BYTE], progress[_AT_FRAME] = run, at, number
    progress[_SPANS], progress[_PUBLISHERS], progress[_HEADS] = count, publishers, heads


@njit(cache=True, nogil=True)
def _put(
    spans: Any, place: Any, run: Any, publisher: Any, attributes: Any, sequence: Any, size: Any
) -> None:
    """Begin a span, with nothing in it so far."""
    spans[place, RUN] = run
    spans[place, PUBLISHER] = publisher
    spans[place, ATTRIBUTES] = attributes
    spans[place, SEQUENCE] = sequence
    spans[place, SIZE] = size
    spans[place, COUNT] = 0
    spans[place, ORDER] = 0


@njit(cache=True, nogil=True)
def _extends(
    spans: Any, place: Any, run: Any, publisher: Any, attributes: Any, sequence: Any, size: Any
) -> Any:
    """Whether a notification is the next of a span."""
    return (
        place >= 0
        and spans[place, RUN] == run
        and spans[place, PUBLISHER] == publisher
        and spans[place, ATTRIBUTES] == attributes
        and spans[place, SIZE] == size
        and spans[place, SEQUENCE] + spans[place, COUNT] == sequence
    )


@njit(cache=True, nogil=True)
def _little(address: Any, size: Any) -> Any:
    """A little-endian number of some bytes."""
    value = np.int64(0)
    for index in range(size):
        value |= np.int64(byte_at(address, index)) << (8 * index)
    return value


@njit(cache=True, nogil=True)
def _long(address: Any) -> Any:
    return _little(address, 8)


@njit(cache=True, nogil=True)
def _size(frame: Any) -> Any:
    """The size of the frame at an address."""
    return HEADER_SIZE + _little(frame + 1, 4) + _little(frame + 5, 2)


@njit(cache=True, nogil=True)
def _publisher(frame: Any, size: Any) -> Any:
    """Where the publisher of a notification begins, and its length; -1 if it is none."""
    head = _little(frame + 5, 2)
    head_at = frame + HEADER_SIZE
    if (
        byte_at(frame, 0) & ~_FLAGS != NOTIFICATION
        or head < _HEAD_MIN
        or size - HEADER_SIZE - head < ENVELOPE_SIZE
        or byte_at(head_at, 0) != _PAIR
        or _long(head_at + head) <= 0
    ):
        return frame, np.int64(-1)
    marker = np.int64(byte_at(head_at, 1))
    text, length = head_at, np.int64(-1)
    if _SHORT_TEXT <= marker < _SHORT_TEXT_END:
        text, length = head_at + 2, marker - _SHORT_TEXT
    elif marker == _TEXT_8:
        text, length = head_at + 3, np.int64(byte_at(head_at, 2))
    return text, length if text + length < head_at + head else np.int64(-1)


@njit(cache=True, nogil=True)
def _hash(address: Any, length: Any) -> Any:
    value = np.uint64(length) * _MIX
    index = 0
    while index + 8 <= length:
        value = (value ^ np.uint64(_long(address + index))) * _MIX
        value ^= value >> np.uint64(29)
        index += 8
    while index < length:
        value = (value ^ np.uint64(byte_at(address, index))) * _MIX
        index += 1
    return value ^ value >> np.uint64(32)


@njit(cache=True, nogil=True)
def _has_room(known: Any, count: Any, length: Any) -> Any:
    """Whether one more piece fits."""
    _, hashes, ends, pool = known
    return count < len(hashes) and ends[count] + length <= len(pool)


@njit(cache=True, nogil=True)
def _number(address: Any, length: Any, known: Any, count: Any) -> Any:
    """The number of a piece, and how many there are then."""
    slots, hashes, ends, pool = known
    value = _hash(address, length)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        number = slots[slot]
        first = ends[number]
        if (
            hashes[number] == value
            and ends[number + 1] - first == length
            and _difference(address, pool.ctypes.data + first, np.uint64(length)) == 0
        ):
            return np.int64(number), count
        slot = (slot + np.uint64(1)) & mask
    first = ends[count]
    for index in range(length):
        pool[first + index] = byte_at(address, index)
    ends[count + 1] = first + length
    hashes[count] = value
    slots[slot] = count
    return np.int64(count), count + 1


@njit(cache=True, nogil=True)
def _fill_slots(slots: Any, hashes: Any, count: Any) -> None:
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = hashes[number] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


def warm() -> None:
    """Compile, or load what was compiled before, so that the first rows do not wait for it."""
    interner = Interner()
    _fill_slots(interner.slots, interner.hashes, 0)
    find(np.zeros((1, _RUN_COLUMNS), np.int64), interner, Interner())
