"""Trees that become cheaper: one short course, and what is claimed of it."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from experiments.judging import curves_of, samples_here, verdicts
from sapwood.experiments.claims import DIFFERS, HOLDS
from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.experiment import Experiment
from sapwood.experiments.topology import CI, EXPERIMENTS, LMST, OWN, QUICK, STATIC, course_of

BY_NAME = {one.name: one for one in EXPERIMENTS}


def shortened(experiment: Experiment) -> Experiment:
    """One run of two ways and the static tree, for 2,000 ticks."""
    setup = msgspec.to_builtins(msgspec.structs.replace(QUICK, ticks=2000))
    points = [
        {**one, "setup": setup, "ways": [STATIC, LMST, OWN]} for one in experiment.quick.points
    ]
    return dataclasses.replace(
        experiment, pairs=(), quick=experiment.quick._replace(points=points, runs=1)
    )


@pytest.mark.slow
def test_before_anything_may_change_all_trees_cost_the_same() -> None:
    curves = curves_of(samples_here(shortened(BY_NAME["T5.F9"])))
    for way in (LMST, OWN):
        assert curves.mean("cost", way, 750.0) == pytest.approx(
            curves.mean("cost", STATIC, 750.0), rel=0.05
        )
        assert curves.mean("problems", way) == 0
    assert curves.mean("final", "lower bound") <= curves.mean("final", "annealed")
    assert sum(one.mean for one in curves.line("degrees", STATIC)) == QUICK.brokers


def test_the_same_seed_is_the_same_course() -> None:
    (point,) = BY_NAME["T5.F10"].quick.points
    ours, other = course_of(point, 5), course_of(point, 5)
    assert (ours.tree, ours.stays) == (other.tree, other.stays)
    assert (ours.published == other.published).all()


def test_changes_keep_their_place_in_the_quick_size() -> None:
    setup = BY_NAME["T5.F10"].quick.points[0]["setup"]
    assert tuple(setup["changes"]) == (2000, 4000)
    assert tuple(BY_NAME["T5.F11"].quick.points[0]["setup"]["slow"]) == (2000, 4400)


def finals(**costs: float) -> Curves:
    """Final costs, each line above the next by as much in every run."""
    points = [Point("final", name, 0.0, 9, cost, 0.1, cost, cost) for name, cost in costs.items()]
    for upper, lower in (("static", "lmit"), ("lmit", "lmst"), ("lmst", "ci")):
        gap = costs[upper] - costs[lower]
        points.append(
            Point("final difference", f"{upper} minus {lower}", 0.0, 9, gap, 0.1, gap, gap)
        )
    return Curves(points)


def test_the_order_of_the_final_costs_is_judged() -> None:
    judge = BY_NAME["T5.F8"].judge
    right = verdicts(judge(finals(static=10.0, lmit=8.0, lmst=7.0, ci=5.5)))
    wrong = verdicts(judge(finals(static=10.0, lmit=8.0, lmst=7.0, ci=7.5)))
    text = f"final cost: {LMST} above {CI}"
    assert (right["T5.F8", text], wrong["T5.F8", text]) == (HOLDS, DIFFERS)
    assert (right["T5.F8", "CI / static"], wrong["T5.F8", "CI / static"]) == (HOLDS, DIFFERS)
