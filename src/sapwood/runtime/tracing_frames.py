"""Take runs of frames apart in compiled code, while the event loop goes on.

A trace needs of every notification its publisher, its sequence number and its size, and of those
that clients publish the attributes. At half a million notifications a second that cannot be done
frame by frame in Python: the interpreter is the event loop's. These functions work on whole
batches of bytes and do not hold it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sapwood.wire.frames import ENVELOPE_SIZE, EXPIRES, GRAY, HEADER_SIZE, NOTIFICATION

_SMALLEST = HEADER_SIZE + ENVELOPE_SIZE
_FLAGS = GRAY | EXPIRES

# How msgpack begins a pair and a text: see sapwood.protocol.forwarding, which takes no others.
_PAIR, _SHORT_TEXT, _SHORT_TEXT_END, _TEXT_8 = 0x92, 0xA0, 0xC0, 0xD9


class Found(NamedTuple):
    """The notifications in some runs of frames, one behind the other: each an array."""

    run: Any
    """In which run."""
    publisher: Any
    """Where its publisher begins, as text."""
    attributes: Any
    """Where its publisher ends and its attributes begin, as a msgpack map."""
    end: Any
    """Where its attributes end."""
    sequence: Any
    size: Any
    """Bytes of the whole frame."""


def find(data: Any, ends: Any) -> Found:
    """The notifications in runs of whole frames, given as one array of bytes and where runs end.

    Control messages are passed over, and so is what no broker takes for a notification: a head of
    another form, or a sequence number that is none.
    """
    columns = np.empty((len(Found._fields), len(data) // _SMALLEST), np.int64)
    count = _find(data, ends, columns)
    return Found(*(column[:count] for column in columns))


@njit(cache=True, nogil=True)
def _find(data: Any, ends: Any, columns: Any) -> int:
    runs, publishers, attributes = columns[0], columns[1], columns[2]
    attribute_ends, sequences, sizes = columns[3], columns[4], columns[5]
    count = 0
    at = np.int64(0)
    for run in range(len(ends)):
        end = ends[run]
        while at + HEADER_SIZE <= end:
            body = (
                np.int64(data[at + 1])
                | np.int64(data[at + 2]) << 8
                | np.int64(data[at + 3]) << 16
                | np.int64(data[at + 4]) << 24
            )
            head = np.int64(data[at + 5]) | np.int64(data[at + 6]) << 8
            head_at = at + HEADER_SIZE
            body_at = head_at + head
            following = body_at + body
            if following > end:
                break
            kind = data[at] & ~_FLAGS
            if kind == NOTIFICATION and body >= ENVELOPE_SIZE and head >= 3:
                text_at = _text(data, head_at)
                text_end = text_at + _length(data, head_at)
                sequence = _integer(data, body_at)
                if text_at > 0 and text_end < body_at and sequence > 0:
                    runs[count] = run
                    publishers[count] = text_at
                    attributes[count] = text_end
                    attribute_ends[count] = body_at
                    sequences[count] = sequence
                    sizes[count] = following - at
                    count += 1
            at = following
        at = end
    return count


@njit(cache=True, nogil=True)
def _integer(data: Any, at: Any) -> Any:
    value = np.int64(0)
    for index in range(8):
        value |= np.int64(data[at + index]) << (8 * index)
    return value


@njit(cache=True, nogil=True)
def _text(data: Any, head_at: Any) -> Any:
    """Where the text in a pair begins; 0 if there is none."""
    marker = data[head_at + 1]
    if data[head_at] != _PAIR:
        return 0
    if _SHORT_TEXT <= marker < _SHORT_TEXT_END:
        return head_at + 2
    return head_at + 3 if marker == _TEXT_8 else 0


@njit(cache=True, nogil=True)
def _length(data: Any, head_at: Any) -> Any:
    marker = np.int64(data[head_at + 1])
    return marker - _SHORT_TEXT if marker < _SHORT_TEXT_END else np.int64(data[head_at + 2])


def gather(data: Any, starts: Any, ends: Any) -> tuple[Any, Any]:
    """Pieces of an array of bytes, one behind the other, and where each begins."""
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(ends - starts, out=offsets[1:])
    pieces = np.empty(offsets[-1], np.uint8)
    _gather(data, starts, offsets, pieces)
    return pieces, offsets


@njit(cache=True, nogil=True)
def _gather(data: Any, starts: Any, offsets: Any, pieces: Any) -> None:
    for index in range(len(starts)):
        start = starts[index]
        first = offsets[index]
        for place in range(offsets[index + 1] - first):
            pieces[first + place] = data[start + place]


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
    data = np.zeros(_SMALLEST, np.uint8)
    find(data, np.array([_SMALLEST]))
    gather(data, np.array([0]), np.array([1]))
    number(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
