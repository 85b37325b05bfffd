"""The kernels of routing per edge that `test_edges` does not show by itself."""

from __future__ import annotations

import numpy as np

from sapwood.sim.flow.varying import FLOOD, SIMPLE, close, follow, sum_below


def test_sums_over_subtrees() -> None:
    below = np.zeros(5, np.int64)
    sum_below(np.array([-1, 0, 0, 1, 1]), np.array([1, 2, 3, 4, 5]), below)
    assert below.tolist() == [15, 11, 3, 4, 5]


def test_what_is_asked_for_has_passed_when_a_period_closes() -> None:
    asked = np.array([[[False, True, False]] * 2, [[False, True, True]] * 2])
    wanted = np.zeros((2, 3), np.int64)
    close(asked, np.array([3, 10]), wanted)
    assert wanted.tolist() == [[0, 13, 10], [0, 0, 0]]


def test_edges_that_flood_do_not_filter() -> None:
    asked = np.array([[[False, True, True]] * 2, [[False, False, True]] * 2])
    filtering = np.array([7, 7])
    follow(asked, np.array([[SIMPLE, FLOOD, SIMPLE]] * 2), filtering)
    assert filtering.tolist() == [1, 1]
