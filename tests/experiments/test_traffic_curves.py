"""The formulas' experiments: every claim, in this process."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import HOLDS, counts
from sapwood.experiments.curves import Curves
from sapwood.experiments.experiment import Experiment
from sapwood.experiments.traffic_curves import EXPERIMENTS, poisson

BY_NAME = {one.name: one for one in EXPERIMENTS}


@pytest.mark.parametrize("experiment", EXPERIMENTS[:-1], ids=lambda one: one.name)
def test_what_the_thesis_draws_is_so(experiment: Experiment) -> None:
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []


def test_of_the_break_even_some_claims_are_too_wide() -> None:
    experiment = BY_NAME["T3.F18"]
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert {one.text for one in claims if one.verdict != HOLDS} == {
        "never more than 1/60 dearer, 100/s, 600 s, 60 s",
        "never more than 1/60 dearer, 100/s, 60 s, 60 s",
        "never more than 1/60 dearer, 100/s, 60 s, 600 s",
        "-bl is the lower bound, 100/s, 60 s, 60 s",
        "-bl is the lower bound, 100/s, 60 s, 600 s",
        "without leasing never worse, 100/s, 60 s, 60 s",
        "without leasing never worse, 100/s, 60 s, 600 s",
    }


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_other_values_are_noticed(experiment: Experiment) -> None:
    """Two percent more of everything meets fewer claims."""
    right = curves_of(samples_here(experiment))
    wrong = Curves([one._replace(mean=1.02 * one.mean + 1e-6) for one in right.points])
    assert counts(experiment.judge(wrong))[HOLDS] < counts(experiment.judge(right))[HOLDS]


def test_poisson() -> None:
    assert poisson(2.0, 0) == pytest.approx(0.1353352832366127)
    assert sum(poisson(3.0, count) for count in range(60)) == pytest.approx(1.0)
