"""How little notifications must cost: the printed bound, which is none, and one that holds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.analysis.delivery.bounds import (
    lower_bound,
    printed_lower_bound,
    shortest_costs,
    spanning_cost,
)
from sapwood.analysis.delivery.cost import Delivery, Prices, prices, total_cost
from sapwood.analysis.traffic.tree import RootedTree, rooted_tree
from sapwood.errors import TopologyError


def all_trees(names: tuple[str, ...]) -> list[RootedTree]:
    """Every tree over a few brokers."""
    found = []
    for links in itertools.combinations(itertools.combinations(names, 2), len(names) - 1):
        try:
            found.append(rooted_tree(links, brokers=names))
        except TopologyError:
            continue
    return found


def star() -> Prices:
    """Three brokers around one that wants nothing: 2 to it from each, 3.5 between any two."""
    links = np.full((4, 4), 3.5)
    links[0] = links[:, 0] = 2.0
    return prices(("M", "A", "B", "C"), processing=0.0, links=links)


def test_the_printed_bound_is_none() -> None:
    around = rooted_tree([("M", "A"), ("M", "B"), ("M", "C")])
    wanted = [Delivery(("A", "B", "C"))]
    assert total_cost(around, star(), wanted) == 6.0
    assert printed_lower_bound(star(), wanted) == 7.0
    assert lower_bound(star(), wanted) == pytest.approx(7.0 * 3 / 4)


@given(st.integers(0, 2**32))
def test_no_tree_is_cheaper_than_the_true_bound(seed: int) -> None:
    random = np.random.default_rng(seed)
    names = tuple("ABCDE")
    links = random.uniform(0, 10, (5, 5))
    found = prices(names, processing=random.uniform(0, 5, 5), links=links + links.T)
    deliveries = [
        Delivery(tuple(random.choice(names, random.integers(1, 5), replace=False).tolist()), count)
        for count in (1.0, 2.5, 4.0)
    ]
    least = min(total_cost(tree, found, deliveries) for tree in all_trees(names))
    assert lower_bound(found, deliveries) <= least * (1 + 1e-12)


def test_the_bound_is_tight() -> None:
    """A star whose centre is idle: between any two of t arms it costs 2, the tree costs t."""
    for arms in (2, 3, 8):
        names = ("M", *(f"A{number}" for number in range(arms)))
        links = np.full((arms + 1, arms + 1), 2.0)
        links[0] = links[:, 0] = 1.0
        found = prices(names, processing=0.0, links=links)
        around = rooted_tree([("M", name) for name in names[1:]])
        wanted = [Delivery(names[1:])]
        assert lower_bound(found, wanted) == pytest.approx(total_cost(around, found, wanted))


def test_shortest_paths_and_spanning_trees() -> None:
    links = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    assert shortest_costs(links)[0, 2] == 2.0
    assert spanning_cost(links, [0, 1, 2]) == 2.0
    assert spanning_cost(links, [0, 2]) == 9.0
    assert spanning_cost(links, [1]) == 0.0
