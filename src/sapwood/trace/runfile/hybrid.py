"""Parquet's hybrid of runs and packed bits, for places in a dictionary and for what is null.

The encoding is a sequence of pieces, each either a run (how often, and the value) or values packed
one behind the other. Any choice of pieces may be read; a good one is short. Here it is all runs or
all packed, whichever is shorter: columns of a trace either hardly change or always do.

See `RLE` in https://github.com/apache/parquet-format/blob/master/Encodings.md.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.compiled.compiling import nogil_kernel
from sapwood.trace.runfile.thrift import varint

_GROUP: Final = 8
"""Values are packed so many at a time."""

_VARINT_BYTES: Final = 5
"""What a count takes at most."""

_PACKED_TYPES: Final = {8: "<u1", 16: "<u2", 32: "<u4"}


def width_for(count: int) -> int:
    """How many bits a place among so many takes: whole bytes, so that packing is copying.

    The bits that are too many are the same everywhere, and compressing removes them.
    """
    return 8 if count <= 1 << 8 else 16 if count <= 1 << 16 else 32


def encoded(values: Any, counts: Any, width: int) -> bytes:
    """Runs of values of so many bits: 1, or what `width_for` gives."""
    size = -(-width // 8)
    target = np.empty(len(values) * (_VARINT_BYTES + size), np.uint8)
    used = _as_runs(
        values.astype(np.int64, copy=False), counts.astype(np.int64, copy=False), size, target
    )
    if used * 8 > int(counts.sum()) * width:
        return _packed(np.repeat(values, counts), width)
    return target[:used].tobytes()


@nogil_kernel
def _as_runs(values: Any, counts: Any, size: Any, target: Any) -> Any:
    """Each run as twice its count, seven bits a byte, and its value; how many bytes that are.

    Neighbours with the same value are one run.
    """
    at, index = 0, 0
    while index < len(values):
        value, rest = values[index], np.int64(0)
        while index < len(values) and values[index] == value:
            rest += counts[index] << 1
            index += 1
        while rest > 0x7F:
            target[at] = rest & 0x7F | 0x80
            rest >>= 7
            at += 1
        target[at] = rest
        at += 1
        for byte in range(size):
            target[at] = value >> 8 * byte & 0xFF
            at += 1
    return at


def _packed(values: Any, width: int) -> bytes:
    """All values as one piece; what the last group lacks is zero."""
    groups = -(-len(values) // _GROUP)
    if width == 1:
        packed = np.packbits(values.astype(bool), bitorder="little").tobytes()
    else:
        packed = values.astype(_PACKED_TYPES[width]).tobytes()
    begin = varint(groups << 1 | 1)
    return begin + packed.ljust(groups * width, b"\x00")
