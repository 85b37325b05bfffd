"""Sets of numbers, as cuts ``(value, side)``: side 0 lies just before the value, 1 just after.

Values are expected to be checked and normalised (`sapwood.filters.values`), so that a set has one
form and one text. Python compares integers and floats exactly, without rounding either, which is
the meaning that filters give to numbers.
"""

from __future__ import annotations

from math import inf
from typing import TypeAlias

from sapwood.filters import cuts
from sapwood.filters.values import Number

NumberCut: TypeAlias = tuple[Number, int]
NumberCuts: TypeAlias = tuple[NumberCut, ...]

LOWEST: NumberCut = (-inf, 0)
"""The cut below all numbers; the only place where an infinity stands."""

NO_NUMBERS: NumberCuts = ()
ALL_NUMBERS: NumberCuts = (LOWEST,)


def exactly(value: Number) -> NumberCuts:
    """The set of one number."""
    return ((value, 0), (value, 1))


def below(value: Number, inclusive: bool = False) -> NumberCuts:
    """The numbers less than `value`, with it if `inclusive`."""
    return (LOWEST, (value, int(inclusive)))


def above(value: Number, inclusive: bool = False) -> NumberCuts:
    """The numbers greater than `value`, with it if `inclusive`."""
    return ((value, int(not inclusive)),)


def interval(
    low: Number, high: Number, low_open: bool = False, high_open: bool = False
) -> NumberCuts:
    """The numbers from `low` to `high`, without an end that is open."""
    enter, leave = (low, int(low_open)), (high, int(not high_open))
    return (enter, leave) if enter < leave else NO_NUMBERS


def complement(numbers: NumberCuts) -> NumberCuts:
    """All other numbers."""
    return cuts.complement(numbers, LOWEST)
