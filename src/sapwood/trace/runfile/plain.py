"""Texts and numbers as Parquet writes them plainly: dictionaries, and bounds of columns."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from sapwood.compiled.compiling import nogil_kernel
from sapwood.trace.files import arrow

_LENGTH_BYTES: Final = 4
_MANY: Final = 64
"""Texts from which on the detour over compiled code is the shorter way."""


def texts(values: Sequence[str]) -> bytes:
    """Texts one behind the other, each behind its length in bytes."""
    if len(values) < _MANY:
        encoded = [value.encode() for value in values]
        sizes = [len(value).to_bytes(_LENGTH_BYTES, "little") for value in encoded]
        return b"".join([part for both in zip(sizes, encoded, strict=True) for part in both])
    pyarrow, _ = arrow.modules()
    _, ends, data = pyarrow.array(values, pyarrow.large_string()).buffers()
    ends = np.frombuffer(ends, np.int64)[: len(values) + 1]
    data = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    target = np.empty(len(values) * _LENGTH_BYTES + int(ends[-1]), np.uint8)
    _lay_out(ends, data, target)
    return target.tobytes()


def numbers(values: Any) -> bytes:
    """Numbers one behind the other, integers or not, each of eight bytes."""
    return bytes(values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes())


def bound(value: int | float, *, is_least: bool) -> bytes:
    """The least or largest of a column of numbers.

    A zero is said to have the sign that keeps both zeros within the bounds.
    """
    if isinstance(value, float):
        return struct.pack("<d", value or (-0.0 if is_least else 0.0))
    return struct.pack("<q", value)


def warm() -> None:
    """Compile, or load what was compiled before, so that nobody waits for it later."""
    texts(["text"] * _MANY)


@nogil_kernel
def _lay_out(ends: Any, data: Any, target: Any) -> None:
    at = 0
    for index in range(len(ends) - 1):
        begin, end = ends[index], ends[index + 1]
        for byte in range(_LENGTH_BYTES):
            target[at] = (end - begin) >> 8 * byte & 0xFF
            at += 1
        for source in range(begin, end):
            target[at] = data[source]
            at += 1
