"""Runs spread over cores: all of them, each once, whatever some of them do to their worker."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.cloudpickle import register_pickle_by_value

from pipeline.samples import tiny
from sapwood.errors import SparkError
from sapwood.pipeline.study import fanout
from sapwood.pipeline.study.fanout import Batches, fan_out, parallelism, ready_cores
from sapwood.pipeline.study.runs import StudyRun, runs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Workers cannot import this file: what they are to run is sent as a whole.
register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def seed_only(run: StudyRun) -> dict[str, Any]:
    return {"published": run.seed % 1000}


def is_deadly(run: StudyRun) -> bool:
    return run.repeat == 1 and list(run.parameters.values()) == ["covering", 1]


def dies_sometimes(run: StudyRun) -> dict[str, Any]:
    """As when the system runs out of memory: no exception, the process is gone."""
    if is_deadly(run):
        os._exit(1)
    return seed_only(run)


def test_every_run_comes_back_once(spark: SparkSession) -> None:
    runs = runs_of(tiny(repeats="8"), "1")
    batches = list(fan_out(spark, runs, seed_only))
    assert len(batches) > 1
    assert sorted(run.run for batch, _ in batches for run in batch) == sorted(r.run for r in runs)
    for batch, rows in batches:
        assert sorted((row["run"], row["published"]) for row in rows) == sorted(
            (run.run, run.seed % 1000) for run in batch
        )


def test_short_runs_share_slots(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "BATCHES_MAX", 2)
    batches = list(fan_out(spark, runs_of(tiny(repeats="8"), "1"), seed_only))
    assert len(batches) == 2
    assert {len(rows) for _, rows in batches} == {16}


def test_a_run_that_ends_its_worker_is_alone_to_blame(spark: SparkSession) -> None:
    runs = runs_of(tiny(), "1")
    rows = [row for _, rows in fan_out(spark, runs, dies_sometimes) for row in rows]
    assert sorted(row["run"] for row in rows) == sorted(run.run for run in runs)
    failed = {row["run"]: row["error"] for row in rows if row["error"]}
    [(blamed, error)] = failed.items()
    assert [run.run for run in runs if is_deadly(run)] == [blamed]
    assert error.startswith("the worker process ended: ")
    assert "\n" not in error


def test_leaving_early_ends_what_is_under_way(spark: SparkSession) -> None:
    """One of them would go on for ever; the other core does the rest."""
    runs = runs_of(tiny(), "1")
    endless = runs[-1].run

    def ends_but_for_one(run: StudyRun) -> dict[str, Any]:
        while run.run == endless:
            signal.pause()
        return seed_only(run)

    batches = fan_out(spark, runs, ends_but_for_one)
    assert endless not in {run.run for run in next(batches)[0]}
    batches.close()
    assert spark.range(5).count() == 5


def test_cores_are_counted(spark: SparkSession) -> None:
    assert parallelism(spark) == 2
    assert ready_cores(spark) == 2


def test_a_session_that_has_ended_is_not_the_fault_of_runs() -> None:
    from pyspark.errors import PySparkException

    class Ended:
        def range(self, *numbers: int) -> None:
            raise PySparkException("Cannot call methods on a stopped SparkContext\n  at x")

    runs = runs_of(tiny(), "1")
    with pytest.raises(SparkError, match=r"^Spark has ended: Cannot call methods on a stopped"):
        Batches(Ended(), 2, seed_only).do(runs)  # type: ignore[arg-type]
