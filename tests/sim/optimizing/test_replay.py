"""What notifications cost without being sent: the same as by real hops."""

from __future__ import annotations

import math

import pytest

from sapwood.sim.optimizing.replay import replayed_cost, situation_at
from sapwood.sim.optimizing.ways import static
from sapwood.sim.optimizing.world import World
from sim.optimizing.courses import small


@pytest.mark.slow
def test_costs_by_hops_are_those_of_the_formula() -> None:
    """A tree that stays: what is counted on links is Eq. 5.3, but for what is under way."""
    course = small(3, reassignment_interval=math.inf, ticks=750)
    outcome = World(course, static).run()
    expected = replayed_cost(course, course.tree.links, 250, 750)
    assert outcome.cost(250) == pytest.approx(expected, rel=0.02)
    assert outcome.changes() == 0
    assert outcome.problems == ()


def test_abrupt_changes_draw_everything_anew() -> None:
    course = small(8, changes=(500,))
    assert course.prices_at(499) == course.draws[0]
    assert course.prices_at(500) == course.draws[1]
    assert all(stay.end <= 500 or stay.begin >= 500 for stay in course.stays)
    outcome = World(course, static).run()
    before = replayed_cost(course, course.tree.links, 250, 500)
    after = replayed_cost(course, course.tree.links, 500, 1000)
    assert outcome.cost(250, 500) == pytest.approx(before, rel=0.05)
    assert outcome.cost(500, 1000) == pytest.approx(after, rel=0.05)


def test_the_situation_of_a_time_has_all_jobs() -> None:
    course = small(11)
    assert situation_at(course, 700).concerned.sum(axis=1).tolist() == [5] * 6
