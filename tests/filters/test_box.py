"""Boxes, against all attributes over a few values."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from filters.oracle import Literal
from sapwood.filters import box, kinds
from sapwood.filters.box import EVERYTHING, Box, Budget
from sapwood.filters.constraint import ANYTHING, MISSING, NOTHING, PRESENT, Constraint

NAMES = ["x", "y", "z"]
VALUES: list[Literal | None] = [None, 0, 1, 2, 3, 4, "a", "ab", "b", True]
PLACES = [
    {name: value for name, value in zip(NAMES, values, strict=True) if value is not None}
    for values in itertools.product(VALUES, repeat=3)
]

constraints = st.one_of(
    st.sampled_from([ANYTHING, MISSING, PRESENT]),
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
        lambda pair: kinds.between(min(pair), max(pair))
    ),
    st.sampled_from([kinds.prefix("a"), kinds.suffix("b"), kinds.contains("a")]),
)
range_constraints = constraints.filter(lambda constraint: not constraint.has_patterns)


def boxes_of(chosen: st.SearchStrategy[Constraint]) -> st.SearchStrategy[Box]:
    return st.dictionaries(st.sampled_from(NAMES), chosen).map(
        lambda constraints: box.make_box(constraints.items()) or EVERYTHING
    )


boxes = boxes_of(constraints)
range_boxes = boxes_of(range_constraints)


def members(tested: Box | None) -> set[int]:
    if tested is None:
        return set()
    return {index for index, place in enumerate(PLACES) if box.matches(tested, place)}


@given(boxes, boxes)
def test_operations_are_those_of_sets(left: Box, right: Box) -> None:
    lefts, rights = members(left), members(right)
    assert members(box.intersection(left, right)) == lefts & rights
    assert box.intersection(left, right) == box.intersection(right, left)
    pieces = [members(piece) for piece in box.difference(left, right)]
    assert set().union(*pieces) == lefts - rights
    assert not box.covers(left, right) or lefts >= rights
    assert box.overlaps(left, right) or not lefts & rights


@given(range_boxes, range_boxes)
def test_relations_are_exact_without_patterns(left: Box, right: Box) -> None:
    assert box.covers(left, right) is (box.difference(right, left) == [])
    assert box.covers(left, right) is (box.intersection(left, right) == right)
    assert box.overlaps(left, right) is (box.intersection(left, right) is not None)
    pieces = box.difference(left, right)
    assert not any(box.overlaps(a, b) for a, b in itertools.combinations(pieces, 2))


@given(range_boxes, st.lists(range_boxes, max_size=5))
def test_covered_by_union(tested: Box, others: list[Box]) -> None:
    rest = [tested]
    for other in others:
        rest = [piece for part in rest for piece in box.difference(part, other)]
    assert box.covered_by_union(tested, others, Budget(10_000)) is (rest == [])


def test_covered_by_union_gives_up_on_the_safe_side() -> None:
    tested = box.make_box([("x", kinds.between(0, 99))])
    assert tested is not None
    others = [((("x", kinds.between(n, n + 1))),) for n in range(99)]
    assert box.covered_by_union(tested, others, Budget(10_000))
    assert not box.covered_by_union(tested, others, Budget(200))


def test_forms() -> None:
    one = kinds.equal(1)
    assert box.make_box([("y", one), ("x", one), ("z", ANYTHING)]) == (("x", one), ("y", one))
    assert box.make_box([("x", one), ("y", NOTHING)]) is None
    assert box.make_box([]) == EVERYTHING
    assert box.constraint_on((("x", one),), "x") == one
    assert box.constraint_on((("x", one),), "y") == ANYTHING
    assert box.without((("x", one), ("y", one)), "x") == (("y", one),)
    assert box.has_patterns((("x", kinds.suffix("a")),))
    assert not box.has_patterns((("x", one),))
