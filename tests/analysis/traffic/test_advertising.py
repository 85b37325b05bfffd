"""Subscriptions that follow advertisements; simulated in test_predicting_simulated.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import SEVEN, random_rates, trees
from sapwood.analysis.traffic.advertising import advertisers, predict_advertised
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.interests import interests_of
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, predict
from sapwood.analysis.traffic.rates import rates
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter


@given(trees(), st.integers(0, 1000), st.sampled_from([HIERARCHICAL, PEER_TO_PEER]))
def test_somebody_advertises_everything_everywhere(
    tree: RootedTree, seed: int, variant: str
) -> None:
    """Then nothing changes, and no advertisement is ever told."""
    found = random_rates(tree, seed)
    everywhere = advertisers(found, stays=True)
    for routing in ("simple", "identity", "covering"):
        without = predict(found, routing, variant)
        within = predict_advertised(found, everywhere, routing, variant)
        assert within.changes == pytest.approx(without.changes)
        assert within.edges.entries.sum() == pytest.approx(without.entries)
        assert within.notifications == pytest.approx(without.notifications)
        assert within.advertising == 0.0


@given(trees(), st.integers(0, 1000))
def test_subscriptions_alone_are_fewer_where_publishers_stay(tree: RootedTree, seed: int) -> None:
    """T2.3: fewer (un)subscriptions as long as publishers do not move."""
    found = random_rates(tree, seed)
    stays = np.random.default_rng(seed).random(found.arrival_rate.shape) < 0.3
    within = predict_advertised(found, advertisers(found, stays=stays), "identity")
    assert within.changes <= predict(found, "identity").changes * (1 + 1e-12)
    assert within.advertising == 0.0


def test_publishers_that_come_and_go_may_cost_more_than_they_save() -> None:
    found = random_rates(SEVEN, 4)
    calm = advertisers(found, arrival_rate=1e-4, departure_rate=1e-3)
    busy = advertisers(found, arrival_rate=0.5, departure_rate=5.0)
    without = predict(found, "identity")
    assert predict_advertised(found, calm, "identity").total < without.total
    assert predict_advertised(found, busy, "identity").total > without.total


def test_one_publisher_at_one_end() -> None:
    """Only edges that lead away from it are asked."""
    stays = np.zeros((7, 1), dtype=bool)
    stays[SEVEN.position["B4"]] = True
    found = rates(SEVEN, arrival_rate=1, departure_rate=1, publication_rate=1)
    edges = predict_advertised(found, advertisers(found, stays=stays), "identity").edges
    asked = {
        SEVEN.name_edge(way == UP, link + 1)
        for way in (DOWN, UP)
        for link in range(6)
        if edges.entries[way, link]
    }
    assert asked == {"B4 -> B3", "B3 -> B1", "B1 -> B2", "B3 -> B5", "B5 -> B6", "B5 -> B7"}


def test_what_is_refused() -> None:
    found = random_rates(SEVEN, 1)
    with pytest.raises(ParameterError, match="arrival_rate: is -1"):
        advertisers(found, arrival_rate=-1)
    with pytest.raises(ParameterError, match="routing: is 'merging'; there are simple, identity"):
        predict_advertised(found, advertisers(found), "merging")
    overlapping = rates(
        SEVEN, arrival_rate=1, departure_rate=1, publication_rate=1,
        interests=interests_of([Filter("x > 0"), Filter("x > 1")], [{"x": 1}]),
    )  # fmt: skip
    with pytest.raises(ParameterError, match="advertisements need classes that exclude each other"):
        advertisers(overlapping)
