"""Perfect mergers on boxes; more in the tests of filters."""

from __future__ import annotations

from hypothesis import given

from filters.oracle import Expression, text_of
from filters.strategies import small_pattern_free
from sapwood.filters import Filter
from sapwood.filters.merging import perfect_merger, union_covers
from sapwood.filters.normal_form import canonical


@given(small_pattern_free, small_pattern_free)
def test_a_merger_is_the_union_and_simple(left: Expression, right: Expression) -> None:
    one, other = Filter(text_of(left)).boxes, Filter(text_of(right)).boxes
    union = canonical(one + other)
    simple = union in (one, other) or len(union) == 1
    assert perfect_merger(one, other) == (union if simple else None)


@given(small_pattern_free, small_pattern_free)
def test_covering_is_being_the_union(left: Expression, right: Expression) -> None:
    one, other = Filter(text_of(left)).boxes, Filter(text_of(right)).boxes
    assert union_covers(one, other) is (canonical(one + other) == one)


def test_the_covering_one_is_kept_as_it_is() -> None:
    larger, smaller = Filter("x > 1"), Filter("x > 2")
    assert perfect_merger(larger.boxes, smaller.boxes) is larger.boxes
    assert perfect_merger(smaller.boxes, larger.boxes) is larger.boxes
    assert larger.merge(smaller) is larger
    assert smaller.merge(larger) is larger


def test_several_boxes_may_merge_into_one() -> None:
    left, right = Filter("x < 0 or y = 1"), Filter("x >= 0 or x is not number or y is null")
    assert left.merge(right) == Filter("true")
