"""Frames by address, for compiled code: the same as ``sapwood.wire.frames`` for plain code."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.raw import byte_at, little_endian
from sapwood.wire.frames import EXPIRES, GRAY
from sapwood.wire.markers import PAIR, SHORT_TEXT, SHORT_TEXT_END, TEXT_8

WITHOUT_FLAGS: Final = ~(GRAY | EXPIRES)
"""What is left of the type of a notification is ``NOTIFICATION``."""

_BODY_AT, _BODY_SIZE, _HEAD_AT, _HEAD_SIZE = 1, 4, 5, 2
"""Where a header has the lengths of body and head, and how many bytes those take."""

_HEAD_MIN: Final = 3


@part
def header_at(frame: Any) -> Any:
    """Type, length of head and length of body of the frame at an address."""
    return (
        np.int64(byte_at(frame, 0)),
        little_endian(frame + _HEAD_AT, _HEAD_SIZE),
        little_endian(frame + _BODY_AT, _BODY_SIZE),
    )


@part
def publisher_in(head: Any, length: Any) -> Any:
    """Where in a head the publisher begins and ends; 0 and 0 if it is not where it should be.

    The attributes are behind it, one byte at least. See ``sapwood.protocol.forwarding``, which
    takes no other form.
    """
    if length < _HEAD_MIN or byte_at(head, 0) != PAIR:
        return np.int64(0), np.int64(0)
    marker = np.int64(byte_at(head, 1))
    start = end = np.int64(0)
    if SHORT_TEXT <= marker < SHORT_TEXT_END:
        start = np.int64(2)
        end = start + marker - SHORT_TEXT
    elif marker == TEXT_8:
        start = np.int64(3)
        end = start + np.int64(byte_at(head, 2))
    if end >= length:
        start = end = np.int64(0)
    return start, end
