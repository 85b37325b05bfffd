"""Studies: all runs once, resumed where they stopped, summed up, and told what went wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.cloudpickle import register_pickle_by_value

from pipeline.samples import CODE, TINY, digest_without_spark, rows_without_spark, tiny
from sapwood.errors import StudyError
from sapwood.pipeline.study import study as study_module
from sapwood.pipeline.study.runs import StudyRun, runs_of
from sapwood.pipeline.study.statistics import t_quantile
from sapwood.pipeline.study.study import Progress, check_measures, run_study
from sapwood.pipeline.study.study_file import parse
from sapwood.pipeline.study.worker import simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Workers cannot import this file: what they are to run is sent as a whole.
register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def breaks_covering(run: StudyRun) -> dict[str, Any]:
    if run.parameters["routing.algorithm"] == "covering" and run.repeat == 2:
        raise RuntimeError("broken")
    return simulate(run)


def forbidden(run: StudyRun) -> dict[str, Any]:
    raise AssertionError(f"{run.run} is done again")


def violating(run: StudyRun) -> dict[str, Any]:
    return simulate(run) | {"violations": int(run.repeat == 0)}


SINGLE = TINY.replace("repeats = 3", "repeats = 1")
"""Where it does not matter how many runs there are."""


class Stopped(Exception):  # noqa: N818 - as a person would
    """Somebody presses Ctrl-C."""


def test_a_study_is_the_sum_of_its_runs(spark: SparkSession, tmp_path: Path) -> None:
    study = tiny()
    seen: list[Progress] = []
    outcome = run_study(spark, study, str(tmp_path / "out"), progress=seen.append, code=CODE)
    assert outcome.digest == digest_without_spark(study)
    assert (outcome.runs, outcome.reused, outcome.failures, outcome.violations) == (12, 0, [], [])
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert (seen[0].done, seen[-1].done, seen[-1].runs) == (0, 12, 12)
    assert seen[-1].cost_done == pytest.approx(seen[-1].cost)
    _check_points(outcome.points, rows_without_spark(study))
    summary = pq.read_table(tmp_path / "out" / "summary").to_pylist()
    assert [(row["routing_algorithm"], row["workload_overlap"]) for row in summary[::2]] == [
        (algorithm, overlap) for algorithm in ("covering", "simple") for overlap in (0, 1)
    ]


def _check_points(points: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    expected = []
    for point in tiny().points():
        own = [row for row in rows if row["parameters"].count(str(point["routing.algorithm"]))]
        own = [row for row in own if f'overlap":{point["workload.overlap"]}' in row["parameters"]]
        hops = [row["notification_hops"] + row["control_hops"] for row in own]
        shares = [row["notification_hops"] / row["published"] for row in own]
        for measure, values in (("hops", hops), ("per_publication", shares)):
            deviation = float(np.std(values, ddof=1))
            half = t_quantile(2) * deviation / np.sqrt(3)
            mean = float(np.mean(values))
            expected.append(
                {
                    "parameters": point,
                    "measure": measure,
                    "runs": 3,
                    "mean": pytest.approx(mean),
                    "deviation": pytest.approx(deviation),
                    "low": pytest.approx(mean - half),
                    "high": pytest.approx(mean + half),
                }
            )
    assert points == expected


def written(folder: Path) -> int:
    """How often runs were written."""
    return len(list((folder / "runs").glob("code=*/batch=*")))


def test_an_interrupted_study_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was back when it was interrupted; written at once, or now and then."""
    study, folder = tiny(), str(tmp_path)

    def stop(at: Progress) -> None:
        if at.done:
            raise Stopped

    with pytest.raises(Stopped):
        run_study(spark, study, folder, progress=stop, code=CODE)
    assert written(tmp_path) == 1
    seen: list[Progress] = []
    monkeypatch.setattr(study_module, "WRITTEN_EVERY_SECONDS", 0.0)
    outcome = run_study(spark, study, folder, progress=seen.append, code=CODE)
    assert 0 < outcome.reused < 12
    assert written(tmp_path) == 3
    assert seen[0].done == outcome.reused
    assert outcome.digest == digest_without_spark(study)
    again = run_study(spark, study, folder, simulating=forbidden, code=CODE)
    assert (again.reused, again.digest, again.points) == (12, outcome.digest, outcome.points)
    assert pq.read_table(tmp_path / "runs").num_rows == 12


def test_a_folder_takes_more_of_its_study_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path)
    run_study(spark, parse(SINGLE.replace("[0, 1]", "[0]")), folder, code=CODE)
    outcome = run_study(spark, parse(SINGLE), folder, code=CODE)
    assert (outcome.runs, outcome.reused) == (4, 2)
    assert outcome.digest == digest_without_spark(parse(SINGLE))
    fewer = run_study(
        spark, parse(SINGLE.replace("[0, 1]", "[1]")), folder, simulating=forbidden, code=CODE
    )
    assert (fewer.runs, fewer.reused) == (2, 2)
    assert {row["parameters"]["workload.overlap"] for row in fewer.points} == {1}
    other = parse(SINGLE.replace('name = "tiny"', 'name = "other"'))
    with pytest.raises(StudyError, match=r"holds study 'tiny', not 'other'"):
        run_study(spark, other, folder, simulating=forbidden, code=CODE)


def test_other_code_does_all_again_and_violations_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path)
    first = run_study(spark, parse(SINGLE), folder, code="1")
    second = run_study(spark, parse(SINGLE), folder, code="2", simulating=violating)
    assert second.reused == 0
    assert first.points == second.points
    assert first.digest != second.digest
    assert pq.read_table(tmp_path / "runs").num_rows == 8
    assert first.violations == []
    assert {one.error for one in second.violations} == {"1 violations"}
    assert len(second.violations) == 4


def test_a_failing_run_is_told_and_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path)
    outcome = run_study(spark, tiny(), folder, simulating=breaks_covering, code=CODE)
    blamed = [run for run in runs_of(tiny(), CODE) if run.repeat == 2]
    blamed = [run for run in blamed if run.parameters["routing.algorithm"] == "covering"]
    assert sorted(one.run for one in outcome.failures) == sorted(run.run for run in blamed)
    assert {one.seed for one in outcome.failures} == {blamed[0].seed}
    assert all("RuntimeError: broken" in one.error for one in outcome.failures)
    runs = {
        row["runs"]
        for row in outcome.points
        if row["parameters"]["routing.algorithm"] == "covering"
    }
    assert runs == {2}, "the others are there"
    assert pq.read_table(tmp_path / "failures").num_rows == 2
    mended = run_study(spark, tiny(), folder, code=CODE)
    assert (mended.reused, mended.failures) == (10, [])
    assert mended.digest == digest_without_spark(tiny())
    assert pq.read_table(tmp_path / "failures").num_rows == 0


@pytest.mark.parametrize(
    ("sql", "expected"),
    [("hops", "cannot be resolved"), ("1 +", "Syntax error"), ("nothing(1)", "nothing")],
)
def test_wrong_sql_is_refused_before_anything_runs(
    spark: SparkSession, sql: str, expected: str
) -> None:
    study = parse(TINY.replace('"notification_hops + control_hops"', f'"{sql}"'))
    with pytest.raises(StudyError) as found:
        check_measures(spark, study)
    assert str(found.value).startswith("measures.hops is not SQL over the columns of a run: ")
    assert expected in str(found.value)
    assert "\n" not in str(found.value)


def test_a_study_that_says_nothing_has_measures(spark: SparkSession, tmp_path: Path) -> None:
    study = parse(TINY.partition("[parameters]")[0])
    outcome = run_study(spark, study, str(tmp_path), code=CODE)
    assert [row["measure"] for row in outcome.points] == [
        "notification_hops", "control_hops", "table_entries", "delivered"
    ]  # fmt: skip
    assert {row["runs"] for row in outcome.points} == {3}
