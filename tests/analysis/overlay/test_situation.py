"""The cost of a tree, compiled: against the formula, and against the gain of a swap."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from analysis.overlay.drawing import drawn, random_tree
from sapwood.analysis.delivery import Delivery, total_cost
from sapwood.analysis.delivery.cost import Prices
from sapwood.analysis.overlay import Tree, situation, tree_cost
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.errors import ParameterError
from sapwood.protocol.optimize.gain import LOCAL, SwapCosts, gain, share


@pytest.mark.parametrize("seed", range(5))
def test_the_compiled_cost_is_that_of_the_formula(seed: int) -> None:
    around, deliveries = drawn(9, seed)
    names = around.prices.brokers
    tree = random_tree(9, Random(seed))
    rooted = rooted_tree([(names[a], names[b]) for a, b in tree], names[0])
    assert tree_cost(around, tree) == pytest.approx(
        total_cost(rooted, around.prices, deliveries), rel=1e-12
    )


def test_a_tree_that_is_none_is_refused() -> None:
    around, _ = drawn(4, 0)
    with pytest.raises(ParameterError, match="2 links"):
        tree_cost(around, ((0, 1), (1, 2)))
    with pytest.raises(ParameterError, match="does not join"):
        tree_cost(around, ((0, 1), (1, 2), (0, 2)))


def test_a_notification_that_concerns_nobody_is_refused() -> None:
    prices = Prices(("A", "B"), np.zeros(2), np.ones((2, 2)) - np.eye(2))
    with pytest.raises(ParameterError, match="concerns no broker"):
        situation(prices, [Delivery(())])


@pytest.mark.parametrize("seed", range(3))
def test_the_gain_of_a_swap_is_the_difference_of_the_costs_of_trees(seed: int) -> None:
    """Formula (1), which a broker computes from its own counts, against Eq. 5.3 on whole trees."""
    count = 9
    around, _ = drawn(count, seed)
    tree = random_tree(count, Random(seed))
    before = tree_cost(around, tree)
    links, processing = around.prices.links, around.prices.processing
    for middle in range(count):
        sides = branches(tree, middle)
        for mover in sides:
            for onto in sides:
                if mover == onto:
                    continue
                swapped = tuple(
                    sorted(
                        (set(tree) - {(min(middle, mover), max(middle, mover))})
                        | {(min(mover, onto), max(mover, onto))}
                    )
                )
                counted: dict[tuple[str, ...], float] = {}
                for kind, number in zip(around.concerned, around.numbers, strict=True):
                    met = tuple(sorted({side_of(sides, int(at)) for at in np.flatnonzero(kind)}))
                    if len(met) > 1:
                        counted[met] = counted.get(met, 0.0) + float(number)
                costs = SwapCosts(
                    old=float(links[middle, mover]),
                    new=float(links[mover, onto]),
                    kept=float(links[middle, onto]),
                    middle=float(processing[middle]),
                    onto=float(processing[onto]),
                )
                found = gain(share(counted, str(mover), str(onto)), costs)
                assert found == pytest.approx(before - tree_cost(around, swapped), abs=1e-9)


def branches(tree: Tree, middle: int) -> dict[int, set[int]]:
    """By neighbour of a broker: all brokers on that side."""
    found: dict[int, set[int]] = {}
    near: dict[int, list[int]] = {}
    for a, b in tree:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    for first in near[middle]:
        seen, ahead = {middle, first}, [first]
        for here in ahead:
            fresh = [there for there in near[here] if there not in seen]
            seen.update(fresh)
            ahead += fresh
        found[first] = set(ahead)
    return found


def side_of(sides: dict[int, set[int]], place: int) -> str:
    return next((str(first) for first, inside in sides.items() if place in inside), LOCAL)
