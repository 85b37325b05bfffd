"""Look through the frames of a long read in compiled code: the same as ``sapwood.wire.scan``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel
from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.compiled.raw import set_long
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    HEADER_SIZE,
    LINK,
    NOTIFICATION,
)
from sapwood.wire.raw_frames import WITHOUT_FLAGS, header_at
from sapwood.wire.scan import Scan

_found = np.zeros(3, np.int64)
_found_at = _found.ctypes.data


@kernel
def _scan(data: Any, end: Any, found: Any) -> Any:
    """Where the last whole frame ends, or -1 for a body of a wrong length; the rest is written."""
    at, frames, links, control = 0, 0, 0, 0
    while at + HEADER_SIZE <= end:
        kind, head, body = header_at(data + at)
        if body > BODY_BYTES_MAX or (kind & WITHOUT_FLAGS == NOTIFICATION and body < ENVELOPE_SIZE):
            return -1
        size = HEADER_SIZE + head + body
        if at + size > end:
            break
        if kind == LINK:
            links += 1
        else:
            frames += 1
            if kind == CONTROL:
                control += size
        at += size
    set_long(found, 0, frames)
    set_long(found, 1, links)
    set_long(found, 2, control)
    return at


def scan_long(data: bytes) -> Scan | None:
    """What was found in a read; None if something in it is wrong."""
    end = _scan(id(data) + BYTES_OFFSET, len(data), _found_at)
    if end < 0:
        return None
    frames, links, control = _found.tolist()
    return Scan(end, frames, links > 0, control)
