"""Experiments on Spark: the same as without it, resumable, and refused before they start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from experiments.judging import curves_of, samples_here
from sapwood.errors import ExperimentError
from sapwood.experiments.curves import read_csv
from sapwood.experiments.folder import Owner, claim
from sapwood.experiments.registry import named
from sapwood.experiments.report import build
from sapwood.experiments.running import code_of, plan, run, runs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "T3.F15"


def test_an_experiment_runs_on_spark_and_goes_on_from_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    experiment = named(NAME)
    planned = plan(experiment, is_quick=True, repeats=2, out=tmp_path)
    assert (planned.runs, planned.size) == (2, "quick, 2 runs a point")
    outcome = run(spark, experiment, planned, is_quick=True)
    assert (outcome.runs, outcome.reused, outcome.failures) == (2, 0, [])
    folder = tmp_path / NAME
    here = curves_of(samples_here(experiment, 2))
    assert sorted(read_csv(folder / "curve.csv", is_printed=True).points) == sorted(here.points)
    assert outcome.claims == experiment.judge(here)
    assert json.loads((folder / "outcome.json").read_bytes())["digest"] == outcome.digest
    assert [(folder / name).is_file() for name in outcome.figures] == [True]

    again = run(spark, experiment, planned, is_quick=True)
    assert (again.reused, again.digest, again.claims) == (2, outcome.digest, outcome.claims)

    page = build(tmp_path).read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert outcome.code in page
    assert "http" not in page


def test_results_of_another_version_are_refused_before_anything_runs(tmp_path: Path) -> None:
    claim(tmp_path / NAME, Owner(name=NAME, code="0-old", size="quick"))
    with pytest.raises(ExperimentError, match="holds results of version 0-old, this is"):
        plan(named(NAME), is_quick=True, repeats=None, out=tmp_path)


def test_runs_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="--runs is 0; wanted 1 or more"):
        plan(named(NAME), is_quick=True, repeats=0, out=tmp_path)


def test_a_run_is_known_by_its_experiment_parameters_seed_and_code() -> None:
    experiment = named(NAME)
    runs = runs_of(experiment, experiment.quick, 3, "1")
    more = runs_of(experiment, experiment.quick, 4, "1")
    assert [one.run for one in more[:3]] == [one.run for one in runs]
    other = runs_of(experiment, experiment.quick, 3, "2")
    assert not {one.run for one in other} & {one.run for one in runs}
    assert len({one.run for one in runs}) == 3


def test_the_code_of_an_experiment_has_its_own_module_in_it() -> None:
    assert code_of(named("T3.F9")) == code_of(named("T3.F18"))
