"""Runs of a column: neighbours with one value are one run, and nothing else changes."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.runfile.runs import joined, same_number, same_text


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5))))
def test_neighbours_are_joined(runs: list[tuple[int, int]]) -> None:
    values = np.array([value for value, _ in runs], np.int64)
    counts = np.array([count for _, count in runs], np.int64)
    rows = np.repeat(values, counts).tolist()
    found = [(value, len(list(same))) for value, same in groupby(rows)]
    assert list(zip(*(each.tolist() for each in joined(values, counts)), strict=True)) == found


def test_a_column_may_be_one_run() -> None:
    said = same_text("B1", 7)
    assert (said.places.tolist(), said.counts.tolist(), said.texts) == ([0], [7], ("B1",))
    counted = same_number(5, 3, slope=1)
    assert (counted.firsts.tolist(), counted.counts.tolist(), counted.slope) == ([5], [3], 1)
