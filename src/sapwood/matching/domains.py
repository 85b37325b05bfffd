"""Choose the cells of an index's ordered domains from the end points of its ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.matching.cells import NUMBER_CELLS_MAX, TEXT_CELLS_MAX, evenly
from sapwood.matching.ends import EXACT_MAX
from sapwood.matching.exact import INTEGER
from sapwood.matching.layout import (
    ATTRIBUTES,
    HIGH_KIND,
    LOW_SIDE,
    NUMBER_BLOCK,
    NUMBER_BOUNDS,
    NUMBER_CELLS,
    NUMBER_FIRST,
    TEXT_BLOCK,
    TEXT_BOUNDS,
    TEXT_CELLS,
    TEXT_FIRST,
    TEXT_KEYS,
    Memory,
)
from sapwood.matching.vocabulary import Vocabulary

_TEXT_SAMPLE = 4 * TEXT_CELLS_MAX
"""End points looked at to choose the cells of a text attribute."""


def choose_cells(
    memory: Memory,
    vocabulary: Vocabulary,
    number_ranges: NDArray[np.int64],
    text_ranges: NDArray[np.int64],
) -> None:
    """Choose the bounds of all attributes anew."""
    vocabulary.close_blocks()
    _choose_number_cells(memory, vocabulary, number_ranges)
    _choose_text_cells(memory, vocabulary, text_ranges)


def _choose_number_cells(memory: Memory, vocabulary: Vocabulary, ranges: NDArray[np.int64]) -> None:
    chosen: list[NDArray[np.float64]] = [np.zeros(0)]
    first = 0
    for number, own in _by_attribute(ranges):
        flags = own[:, 1]
        lows = _positions(flags, own[:, 2])
        highs = _positions(flags >> HIGH_KIND, own[:, 3])
        bounds = evenly(np.sort(np.concatenate([lows, highs])), NUMBER_CELLS_MAX)
        vocabulary.open_block(number, NUMBER_BLOCK, len(bounds))
        memory[ATTRIBUTES][number, [NUMBER_FIRST, NUMBER_CELLS]] = first, len(bounds)
        first += len(bounds)
        chosen.append(bounds)
    memory.replace(NUMBER_BOUNDS, np.concatenate(chosen))


def _choose_text_cells(memory: Memory, vocabulary: Vocabulary, ranges: NDArray[np.int64]) -> None:
    store = vocabulary.texts
    chosen: list[bytes] = []
    for number, own in _by_attribute(ranges):
        spans = np.concatenate([own[:, 1:3], own[own[:, 4] >= 0, 3:5]])
        sample = spans[:: -(-len(spans) // _TEXT_SAMPLE)].tolist()
        ends = np.array(sorted(store.get(offset, length) for offset, length in sample), object)
        bounds = evenly(ends, TEXT_CELLS_MAX).tolist()
        vocabulary.open_block(number, TEXT_BLOCK, len(bounds))
        memory[ATTRIBUTES][number, [TEXT_FIRST, TEXT_CELLS]] = len(chosen), len(bounds)
        chosen += bounds
    keys = [int.from_bytes(text[:8].ljust(8, b"\0"), "big") for text in chosen]
    memory.replace(TEXT_KEYS, np.array(keys, np.uint64))
    memory.replace(TEXT_BOUNDS, [store.add_bytes(text) for text in chosen])
    store.flush()


def _by_attribute(ranges: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    """The ranges of each attribute that has any."""
    if len(ranges) == 0:
        return []
    ordered = ranges[np.argsort(ranges[:, 0], kind="stable")]
    borders = np.flatnonzero(np.diff(ordered[:, 0])) + 1
    return [(int(own[0, 0]), own) for own in np.split(ordered, borders)]


def _positions(flags: NDArray[Any], bits: NDArray[np.int64]) -> NDArray[np.float64]:
    """The ends that exist, as positions among the floats (see ``ends.py``)."""
    kind, side = flags & 7, (flags >> LOW_SIDE) & 1
    real = np.where(kind == INTEGER, bits.astype(np.float64), bits.view(np.float64))
    is_behind = (side == 1) & (np.abs(real) < EXACT_MAX)
    real[is_behind] = np.nextafter(real[is_behind], np.inf)
    positions: NDArray[np.float64] = real[kind != 0]
    return positions
