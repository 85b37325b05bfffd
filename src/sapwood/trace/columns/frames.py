"""Take runs of frames apart in compiled code, while the event loop goes on.

A trace needs of every notification its publisher, its sequence number and its size, and of those
that clients publish the attributes. At millions of notifications a second that cannot be done
frame by frame in Python: the interpreter is the event loop's. These functions work on whole
batches, read the bytes where they are, and do not hold the interpreter.

Who publishes much publishes notifications that are alike and count up by one. Such neighbours are
one *span*: to see that a frame continues the last one takes a comparison of its header and head,
and of nothing else. Publishers and attributes repeat beyond that, so each gets a number when it
is first seen (`ByteTable`), and only then somebody in Python has to look at it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from sapwood.compiled import table
from sapwood.compiled.compiling import nogil_kernel, part
from sapwood.compiled.raw import is_equal, long_at
from sapwood.compiled.table import ByteTable, intern
from sapwood.wire.frames import ENVELOPE_SIZE, HEAD_BYTES_MAX, HEADER_SIZE, NOTIFICATION
from sapwood.wire.raw_frames import WITHOUT_FLAGS, header_at, publisher_in

SPAN_COLUMNS: Final = 7
RUN, PUBLISHER, ATTRIBUTES, SEQUENCE, SIZE, COUNT, ORDER = range(SPAN_COLUMNS)
"""Columns of spans: in which run; the numbers of publisher and attributes, -1 for none; the first
sequence number, which the others count up from; bytes of each frame; how many frames; and room for
the order of a client, 0 so far."""

_SEQUENCE_MAX: Final = 2**63 - 1

_FIRST_SPANS: Final = 1024
_RUN_COLUMNS: Final = 5

# What the kernel has done so far, so that it can go on when there is more room.
_PROGRESS_COLUMNS: Final = 4
_AT_RUN, _AT_BYTE, _AT_FRAME, _SPANS = range(_PROGRESS_COLUMNS)


class Frames(msgspec.Struct, frozen=True, gc=False):
    """Consecutive frames of a run: of all its whole frames, those from one number up to another."""

    data: bytes
    first: int = 0
    end: int = 1 << 62


def _grown(array: Any, used: int, size: int) -> Any:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def find(runs: Any, publishers: ByteTable, attributes: ByteTable) -> Any:
    """The spans of notifications in runs of frames: an array, a row for each span.

    Each run is a row that begins with the address of its bytes, how many there are, the first frame
    and the end, and whether the attributes matter; whoever calls keeps the bytes alive. Control
    messages are passed over, and so is what no broker takes for a
    notification: a head of another form, or a sequence number that is none. A run without any
    bytes stands for something that is no notification: it has a span of its own, of one, with
    nothing in it.
    """
    progress = np.zeros(_PROGRESS_COLUMNS, np.int64)
    spans = np.empty((_FIRST_SPANS, SPAN_COLUMNS), np.int64)
    while not _find(runs, spans, progress, publishers.address, attributes.address):
        publishers.make_room(HEAD_BYTES_MAX)
        attributes.make_room(HEAD_BYTES_MAX)
        if progress[_SPANS] == len(spans):
            spans = _grown(spans, len(spans), 2 * len(spans))
    return spans[: progress[_SPANS]]


@nogil_kernel
def _find(runs: Any, spans: Any, progress: Any, publishers: Any, heads: Any) -> Any:
    """Go on from where it was; whether it came to the end, or else needs more room."""
    at, number, count = progress[_AT_BYTE], progress[_AT_FRAME], progress[_SPANS]
    for run in range(progress[_AT_RUN], len(runs)):
        data, end, first, stop, is_wanted = runs[run, :_RUN_COLUMNS]
        if end == 0:
            if count == len(spans):
                _save(progress, run, 0, 0, count)
                return False
            _put(spans, count, run, -1, -1, 0, 0)
            spans[count, COUNT] = 1
            count += 1
        while number < stop and at + HEADER_SIZE <= end:
            frame = data + at
            kind, head_length, body_length = header_at(frame)
            size = HEADER_SIZE + head_length + body_length
            if at + size > end:
                break
            head = frame + HEADER_SIZE
            text_at, text_end = np.int64(0), np.int64(0)
            if number >= first:
                text_at, text_end = _publisher(kind, head, head_length, body_length)
            if text_end:
                publisher = intern(publishers, head + text_at, text_end - text_at)
                attributes, compared = np.int64(-1), text_end
                if is_wanted:
                    attributes = intern(heads, head + text_end, head_length - text_end)
                    compared = head_length
                if count == len(spans) or publisher < 0 or (is_wanted and attributes < 0):
                    _save(progress, run, at, number, count)
                    return False
                sequence = long_at(head + head_length, 0)
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
    _save(progress, len(runs), 0, 0, count)
    return True


@part
def _following(frame: Any, size: Any, sequence: Any, compared: Any, at_most: Any) -> Any:
    """How many frames behind one continue it.

    They have the same header and so many bytes of head in common, and the sequence counts up.
    """
    count = np.int64(0)
    _, head_length, _ = header_at(frame)
    sequence_at = HEADER_SIZE + head_length
    header, head = long_at(frame, 0), frame + HEADER_SIZE
    while count < at_most and sequence < _SEQUENCE_MAX:
        frame += size
        sequence += 1
        if (
            long_at(frame, 0) != header
            or long_at(frame + sequence_at, 0) != sequence
            or not is_equal(frame + HEADER_SIZE, head, compared)
        ):
            break
        count += 1
    return count


@part
def _save(progress: Any, run: Any, at: Any, number: Any, count: Any) -> None:
    progress[_AT_RUN], progress[_AT_BYTE], progress[_AT_FRAME] = run, at, number
    progress[_SPANS] = count


@part
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


@part
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


@part
def _publisher(kind: Any, head: Any, head_length: Any, body_length: Any) -> Any:
    """Where in a head the publisher of a notification begins and ends; 0 and 0 if it is none."""
    if (
        kind & WITHOUT_FLAGS != NOTIFICATION
        or body_length < ENVELOPE_SIZE
        or long_at(head + head_length, 0) <= 0
    ):
        return np.int64(0), np.int64(0)
    return publisher_in(head, head_length)


def warm() -> None:
    """Compile, or load what was compiled before, so that the first rows do not wait for it."""
    table.warm()
    find(np.zeros((1, _RUN_COLUMNS), np.int64), ByteTable(), ByteTable())
