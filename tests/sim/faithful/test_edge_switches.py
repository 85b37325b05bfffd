"""Edges that switch all the time: nothing is lost, repeated or reordered, whatever else happens."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.sim.faithful.case import draw_case
from sapwood.sim.faithful.edge_switches import (
    SwitchingCaseRun,
    case_problems,
    command,
    course_problems,
    switches,
)


@pytest.mark.parametrize("seed", [7, 35])
def test_comparisons_that_waited_on_a_link_are_no_contradiction(seed: int) -> None:
    """Seeds in which several came at once before the answer to a switch."""
    assert case_problems(seed) == [], command(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_few_networks(seed: int) -> None:
    assert case_problems(seed) == [], command(seed)
    assert course_problems(seed) == [], command(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 2000, 20))
def test_very_many_networks(first: int) -> None:
    for seed in range(first, first + 20):
        assert case_problems(seed) == [], command(seed)
        assert course_problems(seed) == [], command(seed)


@pytest.mark.slow
def test_edges_really_switch() -> None:
    """Or the swarm would show nothing."""
    found: Counter[str] = Counter()
    for seed in range(2):
        run = SwitchingCaseRun(draw_case(seed))
        run.run()
        found += switches(run.network.brokers)
    assert found["stopped"] > 5
    assert found["told"] > 2
