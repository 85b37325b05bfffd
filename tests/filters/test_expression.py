"""From expressions to boxes: negation, and a bound on the size."""

from __future__ import annotations

import pytest

from sapwood.errors import FilterTooLargeError
from sapwood.filters.box import EVERYTHING
from sapwood.filters.expression import (
    And,
    Condition,
    Constant,
    Expression,
    Not,
    Or,
    boxes_where,
)
from sapwood.filters.kinds import KINDS, Shape, at_most, equal, greater_than, not_equal
from sapwood.filters.limits import Limits

LIMITS = Limits(filter_boxes_max=10)


def more_than(name: str, bound: int) -> Condition:
    return Condition(name, KINDS[Shape.SYMBOL, ">"], (bound,))


def is_one(name: str) -> Condition:
    return Condition(name, KINDS[Shape.SYMBOL, "="], (1,))


def test_constants() -> None:
    assert boxes_where(Constant(True), True, LIMITS) == [EVERYTHING]
    assert boxes_where(Constant(True), False, LIMITS) == []
    assert boxes_where(Constant(False), False, LIMITS) == [EVERYTHING]


def test_negation_asks_for_the_other_set() -> None:
    assert boxes_where(more_than("x", 1), True, LIMITS) == [(("x", greater_than(1)),)]
    assert boxes_where(more_than("x", 1), False, LIMITS) == [(("x", at_most(1)),)]
    assert boxes_where(Not(more_than("x", 1)), True, LIMITS) == [(("x", at_most(1)),)]
    assert boxes_where(Not(Not(is_one("x"))), True, LIMITS) == [(("x", equal(1)),)]


def test_de_morgan() -> None:
    both: Expression = And((is_one("x"), is_one("y")))
    either: Expression = Or((is_one("x"), is_one("y")))
    assert boxes_where(both, True, LIMITS) == [(("x", equal(1)), ("y", equal(1)))]
    assert boxes_where(Not(either), True, LIMITS) == [(("x", not_equal(1)), ("y", not_equal(1)))]
    assert boxes_where(both, False, LIMITS) == [(("x", not_equal(1)),), (("y", not_equal(1)),)]


def test_boxes_unite_on_the_way() -> None:
    many = Or(tuple(more_than("x", bound) for bound in range(100)))
    assert boxes_where(many, True, Limits(filter_boxes_max=5)) == [(("x", greater_than(0)),)]


def test_impossible_combinations_vanish() -> None:
    assert boxes_where(And((more_than("x", 1), Not(more_than("x", 1)))), True, LIMITS) == []


def test_too_many_boxes_are_refused() -> None:
    pairs = tuple(Or((is_one(f"x{n}"), is_one(f"y{n}"))) for n in range(4))
    assert len(boxes_where(And(pairs), True, Limits(filter_boxes_max=16))) == 16
    with pytest.raises(FilterTooLargeError, match="more than 15"):
        boxes_where(And(pairs), True, Limits(filter_boxes_max=15))
    alternatives = Or(tuple(is_one(f"x{n}") for n in range(20)))
    with pytest.raises(FilterTooLargeError, match="more than 10"):
        boxes_where(alternatives, True, Limits(filter_boxes_max=10))


def test_too_many_patterns_are_refused() -> None:
    contains = KINDS[Shape.WORD, "contains"]
    wanted = [Condition("x", contains, (f"<{n}>",)) for n in range(5)]
    limits = Limits(filter_patterns_max=5)
    assert len(boxes_where(And(tuple(wanted)), True, limits)) == 1
    wanted.append(Condition("x", contains, ("more",)))
    with pytest.raises(FilterTooLargeError, match="'x' has to fulfil more than 5 patterns"):
        boxes_where(And(tuple(wanted)), True, limits)
