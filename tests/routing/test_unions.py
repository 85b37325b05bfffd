"""Unions of constraints: the same whatever happened before, complete, and not too large."""

from __future__ import annotations

from functools import reduce
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from routing.near import seeds
from sapwood.filters import NOTHING, Constraint, between, equal, one_of
from sapwood.routing.unions import Unions


def union_of(constraints: list[Constraint]) -> Constraint:
    def unite(left: Constraint, right: Constraint) -> Constraint:
        union = left.union(right)
        assert union is not None
        return union

    return reduce(unite, constraints, NOTHING)


def is_small(constraint: Constraint) -> bool:
    return len(constraint.numbers) <= 8


def unions_of(constraints: list[Constraint]) -> Unions:
    unions = Unions(is_small)
    for constraint in constraints:
        unions.add(constraint)
    return unions


@given(seed=seeds, size=st.sampled_from([1, 3, 10, 60]))
def test_unions_depend_on_the_set_only(seed: int, size: int) -> None:
    random = Random(seed)
    values = random.sample(range(100), size)
    constraints = [
        random.choice([equal(value), between(value, value + 1.5), one_of([value, f"t{value}"])])
        for value in values
    ]
    unions = unions_of(constraints)
    kept = list(constraints)
    for constraint in random.sample(constraints, size // 2):
        list(unions)  # so that something is remembered that is wrong afterwards
        unions.remove(constraint)
        kept.remove(constraint)
    random.shuffle(kept)
    assert bool(unions) == bool(kept)
    assert list(unions) == list(unions_of(kept))
    assert union_of(list(unions)) == union_of(kept)
    assert len(list(unions)) <= len(kept)
    assert all(is_small(union) for union in unions)


def test_all_are_united_if_that_is_small() -> None:
    assert list(unions_of([equal(3), equal(1), equal(2)])) == [one_of([1, 2, 3])]
    touching = [between(at, at + 1) for at in range(200)]
    assert list(unions_of(touching)) == [between(0, 200)]
    assert list(unions_of([])) == []


def test_a_single_one_may_be_large() -> None:
    large = one_of(range(50))
    assert list(unions_of([large])) == [large]
    assert list(unions_of([equal(99), large])) == [large, equal(99)]


def test_a_change_leaves_most_unions_alone() -> None:
    constraints = [equal(value) for value in range(0, 1000, 2)]
    unions = unions_of(constraints)
    before = list(unions)
    assert len(before) < 2 * len(constraints) // 3
    unions.add(equal(501))
    after = list(unions)
    assert len([union for union in after if union not in before]) <= 20
