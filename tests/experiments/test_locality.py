"""Interests that are not spread evenly."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.experiments.claims import HOLDS
from sapwood.experiments.locality import EXPERIMENTS, UNIFORM, gain_of, placed, weights_of


@pytest.mark.slow
def test_what_the_papers_say_of_locality_is_so() -> None:
    (experiment,) = EXPERIMENTS
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []


@pytest.mark.parametrize("subscriptions", [2000.0, 300_000.0])
def test_spread_evenly_it_is_the_closed_form(subscriptions: float) -> None:
    found = gain_of(placed(weights_of(UNIFORM), subscriptions, 1000.0, 600.0))
    assert found == pytest.approx(float(complete.gain(CompleteSetting(), subscriptions)), rel=1e-9)
