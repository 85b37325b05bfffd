"""Trees changed by published heuristics, counted: against the replay and the exact simulator."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from sapwood.analysis.overlay import minimum_spanning_tree
from sapwood.analysis.overlay.situation import places_of
from sapwood.errors import ParameterError
from sapwood.protocol.tree import Groups
from sapwood.sim.flow import TopologyRun, topology
from sapwood.sim.optimizing.replay import replayed_cost, situation_at
from sapwood.sim.optimizing.ways import run_way
from sim.optimizing.courses import SMALL, small

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

PUBLISHED = ("lmst", "lmit", "ci", "ci-hysteresis", "ci-sketch", "ci-stable")


def assert_tree(found: TopologyRun, names: tuple[str, ...]) -> None:
    """The links join all brokers, and none too much."""
    groups = Groups(names)
    assert len(found.outcome.links) == len(names) - 1
    assert all(groups.join(left, right) for left, right in found.outcome.links)
    assert found.outcome.problems == ()
    assert sum(found.degrees) == 2 * (len(names) - 1)


@pytest.mark.parametrize("changes", [{}, {"changes": (500,)}, {"slow": (250, 750)}])
def test_a_tree_that_stays_costs_what_the_replay_says(changes: dict[str, object]) -> None:
    course = small(1, **changes)
    found = topology(course, "static")
    for reading in found.outcome.measured:
        begin = reading.until - 250
        wanted = replayed_cost(course, course.tree.links, begin, reading.until)
        assert reading.cost == pytest.approx(wanted, rel=1e-9)
    assert found.outcome.changes() == 0
    assert {frozenset(link) for link in found.outcome.links} == {
        frozenset(link) for link in course.tree.links
    }


@pytest.mark.parametrize("way", PUBLISHED)
def test_what_changes_the_tree_leaves_a_tree(way: str) -> None:
    course = small(2, ticks=4000)
    found = topology(course, way)
    assert_tree(found, course.brokers)
    assert sum(one.changes for one in found.outcome.measured[4:]) > 0
    assert sum(one.changes for one in found.outcome.measured[:4]) == 0  # it begins at tick 1,000
    again = topology(course, way)
    assert found == again


def test_lmst_of_any_horizon_ends_with_the_minimum_spanning_tree() -> None:
    """Where all hear all, every exchange for a cheaper link is found."""
    course = small(3, ticks=6000)
    found = topology(course, "lmst", horizon=13)
    around = situation_at(course, 5999)
    wanted = {frozenset(link) for link in minimum_spanning_tree(around)}
    got = {frozenset(link) for link in places_of(around.prices, found.outcome.links)}
    assert got == wanted


def test_broadcasts_and_requests_are_counted() -> None:
    found = topology(small(2, ticks=4000), "ci")
    measured = found.outcome.measured
    assert found.outcome.sent("Knowledge", 0, 1000) == 0
    assert found.outcome.sent("Knowledge", 2000) > 0
    assert found.broadcast_costs[0] == found.request_costs[0] == 0
    assert found.broadcast_costs[-1] > 0 < found.request_costs[-1]
    assert all(one.control["RingRequest"] >= one.changes for one in measured)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["lmst", "ci"])
def test_the_exact_simulator_comes_to_about_the_same_cost(way: str) -> None:
    """Paired by seed: the same course, and brokers that really exchange links."""
    ratios = []
    for seed in range(6):
        course = small(seed, ticks=3000, reassignment_interval=math.inf)
        exact, flow = run_way(way, course), topology(course, way).outcome
        ratios.append(flow.cost(2000) / exact.cost(2000))
    error = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1) < 0.05 + 2 * error, ratios


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ParameterError, match="'best'; choose from static, lmst"):
        topology(small(1), "best")


def test_broadcasts_by_traffic_are_for_the_exact_simulator() -> None:
    with pytest.raises(ParameterError, match="broadcast_after"):
        topology(small(1), "ci-triggered")


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="horizon"):
        topology(small(1), "ci", horizon=0)


def test_a_course_of_another_length_is_read_off_as_often() -> None:
    course = small(1, ticks=msgspec.structs.asdict(SMALL)["ticks"] * 2)
    assert len(topology(course, "static").outcome.measured) == 8
