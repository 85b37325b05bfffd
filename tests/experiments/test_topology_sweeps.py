"""Sweeps over heuristics: what is judged, and one short run."""

from __future__ import annotations

import dataclasses

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.topology_sweeps import EXPERIMENTS, believed, cached

BY_NAME = {one.name: one for one in EXPERIMENTS}


def test_knowledge_is_believed_as_long_as_printed() -> None:
    assert believed(250.0, 3) == pytest.approx(2.81)
    assert cached(18 * 256, 1.0) == {"cache_size": 4608, "filter_bits": 55_296}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_broadcasts_that_go_farther_cost_more() -> None:
    one = BY_NAME["T5.F6"]
    curves = curves_of(samples_here(dataclasses.replace(one, pairs=()), 1), is_printed=False)
    found = {claim.text: claim.verdict for claim in one.judge(curves)}
    assert found["broadcasts cost more the farther they go"] == HOLDS


def weighed(lmit: float, lmst: float) -> Curves:
    """Improvements by the share of processing: slopes of two heuristics; CI is above them."""
    points = []
    for at in range(11):
        x = at / 10
        values = {"lmst": 40 + lmst * x, "lmit": 20 + lmit * x, "ci": 60.0, "adaptive": 70.0}
        points += [Point("improvement", way, x, 9, y, 1.0, y, y) for way, y in values.items()]
        for upper, lower in (("lmit", "lmst"), ("ci", "lmst"), ("ci", "lmit")):
            gap = values[upper] - values[lower]
            name = f"{upper} minus {lower}"
            points.append(Point("improvement difference", name, x, 9, gap, 0.1, gap, gap))
    return Curves(points)


def test_what_costs_is_judged() -> None:
    judge = BY_NAME["T5.F15"].judge
    assert {one.verdict for one in judge(weighed(1.0, -40.0))} == {HOLDS}
    wrong = {one.text: one.verdict for one in judge(weighed(20.0, 5.0))}
    assert wrong["lMST: slope over the share of processing"] == DIFFERS
    assert wrong["lMIT: slope, flat beside that of lMST"] == DIFFERS
