"""Where the ends of a range lie among the cells of its attribute.

An end is a position p: the range begins or ends just before it. For numbers *just after v* is just
before the next float, which is exact as long as integers are floats exactly, below 2**53; beyond,
the cell of the nearest float holds the end, and both sides of it. Where p is a bound of the cells,
the range ends between two cells and nothing is left to decide by value.

The results are pairs: a cell (the first of the range, or the one behind its last), and whether the
range ends right there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import part
from sapwood.compiled.raw import float_at, long_at
from sapwood.matching.cells import number_cell, text_cell
from sapwood.matching.exact import INTEGER, as_float, compare_text
from sapwood.matching.layout import (
    HIGH_KIND,
    HIGH_SIDE,
    LOW_SIDE,
    NUMBER_BOUNDS,
    NUMBER_CELLS,
    NUMBER_FIRST,
    TEXT_BOUNDS,
    TEXT_CELLS,
    TEXT_FIRST,
    TEXTS,
)

EXACT_MAX = 2.0**53
"""Below this, every integer is a float."""


@part
def _number_position(kind: Any, bits: Any, side: Any) -> Any:
    real = np.float64(bits) if kind == INTEGER else as_float(bits)
    return np.nextafter(real, np.inf) if side and abs(real) < EXACT_MAX else real


@part
def _number_cell_at(memory: Any, attribute: Any, position: Any) -> Any:
    """The cell that holds a position, and whether it begins there."""
    first, count = long_at(attribute, NUMBER_FIRST), long_at(attribute, NUMBER_CELLS)
    bounds = long_at(memory, NUMBER_BOUNDS)
    cell = number_cell(bounds, first, count, position)
    if cell == 0 or abs(position) >= EXACT_MAX:
        return cell, False
    return cell, float_at(bounds, first + cell - 1) == position


@part
def low_number_cell(memory: Any, attribute: Any, ends: Any) -> Any:
    """Where a range of numbers begins."""
    flags = long_at(ends, 1)
    if flags & 7 == 0:
        return 0, True
    position = _number_position(flags & 7, long_at(ends, 2), (flags >> LOW_SIDE) & 1)
    return _number_cell_at(memory, attribute, position)


@part
def high_number_cell(memory: Any, attribute: Any, ends: Any) -> Any:
    """Behind which cell a range of numbers ends."""
    flags = long_at(ends, 1)
    kind = (flags >> HIGH_KIND) & 7
    if kind == 0:
        return long_at(attribute, NUMBER_CELLS) + 1, True
    position = _number_position(kind, long_at(ends, 3), (flags >> HIGH_SIDE) & 1)
    cell, is_exact = _number_cell_at(memory, attribute, position)
    return (cell, True) if is_exact else (cell + 1, False)


@part
def _text_cell_at(memory: Any, attribute: Any, offset: Any, length: Any) -> Any:
    """The cell that holds the position just before a text, and whether it begins there."""
    first, count = long_at(attribute, TEXT_FIRST), long_at(attribute, TEXT_CELLS)
    texts = long_at(memory, TEXTS)
    cell = text_cell(memory, first, count, texts + offset, length)
    if cell == 0:
        return cell, False
    bound = long_at(memory, TEXT_BOUNDS) + 16 * (first + cell - 1)
    other, other_length = texts + long_at(bound, 0), long_at(bound, 1)
    return cell, compare_text(texts + offset, length, other, other_length) == 0


@part
def low_text_cell(memory: Any, attribute: Any, ends: Any) -> Any:
    """Where a range of texts begins."""
    if long_at(ends, 2) == 0:
        return 0, True
    return _text_cell_at(memory, attribute, long_at(ends, 1), long_at(ends, 2))


@part
def high_text_cell(memory: Any, attribute: Any, ends: Any) -> Any:
    """Behind which cell a range of texts ends."""
    if long_at(ends, 4) < 0:
        return long_at(attribute, TEXT_CELLS) + 1, True
    cell, is_exact = _text_cell_at(memory, attribute, long_at(ends, 3), long_at(ends, 4))
    return (cell, True) if is_exact else (cell + 1, False)
