"""Comparisons in compiled code say what Python and the filter algebra say."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import like_patterns, texts
from matching.drawing import ALL_NUMBERS, ALL_TEXTS, MAKERS, expression_filter, randoms, value
from sapwood.errors import PatternError
from sapwood.filters import Constraint, Value
from sapwood.filters.pattern import parse_like
from sapwood.matching.exact import (
    FALSE,
    MISSING,
    TEXT,
    TRUE,
    compare_integer_float,
    compare_numbers,
    compare_text,
    holds,
    is_after_cut,
    is_like,
)
from sapwood.matching.layout import CODE, TEXTS, Memory
from sapwood.matching.stores import ProgramStore, TextStore, number_bits, pattern_symbols

numbers = st.one_of(
    st.sampled_from(ALL_NUMBERS),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-(2**53) - 3, -(2**53) + 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**63 - 1).map(float),
)
any_texts = st.one_of(texts, st.text("ab\0é\ud7ff\ue000\U0010ffff", max_size=6))


def compared(left: float | str, right: float | str) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]


@given(numbers, numbers)
def test_numbers_compare_as_in_python(left: int | float, right: int | float) -> None:
    assert compare_numbers(*number_bits(left), *number_bits(right)) == compared(left, right)


@given(numbers.filter(lambda number: isinstance(number, int)), numbers.map(float))
def test_an_integer_is_not_rounded_to_compare_with_a_float(integer: int, real: float) -> None:
    assert compare_integer_float(integer, real) == compared(integer, real)


def test_numbers_that_look_alike_as_floats() -> None:
    edge = 2**53
    assert compare_integer_float(edge, float(edge)) == 0
    assert compare_integer_float(edge + 1, float(edge)) == 1
    assert compare_integer_float(-edge - 1, float(-edge)) == -1
    assert compare_integer_float(2**63 - 1, 2.0**63) == -1
    assert compare_integer_float(-(2**63), -(2.0**63)) == 0
    assert compare_integer_float(-(2**63), -1e300) == 1
    assert compare_integer_float(0, -0.0) == 0
    assert compare_integer_float(0, 5e-324) == -1
    assert compare_integer_float(-1, -1.5) == 1


@given(numbers, numbers, st.sampled_from([0, 1]))
def test_a_cut_lies_just_before_or_just_after_its_value(
    number: int | float, cut: int | float, side: int
) -> None:
    expected = number > cut if side else number >= cut
    assert bool(is_after_cut(*number_bits(number), *number_bits(cut), side)) == expected


class Texts:
    """Texts in memory; keeps them there."""

    def __init__(self) -> None:
        self.kept: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []

    def place(self, text: str) -> tuple[int, int]:
        data = np.frombuffer(text.encode() + b"\xff", np.uint8)
        self.kept.append(data)
        return data.ctypes.data, len(data) - 1


@given(any_texts, any_texts)
def test_texts_compare_by_code_point(left: str, right: str) -> None:
    memory = Texts()
    assert compare_text(*memory.place(left), *memory.place(right)) == compared(left, right)


@given(st.one_of(like_patterns, st.text("%_ab", max_size=7)), any_texts)
def test_like_is_what_patterns_say(pattern: str, text: str) -> None:
    try:
        like = parse_like(pattern, "!")
    except PatternError:
        return
    symbols, memory = np.array([*pattern_symbols(like), -1], np.int64), Texts()
    found = is_like(symbols.ctypes.data, 0, len(symbols) - 1, *memory.place(text))
    assert bool(found) == like.matches(text)


def test_like_takes_its_time_within_bounds() -> None:
    """Many wildcards in a row do not multiply the work."""
    like = parse_like("%a" * 200 + "b")
    symbols = np.array(pattern_symbols(like), np.int64)
    memory = Texts()
    assert not is_like(symbols.ctypes.data, 0, len(symbols), *memory.place("a" * 20_000))
    assert is_like(symbols.ctypes.data, 0, len(symbols), *memory.place("a" * 20_000 + "b"))


class Evaluator:
    """A constraint compiled, beside others."""

    def __init__(self, constraint: Constraint) -> None:
        self.memory = Memory()
        texts = TextStore(self.memory)
        programs = ProgramStore(self.memory, texts)
        programs.add(Constraint(missing=True))
        self.at = programs.add(constraint)
        programs.add(Constraint())
        texts.flush()

    def holds(self, value: Value | None) -> bool:
        memory = Texts()
        if value is None or isinstance(value, bool):
            kind = MISSING if value is None else TRUE if value else FALSE
            bits = length = 0
        elif isinstance(value, str):
            kind, (bits, length) = TEXT, memory.place(value)
        else:
            (kind, bits), length = number_bits(value), 0
        code, stored = self.memory.addresses[CODE], self.memory.addresses[TEXTS]
        return bool(holds(int(code), self.at, int(stored), kind, bits, length))


@pytest.mark.slow
@given(randoms)
def test_a_compiled_constraint_allows_what_the_constraint_allows(random: Random) -> None:
    constraints = [make(random) for make in random.sample(MAKERS, 7)]
    for _ in range(2):
        filter_ = expression_filter(random.randrange(3000))
        constraints += [constraint for box in filter_.boxes for _, constraint in box]
    for constraint in constraints:
        evaluator = Evaluator(constraint)
        values: list[Value | None] = [None, True, False, random.choice(ALL_TEXTS)]
        for each in values + [value(random) for _ in range(4)]:
            assert evaluator.holds(each) == constraint.matches(each), (constraint, each)
