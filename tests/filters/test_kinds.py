"""Kinds of conditions: where each is true and where it is false."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filters.oracle import Literal, compare
from filters.strategies import (
    NUMBERS,
    ODD_NUMBERS,
    ODD_TEXTS,
    TEXTS,
    attribute_values,
    literals,
)
from sapwood.errors import FilterTypeError, MixedTypesError, NotFiniteError, UnsupportedTypeError
from sapwood.filters import kinds
from sapwood.filters.constraint import ANYTHING, NOTHING
from sapwood.filters.kinds import KEYWORDS, KINDS, Kind, Shape

values = st.one_of(st.none(), attribute_values)


@pytest.mark.parametrize("operator", ["=", "<>", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str) -> None:
    kind = KINDS[Shape.SYMBOL, operator]
    known: list[Literal] = [*NUMBERS, *ODD_NUMBERS, *TEXTS, *ODD_TEXTS, True, False]
    for literal in known:
        for value in (None, *known):
            expected = compare(value, operator, literal)
            assert kind.true(literal).matches(value) is (expected is True)
            assert kind.false(literal).matches(value) is (expected is False)


@given(st.lists(literals, min_size=1, max_size=4), values)
def test_membership_is_a_disjunction_of_equalities(
    chosen: list[Literal], value: Literal | None
) -> None:
    equalities = [compare(value, "=", literal) for literal in chosen]
    assert kinds.one_of(chosen).matches(value) is (True in equalities)
    assert kinds.none_of(chosen).matches(value) is all(known is False for known in equalities)


@given(st.sampled_from(sorted(KINDS, key=str)), st.data(), values)
def test_nothing_is_both_true_and_false(
    key: tuple[Shape, str], data: st.DataObject, value: Literal | None
) -> None:
    kind = KINDS[key]
    operands = data.draw(operands_of(kind))
    assert not kind.true(*operands).overlaps(kind.false(*operands))
    assert not (kind.true(*operands).matches(value) and kind.false(*operands).matches(value))


def operands_of(kind: Kind) -> st.SearchStrategy[tuple[object, ...]]:
    text = st.text("ab%", max_size=3)
    pairs = [(1, 2), (2, 1), ("a", "b"), (True, False), (0.5, 7)]
    return {
        Shape.SYMBOL: st.tuples(literals),
        Shape.WORD: st.tuples(text),
        Shape.LIKE: st.tuples(text, st.none()),
        Shape.IS: st.just(()),
        Shape.IN: st.tuples(st.lists(literals, min_size=1, max_size=3)),
        Shape.BETWEEN: st.sampled_from(pairs),
    }[kind.shape]


def test_mirrored_operators() -> None:
    for kind in KINDS.values():
        assert (kind.mirrored is not None) is (kind.shape is Shape.SYMBOL)
    assert KINDS[Shape.SYMBOL, "<="].mirrored == ">="


def test_keywords_come_from_the_registry() -> None:
    assert {"and", "between", "like", "contains", "null", "number", "escape"} <= KEYWORDS
    assert "<" not in KEYWORDS


def test_numbers_have_one_form() -> None:
    assert kinds.equal(1.0) == kinds.equal(1)
    assert repr(kinds.equal(1.0)) == repr(kinds.equal(1))
    assert repr(kinds.at_least(-0.0)) == repr(kinds.at_least(0))
    assert repr(kinds.one_of([2, 1.0, 1])) == repr(kinds.one_of([1, 2]))


def test_neighbouring_texts_are_one_range() -> None:
    assert kinds.one_of(["a", "a\0"]) == kinds.between("a", "a\0")
    assert kinds.one_of(["", "\0"]) == kinds.at_most("\0")


def test_open_ends() -> None:
    assert kinds.between(1, 2, low_open=True) == kinds.greater_than(1).intersection(
        kinds.at_most(2)
    )
    assert kinds.between("a", "b", high_open=True) == kinds.prefix("a")
    assert kinds.between(True, True) == NOTHING == kinds.not_between(False, True)
    assert kinds.one_of([]) == NOTHING
    assert kinds.none_of([]) == ANYTHING


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, "a", r"not a number \(1\) and a text \('a'\)"),
        ("a", True, r"not a text \('a'\) and a bool \(True\)"),
        (True, 1, "not a bool"),
    ],
)
def test_between_wants_one_type(low: Literal, high: Literal, message: str) -> None:
    with pytest.raises(MixedTypesError, match=message):
        kinds.between(low, high)


def test_values_are_checked() -> None:
    with pytest.raises(NotFiniteError, match="a value in a filter is nan"):
        kinds.equal(math.nan)
    with pytest.raises(UnsupportedTypeError, match="NoneType"):
        kinds.at_least(None)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedTypeError, match="bytes"):
        kinds.one_of([b"a"])  # type: ignore[list-item]
    with pytest.raises(FilterTypeError, match="several values, not one text"):
        kinds.one_of("abc")
    with pytest.raises(FilterTypeError, match="expected a text, not int"):
        kinds.prefix(5)  # type: ignore[arg-type]
