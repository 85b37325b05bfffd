"""Segments: few of them, geometric in size, whatever the number of rows."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from matching.drawing import box_filter
from sapwood.filters import Filter
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.segments import MERGE_FACTOR, NEW_ROWS_MAX


def filled(count: int) -> CompiledIndex[int]:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(count):
        index.add(key, Filter(f"a = {key % 10} and b > {key}"))
    index.match({})
    return index


def test_new_rows_wait_in_the_last_segment() -> None:
    index = filled(5)
    assert index._segments.sizes == [5]
    index.optimize()
    assert index._segments.sizes == [5, 0]
    index.add(5, Filter("true"))
    index.match({})
    assert index._segments.sizes == [5, 1]


@pytest.mark.slow
def test_segments_stay_few() -> None:
    for count in (300, 1000, 3000):
        index = filled(count)
        *arranged, last = index._segments.sizes
        assert sum(arranged) + last == count
        assert last < NEW_ROWS_MAX
        assert len(arranged) <= 8
        for larger, smaller in pairwise(arranged):
            assert larger >= MERGE_FACTOR * smaller


def test_removed_rows_are_left_out_of_a_merge() -> None:
    index = filled(NEW_ROWS_MAX)
    for key in range(1000, 1000 + NEW_ROWS_MAX - 1):
        index.add(key, Filter("c = 1"))
    index.match({})
    for key in range(1000, 1200):
        index.remove(key)
    index.add(5000, Filter("c = 1"))
    index.match({})
    assert sum(index._segments.sizes) == 2 * NEW_ROWS_MAX - 200
    assert len(index.match({"c": 1})) == NEW_ROWS_MAX - 200


def test_all_rows_of_a_segment_removed() -> None:
    random = Random(1)
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(2 * NEW_ROWS_MAX):
        index.add(key, box_filter(random))
    for key in range(2 * NEW_ROWS_MAX):
        index.remove(key)
    assert index.match({"a": 1}) == []
    index.optimize()
    assert index._segments.sizes == [0]
    index.add(1, Filter("a = 1"))
    assert index.match({"a": 1}) == [1]
