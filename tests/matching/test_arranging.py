"""Rows are arranged under what fewest events pass; small subgroups are not worth a test."""

from __future__ import annotations

import numpy as np

from sapwood.filters import Filter, Value
from sapwood.matching.arranging import SUBGROUP_MIN, loosen
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import DIRECTORY, GROUP_END, GROUP_FIRST, GROUP_SCAN


def groups(index: CompiledIndex[int]) -> tuple[int, int]:
    """How many groups of points, and how many to be scanned, the largest segment has."""
    first, scan, end = index._memory[DIRECTORY][0][[GROUP_FIRST, GROUP_SCAN, GROUP_END]].tolist()
    return scan - first, end - scan


def test_rows_are_grouped_under_what_few_events_have() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(120):
        index.add(key, Filter(f"one = {key % 3} and other = {key % 40}"))
    index.optimize()
    assert groups(index) == (40, 0), "before any event, a value that few filters name is rare"
    events: list[dict[str, Value]] = [{"other": number % 40} for number in range(5000)]
    index.match_batch(events)
    index.optimize()
    assert groups(index) == (3, 0), "nothing has attribute one, so it says more"
    assert sorted(index.match({"one": 1, "other": 7})) == [7]


def test_ranges_that_are_alike_share_a_group() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(2000):
        low = key % 1000
        index.add(key, Filter(f"x between {low} and {low + 100}"))
    index.optimize()
    points, scanned = groups(index)
    assert points == 0
    assert scanned < 500, "rounded outwards, so that many share"
    assert len(index.match({"x": 500})) == 202


def test_what_matches_everything_is_a_group_of_its_own() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(10):
        index.add(key, Filter("true" if key % 2 else "a = 1"))
    index.optimize()
    assert groups(index) == (1, 1)
    assert sorted(index.match({})) == [1, 3, 5, 7, 9]


def test_rows_leave_subgroups_that_few_share() -> None:
    many, few = SUBGROUP_MIN, SUBGROUP_MIN - 1
    codes = np.array([(1, 5)] * many + [(1, 6)] * few + [(2, 6)] * many + [(2, 7)], np.uint64)
    owners = np.full(len(codes), -1, np.int32)
    loosen(codes, owners)
    second = codes[:, 1].tolist()
    loose = second[-1]
    assert loose not in {5, 6, 7}
    assert second == [5] * many + [loose] * few + [6] * many + [loose]
    assert codes[:, 0].tolist() == [1] * (many + few) + [2] * (many + 1)


def test_rows_of_two_owners_do_not_share_a_subgroup() -> None:
    codes = np.full((2 * SUBGROUP_MIN - 2, 2), 5, np.uint64)
    owners = np.repeat(np.array([1, 2], np.int32), SUBGROUP_MIN - 1)
    loosen(codes, owners)
    assert len(set(codes[:, 1].tolist()) | {5}) == 2
