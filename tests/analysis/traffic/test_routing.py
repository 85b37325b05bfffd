"""What each algorithm lets an edge carry; against the simulator in test_predicting_simulated.py."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import SEVEN, random_rates, trees
from sapwood.analysis.traffic.flows import DOWN, flows
from sapwood.analysis.traffic.interests import interests_of
from sapwood.analysis.traffic.rates import rates
from sapwood.analysis.traffic.routing import ALGORITHMS, covering, edge_traffic, identity, simple
from sapwood.analysis.traffic.tree import RootedTree, rooted_tree
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter

PAIR = rooted_tree([("A", "B")])


@given(trees(), st.integers(0, 1000), st.floats(1e-12, 1e6))
def test_the_order_of_the_algorithms(tree: RootedTree, seed: int, live: float) -> None:
    """Entries shrink from simple to merging; identity never changes more than simple."""
    sums = flows(random_rates(tree, seed, live=live))
    found = {name: edge_traffic(sums, name) for name in ALGORITHMS}
    entries = [found[name].entries for name in ("merging", "covering", "identity", "simple")]
    for fewer, more in pairwise(entries):
        assert (fewer <= more * (1 + 1e-12)).all()
    assert (found["identity"].changes <= found["simple"].changes).all()
    for name in ("simple", "identity", "covering", "merging"):
        assert (found[name].notifications <= found["flooding"].notifications * (1 + 1e-12)).all()
        assert np.isfinite(found[name].changes).all()
        assert (found[name].changes >= 0).all()


@given(st.integers(0, 1000))
def test_covering_is_identity_where_nothing_covers(seed: int) -> None:
    sums = flows(random_rates(SEVEN, seed))
    assert np.array_equal(covering(sums).changes, identity(sums).changes)
    assert np.array_equal(covering(sums).entries, identity(sums).entries)


def test_next_to_no_subscriptions_are_not_rounded_away() -> None:
    sums = flows(rates(PAIR, arrival_rate=1e-30, departure_rate=1, publication_rate=1))
    assert identity(sums).entries[DOWN, 0] == pytest.approx(1e-30)
    assert identity(sums).notifications[DOWN, 0] == pytest.approx(1e-30)


def test_copies_are_classes() -> None:
    many = rates(SEVEN, arrival_rate=[0.5] * 6, departure_rate=1, publication_rate=[0.1] * 6)
    one = rates(SEVEN, arrival_rate=0.5, departure_rate=1, publication_rate=0.1, copies=6)
    for name in ALGORITHMS:
        left, right = edge_traffic(flows(many), name), edge_traffic(flows(one), name)
        assert left.notifications == pytest.approx(right.notifications)
        assert left.changes == pytest.approx(right.changes)
        assert left.entries == pytest.approx(right.entries)


def test_a_cover_by_hand() -> None:
    """One wide and one narrow filter behind a link."""
    interests = interests_of([Filter("x >= 0"), Filter("x >= 1")], [{"x": 1}])
    wide, narrow = np.log(2.0), np.log(4.0)  # nobody with chance 1/2 and 1/4
    sums = flows(
        rates(
            PAIR,
            arrival_rate=[[0.0, 0.0], [wide, narrow]],
            departure_rate=1.0,
            publication_rate=1.0,
            interests=interests,
        )
    )
    found = covering(sums)
    assert found.entries[DOWN, 0] == pytest.approx(1 / 2 + 3 / 4 * 1 / 2)
    begins = wide / 2 + narrow / 4 / 2 + 3 / 4 * wide / 2
    assert found.changes[DOWN, 0] == pytest.approx(2 * begins)
    assert found.notifications[DOWN, 0] == pytest.approx(1 - 1 / 8)
    assert simple(sums).entries[DOWN, 0] == pytest.approx(wide + narrow)


def test_what_has_no_formula_is_said() -> None:
    interests = interests_of([Filter("x >= 0"), Filter("x >= 1")], [{"x": 1}])
    sums = flows(
        rates(PAIR, arrival_rate=1, departure_rate=1, publication_rate=1, interests=interests)
    )
    with pytest.raises(ParameterError, match="a formula for merging is known only where classes"):
        edge_traffic(sums, "merging")
    with pytest.raises(ParameterError, match="routing: is 'best'; there are flooding, simple, id"):
        edge_traffic(sums, "best")
