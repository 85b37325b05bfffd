"""Parquet's hybrid of runs and packed bits, for places in a dictionary and for what is null.

The encoding is a sequence of pieces, each either a run (how often, and the value) or values packed
one behind the other. Any choice of pieces may be read; a good one is short. Here it is all runs or
all packed, whichever is shorter: columns of a trace either hardly change or always do.

See `RLE` in https://github.com/apache/parquet-format/blob/master/Encodings.md.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.trace.thrift import varint

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
    total = int(counts.sum())
    size = -(-width // 8)
    if len(values) * (2 + size) < total * width / 8:
        return _as_runs(values, counts, size)
    return _packed(np.repeat(values, counts), width)


def _as_runs(values: Any, counts: Any, size: int) -> bytes:
    """Each run as twice its count, seven bits a byte, and its value."""
    table = np.zeros((len(values), _VARINT_BYTES + size), np.uint8)
    is_used = np.zeros(table.shape, bool)
    rest = counts.astype(np.int64) << 1
    is_used[:, 0] = True
    for column in range(_VARINT_BYTES):
        goes_on = rest > 0x7F
        table[:, column] = rest & 0x7F | goes_on << 7
        if column + 1 < _VARINT_BYTES:
            is_used[:, column + 1] = goes_on
        rest >>= 7
        rest *= goes_on
    for index in range(size):
        table[:, _VARINT_BYTES + index] = values >> 8 * index & 0xFF
        is_used[:, _VARINT_BYTES + index] = True
    return table[is_used].tobytes()


def _packed(values: Any, width: int) -> bytes:
    """All values as one piece; what the last group lacks is zero."""
    groups = -(-len(values) // _GROUP)
    if width == 1:
        packed = np.packbits(values.astype(bool), bitorder="little").tobytes()
    else:
        packed = values.astype(_PACKED_TYPES[width]).tobytes()
    begin = varint(groups << 1 | 1)
    return begin + packed.ljust(groups * width, b"\x00")
