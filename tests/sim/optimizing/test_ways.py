"""The ways by name, and what tells them apart."""

from __future__ import annotations

import math

import pytest

from sapwood.errors import ParameterError
from sapwood.sim.optimizing.replay import replayed_cost
from sapwood.sim.optimizing.setup import SetupParameters, draw_course
from sapwood.sim.optimizing.ways import run_way, way_named
from sapwood.sim.topology.underlay import SMALL_UNDERLAY
from sim.optimizing.courses import small


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"lmts.*lmst"):
        way_named("lmts")


@pytest.mark.slow
def test_lmst_settles_on_cheaper_links() -> None:
    course = small(6, ticks=4500)
    outcome = run_way("lmst", course)
    assert outcome.changes(1000, 2000) > 10
    assert outcome.changes(3500) == 0
    prices = course.prices_at(0)
    before, after = (
        sum(prices.sending(a, b) for a, b in links) for links in (course.tree.links, outcome.links)
    )
    assert after < 0.8 * before


@pytest.mark.slow
def test_the_order_of_the_ways_on_a_reduced_set_up() -> None:
    """30 brokers, 2,000 ticks: both heuristics beat the static tree."""
    parameters = SetupParameters(
        brokers=30, jobs=15, subscribers=6, ticks=2000, publication_interval=25.0,
        underlay=SMALL_UNDERLAY, reassignment_interval=math.inf,
    )  # fmt: skip
    course = draw_course(parameters, 21)
    static_cost = replayed_cost(course, course.tree.links, 1500, 2000)
    costs = {way: run_way(way, course, 0.2).cost(1500) for way in ("lmst", "ci")}
    assert costs["ci"] < 0.85 * static_cost
    assert costs["lmst"] < 0.9 * static_cost
