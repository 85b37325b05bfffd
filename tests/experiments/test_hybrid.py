"""Hybrid routing: the optimum to the last digit, and the judgement of a course of time."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.hybrid import BROKERS, EXPERIMENTS, FLOW, OWN, linear_ramp

BY_NAME = {one.name: one for one in EXPERIMENTS}


@pytest.mark.slow
def test_the_optimum_is_that_of_the_closed_form() -> None:
    experiment = BY_NAME["hybrid-optimum"]
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []


def test_the_ramp_has_the_printed_rates() -> None:
    ramp = dict(linear_ramp())
    assert [ramp[at] for at in (0.0, 400.0, 850.0, 950.0, 1800.0)] == [
        10.0,
        10.0,
        20_000.0,
        20_000.0,
        2_000.0,
    ]
    assert ramp[630.0] == pytest.approx(10 + 19_990 * 230 / 450)


def course(edges_early: float, carried: float) -> Curves:
    """A course of time as it should be, but for two things."""
    points = []
    for end in range(20, 2001, 20):
        at = float(end)
        simple = 83.0 if end <= 400 else 70_000.0 if end >= 800 else 30_000.0
        edges = 0.0 if end <= 400 else 140.0 if end < 1300 else 124.0
        points += [
            Point("carried", "simple", at, 9, simple, 1.0, simple - 1, simple + 1),
            Point("carried", "flooding", at, 9, 63_000.0, 9.0, 62_990.0, 63_010.0),
            Point("carried", OWN, at, 9, carried if end > 400 else 83.0, 1.0, carried, carried),
            Point(
                "flooded edges", OWN, at, 9, edges_early if end <= 400 else edges, 1.0,
                edges - 1, edges + 1,
            ),
            Point("switches", OWN, at, 9, 10.0 if 400 < end <= 500 else 0.0, 1.0, 0.0, 20.0),
        ]  # fmt: skip
    return Curves(points)


def test_a_course_as_printed_meets_all_claims() -> None:
    claims = BY_NAME["P4-F3"].judge(course(0.0, 25_000.0))
    assert [one for one in claims if one.verdict != HOLDS] == []


def test_early_switches_and_too_much_traffic_are_noticed() -> None:
    found = verdicts(BY_NAME["P4-F3"].judge(course(2.0, 67_000.0)))
    assert {text for (_, text), verdict in found.items() if verdict == DIFFERS} == {
        "(b) edges that flood until 400 s",
        "(e) at most 1.05 times the better of simple and flooding, less the interval",
    }


@pytest.mark.slow
def test_edges_switch_in_the_printed_waves() -> None:
    experiment = BY_NAME["P4-F2"]
    samples = samples_here(experiment)
    claims = experiment.judge(curves_of(samples))
    assert [one.verdict for one in claims] == [HOLDS, HOLDS]
    spoilt = [one._replace(value=2.0) if one[:2] == ("to simple", "31") else one for one in samples]
    assert experiment.judge(curves_of(spoilt))[0].verdict == DIFFERS


def test_what_brokers_carry_is_compared_with_flow() -> None:
    def found(carried: float, invalid: float) -> list[str]:
        points = [
            Point("carried", BROKERS, 500.0, 2, carried, 1.0, None, None),
            Point("carried", FLOW, 500.0, 2, 100.0, 1.0, None, None),
            Point("invalid edges", BROKERS, 0.0, 2, invalid, 0.0, None, None),
        ]
        return [one.verdict for one in BY_NAME["hybrid-messages"].judge(Curves(points))]

    assert found(101.0, 0.0) == [HOLDS, HOLDS]
    assert found(110.0, 1.0) == [DIFFERS, DIFFERS]
