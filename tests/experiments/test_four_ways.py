"""The same clients by every way: simulated, counted and by formula; and how that is judged."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point, Sample
from sapwood.experiments.four_ways import EXPERIMENTS

(FOUR_WAYS,) = EXPERIMENTS


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_simulation_flow_and_formula_agree_without_a_live_network() -> None:
    points = [{**one, "brokers": 7, "live": False} for one in FOUR_WAYS.quick.points]
    samples = [
        Sample(*one[:3], seed, one.y)
        for point in points
        for seed in range(6)
        for one in FOUR_WAYS.measure(point, seed)
    ]
    claims = FOUR_WAYS.judge(curves_of(samples))
    assert [one.text for one in claims if one.verdict != HOLDS] == []
    assert len(claims) == 4


def live(ratio: float) -> Curves:
    points = [Point("live / simulated", "identity", 0.0, 2, ratio, 0.0, ratio, ratio)]
    for line in ("formula", "message by message", "flow"):
        points.append(Point("links", f"identity, {line}", 0.0, 2, 2.0, 0.1, 1.9, 2.1))
    return Curves(points)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.05, HOLDS), (0.85, DIFFERS)])
def test_a_live_network_that_carries_something_else_is_a_difference(
    ratio: float, verdict: str
) -> None:
    found = verdicts(FOUR_WAYS.judge(live(ratio)))
    assert found["own", "identity: live / message by message, the same clients"] == verdict
