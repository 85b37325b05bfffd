"""Constraints: sets of values of all types, with missing among them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filters.oracle import Literal
from filters.strategies import attribute_values, literals, texts
from sapwood.filters import kinds
from sapwood.filters.constraint import (
    ANY_BOOL,
    ANY_NUMBER,
    ANY_TEXT,
    ANYTHING,
    MISSING,
    NOTHING,
    PRESENT,
    Constraint,
)

simple = st.one_of(
    st.sampled_from([ANYTHING, PRESENT, MISSING, ANY_BOOL, ANY_NUMBER, ANY_TEXT]),
    literals.map(kinds.equal),
    literals.map(kinds.not_equal),
    literals.map(kinds.at_least),
    literals.map(kinds.less_than),
    st.lists(literals, max_size=3).map(kinds.one_of),
    texts.map(kinds.prefix),
)
pattern_free = st.lists(simple, min_size=1, max_size=3).map(
    lambda parts: joined(parts)  # noqa: PLW0108 - defined below
)
patterned = st.one_of(pattern_free, texts.map(kinds.suffix), texts.map(kinds.contains))
values = st.one_of(st.none(), attribute_values)


def joined(parts: list[Constraint]) -> Constraint:
    result = NOTHING
    for part in parts:
        union = result.union(part)
        assert union is not None
        result = union
    return result


@given(patterned, patterned, st.lists(values, min_size=5, max_size=15))
def test_operations_are_those_of_sets(
    left: Constraint, right: Constraint, samples: list[Literal | None]
) -> None:
    union, outside = left.union(right), left.difference(right)
    for value in samples:
        mine, theirs = left.matches(value), right.matches(value)
        assert left.intersection(right).matches(value) is (mine and theirs)
        assert union is None or union.matches(value) is (mine or theirs)
        assert any(piece.matches(value) for piece in outside) is (mine and not theirs)
        assert not (left.covers(right) and theirs and not mine)
        assert not (mine and theirs and not left.overlaps(right))


@given(pattern_free, pattern_free)
def test_relations_are_exact_without_patterns(left: Constraint, right: Constraint) -> None:
    union = left.union(right)
    assert union is not None
    assert left.covers(right) is (union == left)
    assert left.covers(right) is (left.intersection(right) == right)
    assert left.covers(right) is (right.difference(left) == [])
    assert left.overlaps(right) is not left.intersection(right).is_empty
    assert union.covers(left)
    assert all(not piece.overlaps(right) for piece in left.difference(right))


@given(patterned)
def test_bounds(constraint: Constraint) -> None:
    assert ANYTHING.covers(constraint)
    assert constraint.covers(NOTHING)
    assert constraint.intersection(ANYTHING) == constraint
    assert constraint.union(NOTHING) == constraint
    assert constraint.is_empty is (constraint == NOTHING)
    assert constraint.is_anything is constraint.covers(ANYTHING)


def test_types_do_not_mix() -> None:
    assert kinds.equal(1).matches(1.0)
    assert not kinds.equal(1).matches(True)
    assert not kinds.equal(True).matches(1)
    assert not ANY_NUMBER.matches(None)
    assert MISSING.matches(None)
    assert not PRESENT.matches(None)
    assert ANY_BOOL.union(ANY_NUMBER) == Constraint(False, 3, ANY_NUMBER.numbers)


def test_patterns_prevent_some_unions() -> None:
    a, b = kinds.contains("a"), kinds.contains("b")
    assert a.union(b) is None
    assert a.union(MISSING) == Constraint(True, texts=a.texts)
    assert a.union(kinds.contains("ab")) == a
    assert a.has_patterns
    assert not kinds.prefix("a").has_patterns
