"""Runs that are no scenarios: each observes values of its own, kept as JSON beside its parameters.

What fans out studies, keeps what is done and averages it serves these as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sapwood.pipeline.spark.failures import plain_errors
from sapwood.pipeline.study.results import Results, digest_of_rows
from sapwood.pipeline.study.runs import StudyRun
from sapwood.pipeline.study.statistics import with_intervals
from sapwood.pipeline.study.study import Failure, Progress, do_runs
from sapwood.pipeline.study.worker import Simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA: Final = pa.schema(
    [
        ("run", pa.string()),
        ("point", pa.string()),
        ("parameters", pa.string()),
        ("repeat", pa.int64()),
        ("seed", pa.int64()),
        ("code", pa.string()),
        ("values", pa.string()),
        ("cpu_seconds", pa.float64()),
        ("error", pa.string()),
    ]
)
"""A row per run; `values` is what it observed, as JSON."""


class Observed(NamedTuple):
    """What runs came to."""

    rows: list[dict[str, Any]]
    failures: list[Failure]
    reused: int
    """How many runs were there already."""
    digest: str
    """Equal wherever the runs were done."""


def observe(
    spark: SparkSession,
    name: str,
    runs: Sequence[StudyRun],
    folder: str,
    observing: Simulate,
    progress: Callable[[Progress], None] | None = None,
) -> Observed:
    """Do all runs that the folder does not have yet; all of one version of the code.

    `observing` gives a mapping with `values`, a text.
    """
    code = runs[0].code
    results = Results(spark, folder, SCHEMA)
    with plain_errors():
        results.claim(name)
        finished = results.finished(code)
        left = [one for one in runs if one.run not in finished]
        failures = do_runs(results, runs, left, progress, observing)
        kept = results.runs(code).toArrow()
        wanted = pa.array([one.run for one in runs])
        rows = kept.filter(pc.is_in(kept["run"], wanted)).to_pylist()
    failures.sort(key=lambda one: one.run)
    return Observed(rows, failures, len(runs) - len(left), digest_of_rows(rows))


def intervals(
    spark: SparkSession,
    keys: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    folder: str,
) -> list[dict[str, Any]]:
    """Keep values as Parquet; their means with intervals.

    A row has the keys, the number of the repeat and the value. The order is that in which the keys
    come first.
    """
    if not rows:
        return []
    size = len(keys)
    groups = Counter(row[:size] for row in rows)
    columns = zip((*keys, "repeat", "value"), zip(*rows, strict=True), strict=True)
    frame = spark.createDataFrame(pa.table({name: list(column) for name, column in columns}))
    with plain_errors():
        frame.coalesce(1).write.mode("overwrite").parquet(folder)
        averaged = with_intervals(frame, list(keys), max(groups.values()))
        found: list[dict[str, Any]] = averaged.toArrow().to_pylist()
    order = {key: at for at, key in enumerate(groups)}
    found.sort(key=lambda row: order[tuple(row[key] for key in keys)])
    return found


__all__ = ["SCHEMA", "Observed", "intervals", "observe"]
