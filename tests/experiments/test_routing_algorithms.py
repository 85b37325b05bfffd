"""Routing algorithms beside each other: the theorems, and who knows of a subscription."""

from __future__ import annotations

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.routing_algorithms import EXPERIMENTS

BY_NAME = {one.name: one for one in EXPERIMENTS}


@pytest.mark.slow
def test_who_knows_of_a_subscription() -> None:
    experiment = BY_NAME["routing-variants"]
    samples = samples_here(experiment)
    assert {one.verdict for one in experiment.judge(curves_of(samples))} == {HOLDS}
    spoilt = [one._replace(value=0.0) if one.line == "peer-to-peer: B4" else one for one in samples]
    assert DIFFERS in {one.verdict for one in experiment.judge(curves_of(spoilt))}


@pytest.mark.slow
def test_advertisements_save_most_where_publishers_stay() -> None:
    experiment = BY_NAME["advertisements"]
    claims = experiment.judge(curves_of(samples_here(experiment)))
    assert [one for one in claims if one.verdict != HOLDS] == []
