"""Candidates: nobody who covers, or is covered, is left out; and few others are named."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from hypothesis import given

from routing.near import patterned_pools, seeds
from sapwood.filters import Filter
from sapwood.routing.candidates import Candidates, Values
from sapwood.routing.covering import covers
from sapwood.routing.outline import outline_of
from sapwood.routing.pages import Pages


@given(pool=patterned_pools, seed=seeds)
def test_who_covers_and_who_is_covered_is_among_the_candidates(
    pool: list[Filter], seed: int
) -> None:
    random = Random(seed)
    filters = {filter.id: filter for filter in pool if not filter.is_empty}
    candidates = Candidates()
    for filter_id, filter in filters.items():
        candidates.add(filter_id, outline_of(filter))
    for filter_id in random.sample(sorted(filters), len(filters) // 3):
        candidates.remove(filter_id, outline_of(filters.pop(filter_id)))
    for filter in pool:
        if filter.is_empty:
            continue
        around = list(candidates.around(outline_of(filter)))
        inside = list(candidates.inside(outline_of(filter)))
        assert len(set(around)) == len(around)
        assert len(set(inside)) == len(inside)
        assert {key for key, one in filters.items() if covers(one, filter)} <= set(around)
        assert {key for key, one in filters.items() if covers(filter, one)} <= set(inside)


def test_what_remains_of_nothing() -> None:
    candidates, outline = Candidates(), outline_of(Filter("a = 1 and b > 2"))
    candidates.add("1", outline)
    candidates.remove("1", outline)
    assert vars(candidates) == vars(Candidates())


def test_single_values_and_ranges_choose_few() -> None:
    candidates = Candidates()
    for symbol in "pqr":
        for price in range(3):
            text = f"symbol = '{symbol}' and price > {price}"
            candidates.add(f"{symbol}{price}", outline_of(Filter(text)))
    candidates.add("any", outline_of(Filter("symbol is text")))

    def around(text: str) -> list[str]:
        return sorted(candidates.around(outline_of(Filter(text))))

    def inside(text: str) -> list[str]:
        return sorted(candidates.inside(outline_of(Filter(text))))

    assert around("symbol = 'q' and price = 2 and volume > 1") == ["any", "q0", "q1"]
    assert around("symbol = 'q'") == ["any"]
    assert around("price > 9") == []
    assert inside("symbol = 'q'") == ["q0", "q1", "q2"]
    assert inside("price > 1") == ["p1", "p2", "q1", "q2", "r1", "r2"]
    assert inside("symbol > 'p' and price > 1") == ["q1", "q2", "r1", "r2"]
    assert inside("symbol = 's'") == []
    assert inside("true") == sorted([*(f"{s}{p}" for s in "pqr" for p in range(3)), "any"])


class Unscanned(dict[Values, Pages]):
    """Values and their filters, to be looked up one by one."""

    def __iter__(self) -> Iterator[Values]:
        raise AssertionError("all of them are looked at")


def test_a_single_value_is_looked_up_and_not_searched() -> None:
    candidates = Candidates()
    for number in range(10):
        outline = outline_of(Filter(f"a = {number} and b = {number % 3} and c > 0"))
        candidates.add(str(number), outline)
    (group,) = candidates._groups.values()
    group.pages = Unscanned(group.pages)
    assert sorted(candidates.inside(outline_of(Filter("b = 1")))) == ["1", "4", "7"]
    assert list(candidates.inside(outline_of(Filter("a = 4 and b = 1")))) == ["4"]
    assert list(candidates.around(outline_of(Filter("a = 4 and b = 1 and c = 5")))) == ["4"]
