"""Sets as sorted cuts: the algebra of sets, checked against membership place by place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.filters import cuts

MINIMUM = 0
PLACES = range(10)
sets = st.sets(st.integers(MINIMUM, 9)).map(lambda members: tuple(sorted(members)))


def members(tested: tuple[int, ...]) -> set[int]:
    """The places of a set, found by walking over the cuts."""
    inside, found = False, set()
    for place in PLACES:
        if place in tested:
            inside = not inside
        if inside:
            found.add(place)
    return found


@given(sets, sets)
def test_operations_are_those_of_sets(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert members(cuts.union(left, right)) == members(left) | members(right)
    assert members(cuts.intersection(left, right)) == members(left) & members(right)
    assert members(cuts.difference(left, right)) == members(left) - members(right)
    assert members(cuts.complement(left, MINIMUM)) == set(PLACES) - members(left)
    assert cuts.covers(left, right) is (members(left) >= members(right))


@given(sets, sets)
def test_equal_sets_are_equal_tuples(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert (left == right) is (members(left) == members(right))
    for result in (cuts.union(left, right), cuts.intersection(left, right)):
        assert list(result) == sorted(set(result))


@given(sets, sets)
def test_laws(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    def inverse(tested: tuple[int, ...]) -> tuple[int, ...]:
        return cuts.complement(tested, MINIMUM)

    assert inverse(inverse(left)) == left
    assert inverse(cuts.union(left, right)) == cuts.intersection(inverse(left), inverse(right))
    assert cuts.difference(left, right) == cuts.intersection(left, inverse(right))
    assert cuts.union(left, inverse(left)) == (MINIMUM,)
    assert cuts.intersection(left, inverse(left)) == ()


@given(sets, st.sampled_from(PLACES))
def test_contains(tested: tuple[int, ...], place: int) -> None:
    assert cuts.contains(tested, place) is (place in members(tested))


@given(sets)
def test_segments_put_together_are_the_set(tested: tuple[int, ...]) -> None:
    again: tuple[int, ...] = ()
    for low, high in cuts.segments(tested):
        again = cuts.union(again, (low,) if high is None else (low, high))
    assert again == tested


def test_sides_of_a_number_are_different_places() -> None:
    below, point, above = ((-9, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1),)
    assert cuts.union(below, point) == ((-9, 0), (1, 1))
    assert cuts.union(below, above) == ((-9, 0), (1, 0), (1, 1))
    assert cuts.intersection(point, above) == ()
