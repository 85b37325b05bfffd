"""Searching for the cheapest tree: against brute force, and against each other."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from analysis.overlay.drawing import drawn, random_tree
from sapwood.analysis.delivery import Delivery, lower_bound
from sapwood.analysis.delivery.cost import Prices
from sapwood.analysis.overlay import (
    Tree,
    anneal,
    associativity_by_history,
    exhaustive,
    local_search,
    maximum_interest_tree,
    minimum_spanning_tree,
    situation,
    tree_cost,
)
from sapwood.analysis.overlay.searching import all_trees
from sapwood.errors import ParameterError


@pytest.mark.parametrize("seed", range(4))
def test_no_tree_is_cheaper_than_the_best_of_all_and_the_lower_bound(seed: int) -> None:
    around, deliveries = drawn(5, seed)
    best = exhaustive(around)
    costs = [tree_cost(around, tree) for tree in all_trees(5)]
    assert len(set(all_trees(5))) == len(costs) == 125
    assert best.cost == min(costs) == tree_cost(around, best.tree)
    assert lower_bound(around.prices, deliveries) <= best.cost


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_annealing_and_local_search_stand_between_the_best_and_the_start(seed: int) -> None:
    around, _ = drawn(6, seed)
    start = random_tree(6, Random(seed))
    best = exhaustive(around).cost
    found = anneal(around, start, np.random.default_rng(seed), steps=3000)
    local = local_search(around, start)
    for one in (found, local):
        assert best - 1e-9 <= one.cost <= tree_cost(around, start) + 1e-9
        assert one.cost == pytest.approx(tree_cost(around, one.tree))
    assert found.cost == pytest.approx(best)
    for tree in neighbours_of(local.tree, 6):
        assert tree_cost(around, tree) >= local.cost - 1e-6


def neighbours_of(tree: Tree, count: int) -> list[Tree]:
    """All trees that one exchange of links leads to."""
    links = set(tree)
    return [other for other in all_trees(count) if len(links - set(other)) == 1]


@pytest.mark.slow
def test_a_limit_of_links_is_kept() -> None:
    around, _ = drawn(7, 3)
    start = tuple((place, place + 1) for place in range(6))
    for found in (
        anneal(around, start, np.random.default_rng(1), steps=3000, degree_max=3),
        local_search(around, start, degree_max=3),
    ):
        ends = [end for link in found.tree for end in link]
        assert max(ends.count(place) for place in range(7)) <= 3


EXAMPLES = ((3, 1, 0, 5, 3, 6), (4, 1, 1, 4, 2, 5), (5, 1, 2, 3, 1, 4), (6, 1, 3, 2, 0, 3))


@pytest.mark.parametrize("numbers", EXAMPLES)
def test_the_example_of_the_thesis(numbers: tuple[int, ...]) -> None:
    """5.4.3: neither the cheapest links nor the largest shares make the cheapest tree."""
    p1, p2, p3, c12, c13, c23 = numbers
    links = np.array([[0, c12, c13], [c12, 0, c23], [c13, c23, 0]], dtype=float)
    prices = Prices(("B1", "B2", "B3"), np.array([p1, p2, p3], dtype=float), links)
    around = situation(
        prices,
        [
            Delivery(("B2", "B1", "B3"), 5.0),
            Delivery(("B2", "B3"), 5.0),
            Delivery(("B1", "B2"), 1.0),
        ],
    )
    minimum = minimum_spanning_tree(around)
    interest = maximum_interest_tree(around, associativity_by_history(around))
    assert tree_cost(around, minimum) == 129
    assert tree_cost(around, interest) == 119
    assert exhaustive(around).cost == 113
    assert local_search(around, minimum).cost == local_search(around, interest).cost == 113


def test_searches_that_make_no_sense_are_refused() -> None:
    around, _ = drawn(9, 1)
    with pytest.raises(ParameterError, match="8 brokers at most"):
        exhaustive(around)
    with pytest.raises(ParameterError, match="start"):
        local_search(around, ((0, 1),))
    with pytest.raises(ParameterError, match="cold"):
        anneal(around, random_tree(9, Random(1)), np.random.default_rng(1), hot=1.0, cold=2.0)
