"""Spanning trees by links or by interest: against all trees of a few brokers."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.overlay.drawing import drawn
from sapwood.analysis.delivery import Delivery
from sapwood.analysis.delivery.cost import Prices
from sapwood.analysis.overlay import (
    Tree,
    associativity_by_history,
    associativity_by_subscriptions,
    maximum_interest_tree,
    minimum_spanning_tree,
    situation,
)
from sapwood.analysis.overlay.searching import all_trees


def test_the_minimum_spanning_tree_has_the_least_sum_of_links() -> None:
    around, _ = drawn(5, 1)
    links = around.prices.links

    def weight(tree: Tree) -> float:
        return float(sum(links[a, b] for a, b in tree))

    found = weight(minimum_spanning_tree(around))
    assert found == pytest.approx(min(weight(tree) for tree in all_trees(5)))


def test_the_interest_tree_shares_most_and_keeps_to_the_cap_where_it_can() -> None:
    around, _ = drawn(5, 2)
    shares = associativity_by_history(around)

    def weight(tree: Tree) -> float:
        return float(sum(shares[a, b] for a, b in tree))

    found = weight(maximum_interest_tree(around, shares))
    assert found == pytest.approx(max(weight(tree) for tree in all_trees(5)))
    cap = max(around.prices.links[a, b] for a, b in minimum_spanning_tree(around))
    capped = maximum_interest_tree(around, shares, link_cost_max=cap)
    assert max(around.prices.links[a, b] for a, b in capped) <= cap


def test_associativity_counts_traffic_or_subscriptions() -> None:
    prices = Prices(("A", "B", "C"), np.zeros(3), np.ones((3, 3)) - np.eye(3))
    around = situation(prices, [Delivery(("A", "B", "C"), 10.0), Delivery(("B", "C"), 2.0)])
    assert associativity_by_history(around)[1, 2] == 12.0
    assert associativity_by_history(around)[0, 1] == 10.0
    by_subscriptions = associativity_by_subscriptions(around)
    assert by_subscriptions[1, 2] == 1.0, "B publishes the second kind, and does not want it"
    assert by_subscriptions[0, 1] == 0.0
