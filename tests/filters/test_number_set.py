"""Sets of numbers: bounds open and closed, and exact comparison of int and float."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import numbers
from sapwood.filters import cuts, number_set
from sapwood.filters.number_set import ALL_NUMBERS, NO_NUMBERS, NumberCuts

Number = int | float


def has(tested: NumberCuts, value: Number) -> bool:
    return cuts.contains(tested, (value, 0))


@given(numbers, numbers)
def test_bounds(bound: Number, value: Number) -> None:
    exact_bound, exact = Fraction(bound), Fraction(value)
    assert has(number_set.exactly(bound), value) is (exact == exact_bound)
    assert has(number_set.below(bound), value) is (exact < exact_bound)
    assert has(number_set.below(bound, inclusive=True), value) is (exact <= exact_bound)
    assert has(number_set.above(bound), value) is (exact > exact_bound)
    assert has(number_set.above(bound, inclusive=True), value) is (exact >= exact_bound)


@given(numbers, numbers, st.booleans(), st.booleans(), numbers)
def test_interval(
    low: Number, high: Number, low_open: bool, high_open: bool, value: Number
) -> None:
    tested = number_set.interval(low, high, low_open, high_open)
    above = Fraction(value) > Fraction(low) or (value == low and not low_open)
    below = Fraction(value) < Fraction(high) or (value == high and not high_open)
    assert has(tested, value) is (above and below)
    assert has(number_set.complement(tested), value) is not has(tested, value)


def test_forms() -> None:
    assert number_set.above(1) == ((1, 1),)
    assert number_set.exactly(1) == ((1, 0), (1, 1))
    assert number_set.LOWEST[0] == -math.inf
    assert number_set.complement(NO_NUMBERS) == ALL_NUMBERS
    assert number_set.interval(2, 1) == NO_NUMBERS == number_set.interval(1, 1, low_open=True)
    assert number_set.complement(ALL_NUMBERS) == NO_NUMBERS
    assert number_set.interval(1, 2, low_open=True, high_open=True) == ((1, 1), (2, 0))
