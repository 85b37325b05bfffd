"""Run a study: what is left of it, spread over Spark, and what it comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from sapwood.errors import StudyError
from sapwood.pipeline.spark.errors import job_errors
from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.spark.local import in_words, to_frame
from sapwood.pipeline.study.fanout import fan_out
from sapwood.pipeline.study.results import Results, digest_of_rows, row_types
from sapwood.pipeline.study.runs import StudyRun, code_version, digest_of, runs_of
from sapwood.pipeline.study.statistics import with_intervals
from sapwood.pipeline.study.study_file import Study
from sapwood.pipeline.study.worker import Simulate, simulate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_MEASURES = {
    name: name for name in ("notification_hops", "control_hops", "table_entries", "delivered")
}
"""What is averaged if a study does not say."""


_FAILURE = {"run": "string", "parameters": "string", "seed": "bigint", "error": "string"}

WRITTEN_EVERY_SECONDS = 30.0
"""How long finished runs may wait to be written; a study that is killed does them again."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a study is. Costs are in no unit; their ratio says how much of the work is done."""

    runs: int
    done: int
    failed: int
    cost: float
    cost_done: float


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A run that failed, or that violated a definition of correctness."""

    run: str
    parameters: dict[str, Any]
    seed: int
    error: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a study came to."""

    study: str
    code: str
    folder: str
    runs: int
    reused: int
    """How many of them were there already."""
    failures: list[Failure]
    violations: list[Failure]
    digest: str
    """Of all results of the study; equal wherever they were computed."""
    cpu_seconds: float
    points: list[dict[str, Any]]
    """A row per point and measure: parameters, measure, runs, mean, deviation, low, high."""


def run_study(
    spark: SparkSession,
    study: Study,
    folder: str,
    *,
    progress: Callable[[Progress], None] | None = None,
    simulating: Simulate = simulate,
    code: str | None = None,
) -> Outcome:
    """Do all runs of a study that are not done yet, and sum up all of them."""
    code = code or code_version()
    results = Results(spark, folder)
    with plain_errors():
        check_measures(spark, study)
        results.claim(study.name)
        runs = runs_of(study, code)
        finished = results.finished(code)
        left = [run for run in runs if run.run not in finished]
        failures = do_runs(results, runs, left, progress, simulating)
        return _summed_up(results, study, runs, len(runs) - len(left), failures)


def do_runs(
    results: Results,
    runs: Sequence[StudyRun],
    left: Sequence[StudyRun],
    progress: Callable[[Progress], None] | None,
    simulating: Simulate,
) -> list[Failure]:
    """Do what is left, and keep what comes back; what failed."""
    failures: list[Failure] = []
    done, cost = len(runs) - len(left), sum(run.cost for run in left)
    cost_done = 0.0

    def report() -> None:
        if progress is not None:
            progress(
                Progress(
                    runs=len(runs),
                    done=done,
                    failed=len(failures),
                    cost=cost,
                    cost_done=cost_done,
                )
            )

    report()
    if not left:
        return failures
    keeper = _Keeper(results, left[0].code)
    batches = fan_out(results.spark, left, simulating, results.schema)
    try:
        for batch, rows in batches:
            keeper.take([row for row in rows if row["error"] is None])
            failures += [_failure(row, row["error"]) for row in rows if row["error"] is not None]
            done, cost_done = done + len(batch), cost_done + sum(run.cost for run in batch)
            report()
    except BaseException:
        batches.close()  # nothing else is to hold the cores now
        with suppress(*job_errors()):  # if Spark itself is gone, that is told already
            keeper.write()
        raise
    keeper.write()
    return failures


class _Keeper:
    """Writes what runs came to, now and then: each time takes a core from the runs for a while."""

    def __init__(self, results: Results, code: str) -> None:
        self._results = results
        self._code = code
        self._rows: list[dict[str, Any]] = []
        self._written_at = time.monotonic()

    def take(self, rows: list[dict[str, Any]]) -> None:
        self._rows += rows
        if time.monotonic() - self._written_at >= WRITTEN_EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        self._results.add(self._rows, self._code)
        self._rows, self._written_at = [], time.monotonic()


def _failure(row: dict[str, Any], error: str) -> Failure:
    parameters = msgspec.json.decode(row["parameters"])
    return Failure(run=row["run"], parameters=parameters, seed=row["seed"], error=error)


def _summed_up(
    results: Results, study: Study, runs: list[StudyRun], reused: int, failures: list[Failure]
) -> Outcome:
    spark, code = results.spark, runs[0].code
    kept = results.runs(code).toArrow()
    rows = kept.filter(pc.is_in(kept["run"], pa.array([run.run for run in runs])))
    own = summarize(spark.createDataFrame(rows, in_words(row_types())), study)
    summary = own.toArrow()
    results.put("summary", spark.createDataFrame(summary, own.schema))
    results.put("failures", _failures_frame(spark, failures))
    listed = rows.to_pylist()
    failures.sort(key=lambda failure: failure.run)
    return Outcome(
        study=study.name,
        code=code,
        folder=results.folder,
        runs=len(runs),
        reused=reused,
        failures=failures,
        violations=[
            _failure(row, f"{row['violations']} violations") for row in listed if row["violations"]
        ],
        digest=digest_of_rows(listed),
        cpu_seconds=sum(row["cpu_seconds"] for row in listed),
        points=_points(study, summary.to_pylist()),
    )


def _failures_frame(spark: SparkSession, failures: list[Failure]) -> DataFrame:
    rows = [
        (one.run, msgspec.json.encode(one.parameters).decode(), one.seed, one.error)
        for one in failures
    ]
    return to_frame(spark, _FAILURE, rows)


def measures_of(study: Study) -> dict[str, str]:
    """What is averaged, and how it is computed."""
    return study.measures or DEFAULT_MEASURES


def check_measures(spark: SparkSession, study: Study) -> None:
    """Refuse SQL that Spark does not understand, before anything runs."""
    from pyspark.errors import AnalysisException, ParseException  # noqa: PLC0415 - optional

    empty = to_frame(spark, row_types(), [])
    for name, text in measures_of(study).items():
        try:
            _ = empty.selectExpr(f"cast({text} as double)").schema
        except (AnalysisException, ParseException) as problem:
            first = " ".join(str(problem).split("SQLSTATE")[0].split())
            raise StudyError(
                f"is not SQL over the columns of a run: {first}", f"measures.{name}"
            ) from None


def summarize(runs: DataFrame, study: Study) -> DataFrame:
    """Means and confidence intervals of every measure at every point.

    The parameters are columns of their own, dots in their names made to underscores.
    """
    from pyspark.sql import functions as fn  # noqa: PLC0415 - optional

    measures = measures_of(study)
    computed = [fn.expr(f"cast({text} as double)").alias(name) for name, text in measures.items()]
    values = runs.select("point", "parameters", *computed).unpivot(
        ["point", "parameters"], list(measures), "measure", "value"
    )
    summary = with_intervals(values, ["point", "parameters", "measure"], study.repeats)
    flat = [
        fn.get_json_object("parameters", f"$['{key}']")
        .cast(_type_of(values_))
        .alias(column_of(key))
        for key, values_ in study.parameters.items()
    ]
    return summary.select("point", *flat, *summary.columns[2:]).orderBy(
        *(column_of(key) for key in study.parameters), "measure"
    )


def column_of(key: str) -> str:
    """The column of a parameter."""
    return key.replace(".", "_")


def _type_of(values: list[Any]) -> str:
    """The narrowest type of Spark that all values of a parameter have."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "long"
    return "double" if kinds <= {int, float} else "string"


def _points(study: Study, summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The summary in the order of the file, with parameters by their own names."""
    points = {digest_of(point): (number, point) for number, point in enumerate(study.points())}
    measures = list(measures_of(study))
    kept = ("measure", "runs", "mean", "deviation", "low", "high")
    summary.sort(key=lambda row: (points[row["point"]][0], measures.index(row["measure"])))
    return [
        {"parameters": points[row["point"]][1], **{name: row[name] for name in kept}}
        for row in summary
    ]


__all__ = [
    "Failure",
    "Outcome",
    "Progress",
    "check_measures",
    "do_runs",
    "run_study",
    "summarize",
]
