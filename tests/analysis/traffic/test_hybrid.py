"""Which edges should flood: against every correct mix, and the scenario of 004 in numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import correct_mixes, random_rates, trees
from sapwood.analysis.traffic.arrays import Flags, Floats
from sapwood.analysis.traffic.breakeven import first_fall
from sapwood.analysis.traffic.costs import cost_of, costs
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.hybrid import (
    cheapest_edges,
    cheapest_mix,
    homogeneous_costs,
    settled_mix,
)
from sapwood.analysis.traffic.predicting import check_edges, predict
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.analysis.traffic.tree import RootedTree, complete_tree

PAPER = complete_tree(2, 7)


def paper(arrivals_per_minute: float) -> Rates:
    """004, section 6: 127 brokers, a thousand types, a lifetime of a minute."""
    return rates(
        PAPER,
        arrival_rate=arrivals_per_minute / 60 / 127 / 1000,
        departure_rate=1 / 60,
        publication_rate=500 / 127 / 1000,
        copies=1000,
    )


@given(trees(brokers_max=5), st.integers(0, 2**32))
def test_no_correct_mix_is_cheaper(tree: RootedTree, seed: int) -> None:
    """With costs that have nothing to do with each other, so that the condition matters."""
    random = np.random.default_rng(seed)
    filtering, flooding = random.integers(0, 20, (2, 2, tree.links)).astype(float)
    found = cheapest_edges(tree, filtering, flooding)
    check_edges(tree, found)

    def total(floods: Flags) -> float:
        return float(np.where(floods, flooding, filtering).sum())

    assert total(found) == min(total(floods) for floods in correct_mixes(tree))


@given(trees(), st.integers(0, 1000), st.sampled_from(["simple", "identity"]))
def test_a_mix_is_never_worse_than_one_algorithm(tree: RootedTree, seed: int, routing: str) -> None:
    found = random_rates(tree, seed)
    price = costs(tree, control=3.0)
    mix = cheapest_mix(found, routing, prices=price, refresh_period=20)
    single = homogeneous_costs(found, routing, prices=price, refresh_period=20)
    assert mix.cost <= min(single.values()) * (1 + 1e-12)
    assert mix.cost == pytest.approx(cost_of(mix.traffic, price))


@given(trees(), st.integers(0, 1000))
def test_local_decisions_end_no_better_than_the_cheapest_mix(tree: RootedTree, seed: int) -> None:
    found = random_rates(tree, seed)
    settled = settled_mix(found, "simple", gain=0.0)
    check_edges(tree, settled.floods)
    assert cheapest_mix(found, "simple").cost <= settled.cost * (1 + 1e-12)
    assert settled.cost <= predict(found, "simple").total * (1 + 1e-12)


def threshold(subscribers_behind: int) -> float:
    """Above how many arrivals per minute flooding is cheaper on an edge with so many behind it."""
    publishers = 127 - subscribers_behind

    def saved(per_minute: Floats) -> Floats:
        behind = per_minute / 60 * subscribers_behind / 127
        unwanted = 500 * publishers / 127 * np.exp(-60 * behind / 1000)
        return np.asarray(unwanted - 2 * behind)

    found = first_fall(saved, 1e-3, 1e9)
    assert found is not None
    return found


UP_EDGES = {126: 107.1, 124: 276.9, 120: 530.2, 112: 904.7, 96: 1527.1, 64: 3098.4}
DOWN_EDGES = {63: 3167.0, 31: 7480.9, 15: 16_311.9, 7: 35_781, 3: 84_413, 1: 254_593}


def test_thresholds_of_004() -> None:
    """Also by the cheapest mix: just below an edge filters, just above it floods."""
    for behind, wanted in (UP_EDGES | DOWN_EDGES).items():
        assert round(threshold(behind), 1 if wanted < 20_000 else 0) == wanted
    for behind, level in ((126, 6), (96, 2), (64, 1)):
        above = cheapest_mix(paper(threshold(behind) * 1.001), "simple").floods
        below = cheapest_mix(paper(threshold(behind) * 0.999), "simple").floods
        at = 2**level - 2
        assert (below[UP, at], above[UP, at]) == (False, True)


def test_the_scenario_of_004() -> None:
    """140 of 252 edges flood at the peak, none at first; flooding alone is 63,000/s throughout."""
    first, peak, last = (paper(rate) for rate in (10.0, 20_000.0, 2_000.0))
    assert predict(first, "flooding").total == pytest.approx(63_000)
    assert settled_mix(first).floods.sum() == 0
    assert settled_mix(first).cost == pytest.approx(83, abs=0.5)
    at_peak = settled_mix(peak)
    assert at_peak.floods.sum() == 140
    assert round(at_peak.cost) == 25_055
    assert cheapest_mix(peak, "simple").floods.sum() == 140
    assert settled_mix(last).floods.sum() == 124


def test_identity_has_less_reason_to_flood() -> None:
    peak = paper(20_000.0)
    by_identity, by_simple = cheapest_mix(peak, "identity"), cheapest_mix(peak, "simple")
    assert by_identity.cost < by_simple.cost
    assert not (by_identity.floods & ~by_simple.floods).any()


def test_paths_of_changes_follow_the_condition() -> None:
    """An edge that would like to flood waits for all before it."""
    tree = complete_tree(1, 3)
    found = rates(
        tree,
        arrival_rate=[[0.0], [5.0], [0.0]],
        departure_rate=1.0,
        publication_rate=[[1.0], [0.0], [0.0]],
    )
    settled = settled_mix(found, "simple")
    assert settled.floods.tolist() == [[True, False], [False, True]]
    assert math.isclose(settled.cost, 1.0)
    assert np.array_equal(settled.floods[DOWN], [True, False])
