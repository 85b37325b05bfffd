"""Runs that observe values of their own: done once, kept, averaged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapwood.pipeline.study.observing import intervals, observe
from sapwood.pipeline.study.runs import StudyRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def runs(count: int) -> list[StudyRun]:
    return [
        StudyRun(
            run=f"r{seed}",
            point="p",
            parameters={"size": 3},
            scenario={},
            repeat=seed,
            seed=seed,
            check=False,
            measure_from=0.0,
            code="1",
        )
        for seed in range(count)
    ]


def seed_squared(run: StudyRun) -> dict[str, Any]:
    if run.seed == 5:
        raise ValueError("five is not wanted")
    return {"values": f"[{run.seed**2}]"}


def test_what_is_there_is_not_done_again(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "runs")
    first = observe(spark, "squares", runs(3), folder, seed_squared)
    assert [
        (row["run"], row["values"]) for row in sorted(first.rows, key=lambda row: row["run"])
    ] == [("r0", "[0]"), ("r1", "[1]"), ("r2", "[4]")]
    assert (first.reused, first.failures) == (0, [])
    more = observe(spark, "squares", runs(6), folder, seed_squared)
    assert (more.reused, len(more.rows)) == (3, 5)
    assert [(one.run, one.error.startswith("ValueError: five is")) for one in more.failures] == [
        ("r5", True)
    ]
    assert observe(spark, "squares", runs(3), folder, seed_squared).digest == first.digest


def test_means_come_in_the_order_of_the_keys(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("b", 1.0, 0, 3.0), ("a", 1.0, 0, 1.0), ("b", 1.0, 1, 5.0)]
    found = intervals(spark, ("line", "x"), rows, str(tmp_path / "values"))
    assert [(row["line"], row["runs"], row["mean"]) for row in found] == [
        ("b", 2, 4.0),
        ("a", 1, 1.0),
    ]
    assert spark.read.parquet(str(tmp_path / "values")).count() == 3
    assert intervals(spark, ("line", "x"), [], str(tmp_path / "none")) == []
