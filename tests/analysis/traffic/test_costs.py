"""Costs instead of counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.traffic.strategies import SEVEN, random_rates, trees
from sapwood.analysis.delivery.cost import cost, prices
from sapwood.analysis.traffic.costs import cost_by_edge, cost_of, costs
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, predict
from sapwood.analysis.traffic.rates import rates
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError


@given(trees(), st.integers(0, 1000), st.sampled_from([HIERARCHICAL, PEER_TO_PEER]))
def test_a_message_that_costs_one_is_a_count(tree: RootedTree, seed: int, variant: str) -> None:
    traffic = predict(random_rates(tree, seed), "covering", variant, refresh_period=30)
    assert cost_of(traffic, costs(tree)) == pytest.approx(traffic.total)
    sizes = costs(tree, notification=200, control=80)
    wanted = 200 * traffic.notifications + 80 * traffic.control
    assert cost_of(traffic, sizes) == pytest.approx(wanted)


@given(trees(), st.integers(0, 1000))
def test_it_is_the_cost_of_delivery_trees(tree: RootedTree, seed: int) -> None:
    """Notifications for which each broker is sure to be concerned or not: Eq. 5.2, edge by edge."""
    random = np.random.default_rng(seed)
    count = len(tree.brokers)
    wanting = random.random(count) < 0.5
    publisher = int(random.integers(count))
    processing, links = random.uniform(0, 10, count), random.uniform(0, 10, max(1, count - 1))
    links = links[: count - 1]
    found = rates(
        tree,
        arrival_rate=np.where(wanting, 1e6, 0.0)[:, None],
        departure_rate=1.0,
        publication_rate=np.eye(count)[publisher][:, None],
    )
    price = costs(tree, links=links, processing=processing, control=0)
    between = np.zeros((count, count))
    for broker in range(1, count):
        above = tree.parents[broker]
        between[broker, above] = between[above, broker] = links[broker - 1]
    names = [name for name, wants in zip(tree.brokers, wanting, strict=True) if wants]
    concerned = [*names, tree.brokers[publisher]]
    wanted = cost(tree, prices(tree.brokers, processing=processing, links=between), concerned)
    assert cost_of(predict(found, "identity"), price) == pytest.approx(wanted)


def test_control_messages_go_the_other_way() -> None:
    """What changes over the edge to B5 is told by B5, and handled at B3."""
    link = SEVEN.position["B5"] - 1
    directions = np.zeros((2, 6))
    directions[DOWN, link], directions[UP, link] = 2.0, 3.0
    processing = np.zeros(7)
    processing[SEVEN.position["B3"]] = 10.0
    traffic = predict(random_rates(SEVEN, 5), "identity")
    price = costs(SEVEN, links=directions, processing=processing, notification=0)
    found = cost_by_edge(traffic, price)
    assert found[DOWN, link] == pytest.approx(13 * traffic.edges.changes[DOWN, link])
    assert found[UP, link] == pytest.approx(2 * traffic.edges.changes[UP, link])


@pytest.mark.parametrize("value", [-1.0, math.inf])
@pytest.mark.parametrize("name", ["links", "processing", "notification", "control"])
def test_what_is_no_cost_is_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{name}: is "):
        costs(SEVEN, **{name: value})
