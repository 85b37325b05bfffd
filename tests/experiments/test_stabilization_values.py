"""Periods and bounds of the papers' examples."""

from __future__ import annotations

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import HOLDS, counts
from sapwood.experiments.curves import Curves
from sapwood.experiments.stabilization_values import EXPECTED, EXPERIMENTS


def test_all_numbers_are_those_of_the_papers() -> None:
    (experiment,) = EXPERIMENTS
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []
    assert len(claims) == len(EXPECTED)


def test_another_number_is_noticed() -> None:
    (experiment,) = EXPERIMENTS
    right = curves_of(samples_here(experiment))
    wrong = Curves([one._replace(mean=one.mean + 0.001) for one in right.points])
    assert counts(experiment.judge(wrong))[HOLDS] == 0
