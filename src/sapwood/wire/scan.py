"""What of a read can be handed on: where its last whole frame ends, and how many frames count.

A stream is read in pieces that end anywhere. Both ends of a stream count its frames, except those
that only the two ends of a connection exchange (type ``LINK``), so that after a broken connection
they know what was still under way.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple, TypeAlias

from sapwood.errors import FrameError
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    HEADER_SIZE,
    LINK,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    walk,
)

_unpack = HEADER.unpack_from


class Scan(NamedTuple):
    """What was found in a read."""

    end: int
    """How many bytes from the beginning are whole frames; the rest is still to come."""
    frames: int
    """How many of the whole frames count: all but those between the ends of a connection."""
    has_link: bool
    """Whether there are any of those."""
    control_bytes: int = 0
    """How many bytes of those that count are control messages, which need no credit."""


LONG_READ_BYTES = 2048
"""Length of a read from which on compiled code pays: some sixteen frames."""

ScanLong: TypeAlias = Callable[[bytes], Scan | None]
"""Scans a long read; None if something in it is wrong."""

_scan_long: ScanLong | None = None


def use_for_long_reads(scan_long: ScanLong | None) -> None:
    """From now on let something quicker look through long reads.

    Compiled code is not for everyone: a client that reads little would wait for it to load.
    """
    global _scan_long  # noqa: PLW0603 - whoever reads asks the same function
    _scan_long = scan_long


def only_kind(data: bytes) -> int:
    """The type of the frame that a read consists of, as most short ones do.

    -1 if it is anything else than one whole frame, or one that `scan` would refuse.
    """
    if len(data) < HEADER_SIZE:
        return -1
    kind: int
    kind, body, head = _unpack(data)
    if HEADER_SIZE + head + body != len(data) or body > BODY_BYTES_MAX:
        return -1
    return -1 if body < ENVELOPE_SIZE and kind in NOTIFICATION_TYPES else kind


def scan(data: bytes) -> Scan:
    """Look through the frames of a read.

    A body that is too long, or too short for a notification, is a FrameError as soon as its
    header is there: nobody waits for bytes that would be refused.
    """
    if _scan_long is not None and len(data) >= LONG_READ_BYTES:
        found = _scan_long(data)
        if found is not None:
            return found
    # A loop of its own: all that a client reads comes by here, and over `walk` it takes a third
    # longer.
    at, end, count, links, control = 0, len(data), 0, 0, 0
    while at + HEADER_SIZE <= end:
        kind, body, head = _unpack(data, at)
        if body > BODY_BYTES_MAX:
            raise FrameError(f"a frame's body has {body} bytes; at most {BODY_BYTES_MAX} are taken")
        if body < ENVELOPE_SIZE and kind in NOTIFICATION_TYPES:
            raise FrameError(
                f"a notification's body has {body} bytes; it has at least {ENVELOPE_SIZE}"
            )
        following = at + HEADER_SIZE + head + body
        if following > end:
            break
        if kind == NOTIFICATION:
            count += 1
        elif kind == LINK:
            links += 1
        else:
            count += 1
            if kind == CONTROL:
                control += following - at
        at = following
    return Scan(at, count, links > 0, control)


def size_of_next(data: bytes) -> int:
    """How many bytes the first frame takes, or its header if that is not whole yet."""
    if len(data) < HEADER_SIZE:
        return HEADER_SIZE
    _, body, head = _unpack(data)
    size: int = HEADER_SIZE + head + body
    return size


def skip(data: bytes, count: int) -> bytes:
    """A run of whole frames without its first few."""
    at = 0
    for _, _, _, _, end in islice(walk(data), count):
        at = end
    return data[at:]
