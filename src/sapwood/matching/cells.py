"""Cells of ordered domains: coarse positions of numbers and texts.

The bounds of an attribute's cells are chosen among the ends that its range predicates name, all of
them or evenly by rank. ``cell(v)`` counts the bounds at or below v, so it never decreases with v.
Numbers are placed by their nearest float, which keeps the order; texts by their first eight bytes,
and where those tie by the rest.

A block of slots belongs to the cells of an attribute: with C bounds, slot ``block + k`` is for the
events whose cell is below k, for k = 0 … C + 1. A range over the cells from l up to and without h
is ``table[block + h] & ~table[block + l]``; where it begins or ends within a cell these are
candidates, and ``table[block + h - 1] & ~table[block + l + 1]`` are sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.compiling import part
from sapwood.compiled.raw import byte_at, float_at, long_at, set_word, word_at
from sapwood.matching.exact import compare_text
from sapwood.matching.layout import TEXT_BOUNDS, TEXT_KEYS, TEXTS

NUMBER_CELLS_MAX = 1024
TEXT_CELLS_MAX = 8192
"""Bounds per attribute at most. More make searches sharper and every chunk dearer. Texts have more
because prefixes repeat: with all ends among the bounds nothing is left to decide by value."""


@part
def number_cell(bounds: Any, first: Any, count: Any, value: Any) -> Any:
    """How many of the bounds are at or below a number."""
    low = first
    while count > 0:
        half = (count + 1) >> 1
        low += half if float_at(bounds, low + half - 1) <= value else 0
        count -= half
    return low - first


@part
def text_key(address: Any, length: Any) -> Any:
    """The first eight bytes as a big-endian number: orders texts that differ in them."""
    key = np.uint64(0)
    for at in range(8):
        key <<= np.uint64(8)
        if at < length:
            key |= np.uint64(byte_at(address, at))
    return key


@part
def text_cell(memory: Any, first: Any, count: Any, address: Any, length: Any) -> Any:
    """How many of an attribute's bounds are at or below a text."""
    keys, bounds = long_at(memory, TEXT_KEYS), long_at(memory, TEXT_BOUNDS)
    key = text_key(address, length)
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        other = word_at(keys, middle)
        if key == other:
            bound = long_at(memory, TEXTS) + long_at(bounds, 2 * middle)
            below = compare_text(address, length, bound, long_at(bounds, 2 * middle + 1)) < 0
        else:
            below = key < other
        if below:
            high = middle
        else:
            low = middle + 1
    return low - first


@part
def accumulate(lanes: Any, table: Any, block: Any, count: Any) -> None:
    """Turn the marks of single cells in a block into cumulative masks."""
    width = len(lanes)
    for lane in range(width):
        word = np.uint64(0)
        for slot in range(block + 1, block + count + 2):
            word |= word_at(table, slot * width + lane)
            set_word(table, slot * width + lane, word)


def evenly(ends: NDArray[Any], most: int) -> NDArray[Any]:
    """Bounds for sorted ends: all distinct ones, or at most that many evenly by rank."""
    distinct = np.unique(ends)
    if len(distinct) <= most:
        return distinct
    return np.unique(ends[np.linspace(0, len(ends) - 1, most).astype(np.int64)])
