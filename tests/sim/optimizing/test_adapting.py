"""Adaptive brokers on S56, reduced: near global knowledge, settling, following."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood.analysis.overlay import anneal, exhaustive, tree_cost
from sapwood.analysis.overlay.situation import places_of
from sapwood.sim.optimizing.replay import situation_at
from sapwood.sim.optimizing.setup import SetupParameters, draw_course
from sapwood.sim.optimizing.ways import run_way
from sapwood.sim.topology.underlay import SMALL_UNDERLAY


@pytest.mark.slow
def test_adaptive_settles_near_what_global_knowledge_finds() -> None:
    """30 brokers whose jobs stay: cheaper than with CI, near annealing, and changes die out."""
    parameters = SetupParameters(
        brokers=30, jobs=15, subscribers=6, ticks=3000, publication_interval=10.0,
        underlay=SMALL_UNDERLAY, reassignment_interval=math.inf,
    )  # fmt: skip
    course = draw_course(parameters, 21)
    outcome = run_way("adaptive", course, 0.1)
    around = situation_at(course, 0)
    start = places_of(around.prices, course.tree.links)
    best = anneal(around, start, np.random.default_rng(1), steps=30_000, degree_max=16).cost
    found = tree_cost(around, places_of(around.prices, outcome.links))
    assert outcome.problems == ()
    assert found < 1.3 * best
    assert outcome.cost(2500) == pytest.approx(found, rel=0.1)
    assert outcome.changes(1000, 2000) > 20
    assert outcome.changes(2500) <= 4


@pytest.mark.slow
def test_adaptive_finds_nearly_the_best_of_all_trees_of_seven_brokers() -> None:
    shares = []
    for seed in range(201, 205):
        parameters = SetupParameters(
            brokers=7, jobs=5, subscribers=2, ticks=3000, underlay=SMALL_UNDERLAY,
            publication_interval=10.0, reassignment_interval=math.inf,
        )  # fmt: skip
        course = draw_course(parameters, seed)
        outcome = run_way("adaptive", course, 0.01)
        around = situation_at(course, 0)
        found = tree_cost(around, places_of(around.prices, outcome.links))
        shares.append(found / exhaustive(around).cost)
    assert max(shares) <= 1.35
    assert sum(shares) / len(shares) <= 1.06


@pytest.mark.slow
def test_adaptive_follows_when_everything_costs_something_else() -> None:
    parameters = SetupParameters(
        brokers=20, jobs=10, subscribers=5, ticks=4000, publication_interval=10.0,
        underlay=SMALL_UNDERLAY, reassignment_interval=math.inf, changes=(2000,),
    )  # fmt: skip
    course = draw_course(parameters, 31)
    outcome = run_way("adaptive", course, 0.1)
    around = situation_at(course, 3999)
    old, new = (
        tree_cost(around, places_of(around.prices, links))
        for links in (course.tree.links, outcome.links)
    )
    assert new < 0.8 * old
    assert outcome.changes(2000, 3000) > 5
    assert outcome.cost(3500) < 0.85 * outcome.cost(2000, 2250)
