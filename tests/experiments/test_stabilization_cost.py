"""What leases cost: one small run beside the formula, and where curves meet."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.stabilization_cost import (
    COMBINATIONS,
    EXPERIMENTS,
    SAVED,
    bc,
    digests,
    scenario_of,
)
from sapwood.sim.scenario import from_mapping

COST, PEERS, MESSAGES = EXPERIMENTS


def test_a_scenario_has_its_share_of_the_subscriptions() -> None:
    point = {"subscriptions": 300_000, "lifetime": 60.0, "refresh": 60.0, "classes": 5}
    scenario = from_mapping(scenario_of(point))
    assert getattr(scenario.workload, "initial_subscriptions", None) == 1500
    assert scenario.clients_at == "leaves"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_control_traffic_is_near_the_formula_and_digests_send_less() -> None:
    point = {"subscriptions": 200_000, "lifetime": 600.0, "refresh": 60.0,
             "variant": "hierarchical", "periods": 0.5, "classes": 20}  # fmt: skip
    one = dataclasses.replace(COST, quick=COST.quick._replace(points=[point], runs=1))
    curves = curves_of(samples_here(one))
    assert 0.9 <= curves.mean("control / formula", bc(600.0, 60.0), 200_000.0) <= 1.2
    own = curves.mean("traffic", digests(600.0, 60.0), 200_000.0)
    assert own < 0.2 * curves.mean("traffic", bc(600.0, 60.0), 200_000.0)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_messages_of_one_class_are_near_the_flow_of_all() -> None:
    point = {"subscriptions": 200_000, "lifetime": 600.0, "refresh": 60.0, "classes": 2}
    one = dataclasses.replace(MESSAGES, quick=MESSAGES.quick._replace(points=[point], runs=1))
    curves = curves_of(samples_here(one))
    assert 0.8 <= curves.mean("by messages / by flow", bc(600.0, 60.0), 200_000.0) <= 1.25


def meeting_at(place: float) -> Curves:
    """What is saved falls in a straight line through the control traffic at a place."""
    points = []
    for x in (0.0, 250_000.0, 500_000.0):
        points.append(Point("traffic", SAVED, x, 9, 2000 + (place - x), 1.0, None, None))
        for lifetime, refresh in COMBINATIONS:
            line = bc(lifetime, refresh)
            points.append(Point("traffic", line, x, 9, 2000.0, 1.0, None, None))
            own = digests(lifetime, refresh)
            points.append(Point("traffic", own, x, 9, 100.0, 1.0, None, None))
            points.append(Point("control / formula", line, x, 9, 1.1, 0.1, None, None))
    return Curves(points)


@pytest.mark.parametrize(("place", "verdict"), [(296_600.0, HOLDS), (330_000.0, DIFFERS)])
def test_where_the_curves_meet_is_judged(place: float, verdict: str) -> None:
    found = verdicts(COST.judge(meeting_at(place)))
    assert found["T3.F2", "curves meet, 1000/s, 600 s, 60 s"] == verdict
