"""Where the publisher ends in the head of a notification, without decoding it.

Heads repeat, and so do their publishers: what is known of them is kept by these raw bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from sapwood.wire.markers import SHORT_TEXT, SHORT_TEXT_END

PAIR_AND_SHORT_TEXT: Final = 2 - SHORT_TEXT
PAIR_AND_TEXT_8: Final = 3

START: Final = struct.Struct("<BIHxBB")
"""The header of a frame (``sapwood.wire.frames``), and the first bytes of the publisher in its
head: the marker, which has the length of a short text in it, and the length of a longer one."""

PUBLISHER_BYTES_MAX: Final = 255
"""Longest name of a publisher: its length fits into one byte."""


def publisher_end(data: bytes, head_at: int) -> int:
    """Where, in a head that begins at a place, the publisher ends and the attributes begin.

    A head is a pair of a text and a map (``sapwood.wire.frames``); a text has its length in its
    first byte if it is short, else in the second. For anything else the answer is meaningless,
    but harmless: nothing that begins so is ever remembered. There must be three bytes to look at.
    """
    marker = data[head_at + 1]
    if marker < SHORT_TEXT_END:
        return head_at + marker + PAIR_AND_SHORT_TEXT
    return head_at + data[head_at + 2] + PAIR_AND_TEXT_8
