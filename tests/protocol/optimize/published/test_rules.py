"""The arithmetic of rings, against the analysis; whole decisions are in `test_judging`."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.analysis.delivery.exchange import Step, path_cost
from sapwood.protocol.optimize.published.rules import add_ring_costs, costs_round, least_link


def test_costs_round_a_ring_are_those_of_the_analysis() -> None:
    random = Random(4)
    for _ in range(50):
        size = random.randint(3, 6)
        links, processing = ([random.random() for _ in range(size)] for _ in range(2))
        shared = [float(random.choice((0, 7, 30))) for _ in range(size)]
        pairs = [float(random.randint(0, 30)) for _ in range(size)]
        found = [0.0] * size
        costs_round(0, 1, links, processing, shared, pairs, found)
        way = [
            Step(links[at - 1], processing[at], shared[at], min(shared[at], pairs[at - 1]))
            for at in range(1, size)
        ]
        wanted = [path_cost(way[:end]) for end in range(1, len(way) + 1)]
        assert found[1:] == pytest.approx(wanted)


def test_what_is_met_before_a_link_does_not_cost_without_it() -> None:
    """From the second of four brokers, one way and the other."""
    forth, back = [0.0] * 4, [0.0] * 4
    add_ring_costs(1, 1, [1.0, 0.0, 2.0, 3.0], [10.0, 0.0, 1.0, 5.0], forth)
    add_ring_costs(1, -1, [1.0, 0.0, 2.0, 3.0], [10.0, 0.0, 1.0, 5.0], back)
    assert forth == [2 * 1 + 3 * 5 + 1 * 10, 0, 2 * 1, 2 * 1 + 3 * 5]
    assert back == [0, 1 * 10 + 3 * 5 + 2 * 1, 1 * 10 + 3 * 5, 1 * 10]


def test_the_cheapest_link_goes_if_that_is_worth_it() -> None:
    assert least_link([5.0, 3.0, 4.0, 3.2], 0.0) == 1
    assert least_link([5.0, 3.0, 4.0, 3.1], 0.05) == -1
    assert least_link([5.0, 3.0, 4.0, 2.0], 0.0) == -1
