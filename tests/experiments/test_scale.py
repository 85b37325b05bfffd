"""Large networks: the flow simulator beside the formula."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import DIFFERS
from sapwood.experiments.scale import EXPERIMENTS

(SCALE,) = EXPERIMENTS


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_flow_and_formula_agree_on_a_thousand_brokers() -> None:
    points = [{"brokers": 100}, {"brokers": 1000}]
    one = dataclasses.replace(SCALE, quick=SCALE.quick._replace(points=points, runs=3))
    claims = SCALE.judge(curves_of(samples_here(one)))
    assert [claim for claim in claims if claim.verdict == DIFFERS] == []
