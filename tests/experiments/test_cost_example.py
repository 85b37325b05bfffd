"""The example of 5.4.3 and the constants of the evaluation."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import HOLDS
from sapwood.experiments.cost_example import EXPERIMENTS


@pytest.mark.slow
def test_all_numbers_are_those_of_the_thesis() -> None:
    (experiment,) = EXPERIMENTS
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []
