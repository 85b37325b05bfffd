"""References with global knowledge: against brute force, and against each other."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood.analysis.delivery import Delivery, lower_bound, total_cost
from sapwood.analysis.delivery.cost import Prices
from sapwood.analysis.overlay import (
    Situation,
    Tree,
    anneal,
    associativity_by_history,
    associativity_by_subscriptions,
    exhaustive,
    local_search,
    maximum_interest_tree,
    minimum_spanning_tree,
    situation,
    tree_cost,
)
from sapwood.analysis.overlay.searching import all_trees
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.errors import ParameterError
from sapwood.protocol.optimize.gain import LOCAL, SwapCosts, gain, share


def drawn(count: int, seed: int, kinds: int = 6) -> tuple[Situation, list[Delivery]]:
    """Brokers on a plane, and notifications that concern some of them."""
    random = Random(seed)
    names = tuple(f"B{number}" for number in range(1, count + 1))
    places = np.array([[random.random(), random.random()] for _ in names])
    links = 10 * np.sqrt(((places[:, None] - places[None, :]) ** 2).sum(-1))
    prices = Prices(names, np.array([random.uniform(0, 10) for _ in names]), links)
    deliveries = [
        Delivery(
            tuple(random.sample(names, random.randint(2, min(5, count)))), random.uniform(1, 9)
        )
        for _ in range(kinds)
    ]
    return situation(prices, deliveries), deliveries


def random_tree(count: int, random: Random) -> Tree:
    return tuple((random.randrange(place), place) for place in range(1, count))


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


@pytest.mark.parametrize("seed", range(4))
def test_no_tree_is_cheaper_than_the_best_of_all_and_the_lower_bound(seed: int) -> None:
    around, deliveries = drawn(5, seed)
    best = exhaustive(around)
    costs = [tree_cost(around, tree) for tree in all_trees(5)]
    assert len(set(all_trees(5))) == len(costs) == 125
    assert best.cost == min(costs) == tree_cost(around, best.tree)
    assert lower_bound(around.prices, deliveries) <= best.cost


@pytest.mark.parametrize("seed", range(4))
def test_annealing_and_local_search_stand_between_the_best_and_the_start(seed: int) -> None:
    around, _ = drawn(6, seed)
    start = random_tree(6, Random(seed))
    best = exhaustive(around).cost
    found = anneal(around, start, steps=3000, seed=seed)
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


def test_a_limit_of_links_is_kept() -> None:
    around, _ = drawn(7, 3)
    start = tuple((place, place + 1) for place in range(6))
    for found in (
        anneal(around, start, steps=3000, degree_max=3),
        local_search(around, start, degree_max=3),
    ):
        ends = [end for link in found.tree for end in link]
        assert max(ends.count(place) for place in range(7)) <= 3


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
