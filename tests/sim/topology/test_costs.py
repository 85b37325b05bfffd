"""Costs of links and of processing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from sapwood.errors import ParameterError
from sapwood.sim.topology import broker_names, chain, star
from sapwood.sim.topology.costs import (
    ConstantCosts,
    UnderlayCosts,
    draw_processing_costs,
    tree_cost,
)
from sapwood.sim.topology.underlay import SMALL_UNDERLAY, draw_underlay, place_brokers

BROKERS = broker_names(8)
OVERLAY = place_brokers(draw_underlay(SMALL_UNDERLAY, Random(1)), BROKERS, Random(1))


def test_costs_follow_the_delays_up_to_the_largest() -> None:
    costs = UnderlayCosts(OVERLAY)
    pairs = [(a, b) for a in BROKERS for b in BROKERS if a < b]
    assert max(costs.cost(a, b) for a, b in pairs) == 10
    assert min(costs.cost(a, b) for a, b in pairs) > 0
    assert costs.cost("B1", "B2") == costs.cost("B2", "B1")
    shares = [costs.cost(a, b) / OVERLAY.delay(a, b) for a, b in pairs]
    assert shares == pytest.approx([shares[0]] * len(shares))


def test_costs_begin_at_the_lowest() -> None:
    costs = UnderlayCosts(OVERLAY, 2, 4)
    share = OVERLAY.delay("B1", "B2") / OVERLAY.delay_max
    assert costs.cost("B1", "B2") == 2 + 2 * share


def test_a_broker_alone_has_no_costs() -> None:
    alone = place_brokers(OVERLAY.underlay, ["B1"], Random(1))
    assert UnderlayCosts(alone).cost("B1", "B1") == 0


def test_processing_costs_are_drawn_between_bounds() -> None:
    drawn = draw_processing_costs(BROKERS, Random(7))
    assert list(drawn) == list(BROKERS)
    assert drawn == draw_processing_costs(BROKERS, Random(7))
    assert all(0 <= cost <= 10 for cost in drawn.values())
    assert draw_processing_costs(BROKERS, Random(7), 3, 3) == dict.fromkeys(BROKERS, 3)


def test_the_cost_of_a_tree() -> None:
    assert tree_cost(chain(8), ConstantCosts(2.5)) == 17.5
    costs = UnderlayCosts(OVERLAY)
    assert tree_cost(star(8), costs) == sum(costs.cost("B1", b) for b in BROKERS[1:])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ConstantCosts(-1), "cost: is -1; wanted a finite number, 0 or more"),
        (lambda: UnderlayCosts(OVERLAY, 3, 2), "cost_min: is 3, above cost_max, 2"),
        (
            lambda: draw_processing_costs(BROKERS, Random(1), -1, 2),
            "cost_min: is -1; wanted a finite number, 0 or more",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem
