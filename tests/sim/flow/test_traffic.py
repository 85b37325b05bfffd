"""Counting under constant rates: refusals, and what must hold of any run."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.analysis.traffic import complete_tree, rooted_tree, uniform_rates
from sapwood.analysis.traffic.rates import Rates
from sapwood.errors import ParameterError, RoutingError, TopologyError
from sapwood.sim.flow import traffic

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""


def some_rates() -> Rates:
    return uniform_rates(
        complete_tree(2, 3), subscriptions=30, lifetime=10, publication_rate=20, classes=5
    )


def test_one_seed_gives_one_result() -> None:
    first, again, other = (traffic(some_rates(), "identity", seconds=20, seed=n) for n in (1, 1, 2))
    assert np.array_equal(first.traffic.edges.notifications, again.traffic.edges.notifications)
    assert (first.hops, first.events) == (again.hops, again.events)
    assert first.hops != other.hops


def test_flooding_carries_everything_everywhere() -> None:
    found = traffic(some_rates(), "flooding", seconds=20, seed=1).traffic
    assert found.notifications == pytest.approx(6 * found.published.sum())
    assert found.changes == found.entries == 0


def test_algorithms_differ_in_what_is_told_only() -> None:
    """With one seed clients do the same, and what is wanted passes, whatever is told."""
    simple, identity, merging = (
        traffic(some_rates(), routing, seconds=20, seed=3).traffic
        for routing in ("simple", "identity", "covering")
    )
    assert np.array_equal(simple.edges.notifications, identity.edges.notifications)
    assert np.array_equal(identity.edges.changes, merging.edges.changes)
    assert identity.changes < simple.changes
    assert identity.entries < simple.entries


def test_hierarchical_routing_sends_all_to_the_root_and_tells_nobody_below() -> None:
    found = traffic(some_rates(), "identity", "hierarchical", seconds=20, seed=1).traffic
    leaves = found.published[3:].sum()
    assert found.edges.notifications[1, 2:].sum() == pytest.approx(leaves)
    assert found.edges.changes[1].sum() == found.edges.entries[1].sum() == 0


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_rates_that_are_none_are_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="publication_rate"):
        uniform_rates(
            complete_tree(2, 2), subscriptions=1, lifetime=1, publication_rate=rate, classes=1
        )


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(TopologyError, match="closes a cycle"):
        rooted_tree([("A", "B"), ("B", "C"), ("C", "A")])


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ParameterError, match="seconds"):
        traffic(some_rates(), "identity", seconds=seconds, seed=1)


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ParameterError, match="'guessing'; there are flooding, simple"):
        traffic(some_rates(), "guessing", seconds=1, seed=1)


def test_a_mix_in_which_something_is_missed_is_refused() -> None:
    floods = np.zeros((2, 6), dtype=bool)
    floods[0, 0] = True
    with pytest.raises(RoutingError, match="floods, so nobody learns"):
        traffic(some_rates(), "identity", seconds=1, seed=1, floods=floods)
