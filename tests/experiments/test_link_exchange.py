"""Exchanging a link: a small selection of the runs, and what is claimed of them."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.experiment import Experiment
from sapwood.experiments.link_exchange import CAUSAL, EXPERIMENTS, OWN, STRAWMAN, method_of
from sapwood.sim.reconfiguring.methods import PUBLISHED

(LINK_EXCHANGE,) = EXPERIMENTS


def smoke(experiment: Experiment) -> Experiment:
    """Two runs of each way on the shortest ring."""
    points = [
        one
        for one in experiment.quick.points
        if one["ring"] == 3 and not one["method"].startswith("time-out")
    ]
    return dataclasses.replace(experiment, quick=experiment.quick._replace(points=points, runs=2))


@pytest.mark.slow
def test_ours_lose_nothing_and_the_strawman_does() -> None:
    samples = samples_here(smoke(LINK_EXCHANGE))
    found = verdicts(LINK_EXCHANGE.judge(curves_of(samples, is_printed=False)))
    assert [key for key, verdict in found.items() if verdict == DIFFERS] == []
    for name in (CAUSAL, OWN):
        assert found["P2.1", f"lost with {name}, all runs"] == HOLDS
        assert found["P2.1", f"duplicated with {name}, all runs"] == HOLDS
    assert found["T4.2", "lost with the strawman"] == HOLDS
    assert found["T4.11", "never more than 6n coordination messages"] == HOLDS

    spoilt = [
        one._replace(value=one.value + 1) if one[:2] == ("lost", OWN) else one for one in samples
    ]
    found = verdicts(LINK_EXCHANGE.judge(curves_of(spoilt, is_printed=False)))
    assert found["P2.1", f"lost with {OWN}, all runs"] == DIFFERS


def test_ways_have_names() -> None:
    assert method_of(STRAWMAN) is PUBLISHED[STRAWMAN]
    assert getattr(method_of("time-out 0.4"), "timeout", None) == 0.4
