"""Adaptive swaps, counted: by the function that brokers decide with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood.sim.flow import topology
from sapwood.sim.optimizing.ways import run_way
from sim.flow.test_topology import assert_tree
from sim.optimizing.courses import small

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""


@pytest.mark.slow
def test_the_tree_gets_cheaper_and_stays_a_tree() -> None:
    course = small(1, ticks=3000, reassignment_interval=math.inf)
    found = topology(course, "adaptive")
    static = topology(course, "static").outcome
    assert_tree(found, course.brokers)
    assert found.outcome.cost(0, 1000) == pytest.approx(static.cost(0, 1000))
    assert found.outcome.cost(2000) < 0.9 * static.cost(2000)
    assert found == topology(course, "adaptive")


@pytest.mark.slow
def test_no_broker_gets_more_neighbours_than_it_may_have() -> None:
    course = small(2, ticks=2500)
    found = topology(course, "adaptive", degree_max=4)
    assert max(found.degrees) <= max(4, topology(course, "static").outcome.measured[0].degree_max)
    assert sum(one.changes for one in found.outcome.measured) > 0


def test_what_has_to_gain_a_lot_changes_nothing() -> None:
    found = topology(small(2, ticks=2000), "adaptive", gain_min=1e9)
    assert sum(one.changes for one in found.outcome.measured) == 0


@pytest.mark.slow
def test_brokers_come_to_about_the_same_cost() -> None:
    """Paired by seed, message by message; with the tree that both end with."""
    ratios = []
    for seed in range(6):
        course = small(seed, ticks=3000, reassignment_interval=math.inf)
        exact, flow = run_way("adaptive", course), topology(course, "adaptive").outcome
        ratios.append(flow.cost(2000) / exact.cost(2000))
    error = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1) < 0.05 + 2 * error, ratios
