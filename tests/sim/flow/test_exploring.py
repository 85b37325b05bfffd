"""The compiled rules are those of brokers, and a delivery costs what the analysis says."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sapwood.analysis.delivery.cost import Delivery
from sapwood.analysis.overlay.situation import places_of, situation, tree_cost
from sapwood.compiled.compiling import kernel
from sapwood.protocol.optimize.published import rules
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.sim.flow import exploring
from sapwood.sim.flow.topology import _tree, tree_arrays
from sim.optimizing.courses import small

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

RULES = (
    "costs_round",
    "add_ring_costs",
    "is_cheaper_than_dearest",
    "add_kept_link",
    "add_lost_interest",
    "least_link",
)


@pytest.mark.parametrize("name", RULES)
def test_there_is_one_definition_of_each_rule(name: str) -> None:
    assert getattr(exploring, name).py_func is getattr(rules, name)


@pytest.mark.slow
def test_compiled_rules_find_the_same() -> None:
    random = Random(5)
    for _ in range(50):
        size = random.randint(3, 6)
        links, processing, shared, pairs = (
            [float(random.choice((0, 3, 9, random.random()))) for _ in range(size)]
            for _ in range(4)
        )
        place, direction = random.randrange(size), random.choice((1, -1))
        plain, compiled = [0.0] * size, np.zeros(size)
        rules.costs_round(place, direction, links, processing, shared, pairs, plain)
        arrays = [np.array(one) for one in (links, processing, shared, pairs)]
        exploring.costs_round(place, direction, *arrays, compiled)
        assert plain == compiled.tolist()
        sums, more = [1.0] * size, np.ones(size)
        rules.add_ring_costs(place, direction, shared, plain, sums)
        exploring.add_ring_costs(place, direction, arrays[2], compiled, more)
        assert sums == more.tolist()
        assert rules.least_link(sums, 0.05) == exploring.least_link(more, 0.05)


@kernel
def delivery(tree: Any, members: Any, prices: Any, processing: Any) -> Any:
    return exploring.deliver(tree, members, prices, processing)


def test_a_delivery_costs_what_the_analysis_says() -> None:
    course = small(4)
    tree = _tree(course, HeuristicSettings(), *tree_arrays(course))
    prices = course.prices_at(0)
    for stay in course.stays:
        members = np.array([prices.at(name) for name in stay.places])
        cost, _ = delivery(tree, members, prices.links, prices.processing)
        around = situation(prices, [Delivery(stay.places, 1.0)])
        assert cost == pytest.approx(tree_cost(around, places_of(prices, course.tree.links)))
