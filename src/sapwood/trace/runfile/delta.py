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

from sapwood.compiled.compiling import nogil_kernel, part

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
    firsts, counts = firsts.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)
    size = _encode(firsts, counts, slope, target, np.empty(_BLOCK, np.int64))
    return target[:size].tobytes()


@nogil_kernel
def _encode(firsts: Any, counts: Any, slope: Any, target: Any, differences: Any) -> Any:
    """Fill the target; how many bytes that are. There is room for the differences of a block."""
    total = np.int64(0)
    for count in counts:
        total += count
    at = _put_varint(target, 0, np.uint64(_BLOCK))
    at = _put_varint(target, at, np.uint64(_MINIBLOCKS))
    at = _put_varint(target, at, np.uint64(total))
    at = _put_varint(target, at, _zigzag(firsts[0] if total else np.int64(0)))
    rest = total - 1
    if rest <= 0:
        return at
    number, left, run = firsts[0], counts[0] - 1, 1  # left in its run, and the next one
    while rest > 0:
        size = min(rest, np.int64(_BLOCK))
        while left < size and run < len(firsts) and firsts[run] == number + slope * (left + 1):
            left += counts[run]
            run += 1
        if left >= size:
            number += slope * size
            left -= size
            at = _put_varint(target, at, _zigzag(slope))
            for _ in range(_MINIBLOCKS):
                target[at] = 0
                at += 1
        else:
            block = differences[:size]
            number, left, run = _fill(block, firsts, counts, slope, number, left, run)
            at = _put_block(target, at, block)
        rest -= size
    return at


@part
def _fill(
    block: Any, firsts: Any, counts: Any, slope: Any, number: Any, left: Any, run: Any
) -> Any:
    """The next differences behind a number; and the last number, what is left, and the next run."""
    for index in range(len(block)):
        if left:
            block[index] = slope
            number += slope
            left -= 1
        else:
            block[index] = firsts[run] - number
            number, left = firsts[run], counts[run] - 1
            run += 1
    return number, left, run


@part
def _put_block(target: Any, at: Any, differences: Any) -> Any:
    """Write differences, and where the next ones go."""
    least = differences[0]
    for difference in differences:
        least = min(least, difference)
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
            _pack(target, at, differences[begin:end], least, width)
            at += width * _MINIBLOCK // 8
    return at


@part
def _pack(target: Any, at: Any, differences: Any, least: Any, width: Any) -> None:
    """Write what differences are above the least, so many bits each, and zeros to the end."""
    word, used = np.uint64(0), 0
    for index in range(_MINIBLOCK):
        above = np.uint64(0)
        if index < len(differences):
            above = np.uint64(differences[index]) - np.uint64(least)
        word |= above << np.uint64(used)
        used += width
        if used >= _WORD_BITS:
            _put_bytes(target, at, word, 8)
            at += 8
            used -= _WORD_BITS
            word = above >> np.uint64(width - used) if used else np.uint64(0)
    _put_bytes(target, at, word, used // 8)


@part
def _put_bytes(target: Any, at: Any, word: Any, count: Any) -> None:
    for index in range(count):
        target[at + index] = np.uint8(word >> np.uint64(8 * index) & np.uint64(0xFF))


@part
def _zigzag(number: Any) -> Any:
    """A number of either sign as one that is small if it is near zero."""
    return np.uint64(number << 1) ^ np.uint64(number >> 63)


@part
def _put_varint(target: Any, at: Any, value: Any) -> Any:
    """Write a number seven bits a byte, and where the next thing goes."""
    while value > np.uint64(0x7F):
        target[at] = np.uint8(value & np.uint64(0x7F) | np.uint64(0x80))
        value >>= np.uint64(7)
        at += 1
    target[at] = np.uint8(value)
    return at + 1
