"""Parquet's packed differences, made from runs of numbers that stay or count up.

Differences come in blocks of 128. Where a run covers a block all of them are the same, and the
block takes five bytes, whatever the numbers: there the work is one step for 128 rows. Elsewhere
each difference is looked at; the least of a block is stated once, and what the others are above
it is packed with as many bits as the largest of 32 needs.

See `DELTA_BINARY_PACKED` in https://github.com/apache/parquet-format/blob/master/Encodings.md.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

_BLOCK: Final = 128
_MINIBLOCKS: Final = 4
_MINIBLOCK: Final = _BLOCK // _MINIBLOCKS
_WORD_BITS: Final = 64

_VARINT_BYTES: Final = 10
_HEADER_BYTES: Final = 4 * _VARINT_BYTES
_BLOCK_BYTES: Final = _VARINT_BYTES + _MINIBLOCKS + 8 * _BLOCK
"""What they take at most."""


def encoded(firsts: Any, counts: Any, slope: int) -> bytes:
    """Runs of whole numbers, each given by its first, by which all others grow, and its length."""
    total = int(counts.sum())
    blocks = -(-(total - 1) // _BLOCK) if total else 0
    target = np.empty(_HEADER_BYTES + blocks * _BLOCK_BYTES, np.uint8)
    size = _encode(
        firsts.astype(np.int64, copy=False), counts.astype(np.int64, copy=False), slope, target
    )
    return target[:size].tobytes()


@njit(cache=True, nogil=True)
def _encode(firsts: Any, counts: Any, slope: Any, target: Any) -> Any:
    """Fill the target; how many bytes that are."""
    total = counts.sum()
    at = _put_varint(target, 0, np.uint64(_BLOCK))
    at = _put_varint(target, at, np.uint64(_MINIBLOCKS))
    at = _put_varint(target, at, np.uint64(total))
    at = _put_varint(target, at, _zigzag(firsts[0] if total else np.int64(0)))
    rest = total - 1
    run, within = 0, np.int64(0)  # of the number before those that are next
    differences = np.empty(_BLOCK, np.int64)
    while rest > 0:
        filled = min(rest, np.int64(_BLOCK))
        if counts[run] - 1 - within >= filled:
            within += filled
            at = _put_varint(target, at, _zigzag(slope))
            for _ in range(_MINIBLOCKS):
                target[at] = 0
                at += 1
        else:
            for index in range(filled):
                within += 1
                differences[index] = slope
                if within == counts[run]:
                    last = firsts[run] + slope * (within - 1)
                    run, within = run + 1, np.int64(0)
                    differences[index] = firsts[run] - last
            at = _put_block(target, at, differences[:filled])
        rest -= filled
    return at


@njit(cache=True, nogil=True)
def _put_block(target: Any, at: Any, differences: Any) -> Any:
    """Write differences, and where the next ones go."""
    least = differences.min()
    at = _put_varint(target, at, _zigzag(least))
    widths_at = at
    at += _MINIBLOCKS
    for number in range(_MINIBLOCKS):
        begin = number * _MINIBLOCK
        end = min(begin + _MINIBLOCK, len(differences))
        every = np.uint64(0)
        for index in range(begin, end):
            every |= np.uint64(differences[index]) - np.uint64(least)
        width = 0
        while width < _WORD_BITS and every >> np.uint64(width):
            width += 1
        target[widths_at + number] = width
        if width:
            for index in range(at, at + width * _MINIBLOCK // 8):
                target[index] = 0
            for index in range(begin, end):
                above = np.uint64(differences[index]) - np.uint64(least)
                _put_bits(target, at, (index - begin) * width, above, width)
            at += width * _MINIBLOCK // 8
    return at


@njit(cache=True, nogil=True)
def _put_bits(target: Any, at: Any, bit: Any, value: Any, width: Any) -> None:
    """Write the bits of a value to where there are zeros, from some bit behind a byte on."""
    at += bit >> 3
    shift = bit & 7
    target[at] |= np.uint8(value << np.uint64(shift) & np.uint64(0xFF))
    done = 8 - shift
    while done < width:
        at += 1
        target[at] |= np.uint8(value >> np.uint64(done) & np.uint64(0xFF))
        done += 8


@njit(cache=True, nogil=True)
def _zigzag(number: Any) -> Any:
    """A number of either sign as one that is small if it is near zero."""
    return np.uint64(number << 1) ^ np.uint64(number >> 63)


@njit(cache=True, nogil=True)
def _put_varint(target: Any, at: Any, value: Any) -> Any:
    """Write a number seven bits a byte, and where the next thing goes."""
    while value > np.uint64(0x7F):
        target[at] = np.uint8(value & np.uint64(0x7F) | np.uint64(0x80))
        value >>= np.uint64(7)
        at += 1
    target[at] = np.uint8(value)
    return at + 1
