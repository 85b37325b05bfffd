"""Spread runs over the cores that a session has, and bring back what they come to.

Runs go out in batches, each a small job of its own; a few batches are under way at a time, so that
no core waits for the last run of a batch. When a batch is back, it can be kept: an interruption
costs what is under way, not the night. The longest runs go first, so that the cores finish
together.

A run that takes its worker process down with it takes its batch down too. The batch is then halved
until the one to blame is alone, and that one is reported as failed.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from sapwood.errors import SparkError
from sapwood.pipeline.session import is_local, master_of
from sapwood.pipeline.shipping import ship
from sapwood.pipeline.study_runs import Run
from sapwood.pipeline.study_worker import SCHEMA, Simulate, simulate, work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS_PER_CORE = 2
"""Partitions of a batch, for each core."""

BATCHES_UNDER_WAY = 3
BATCHES_MAX = 100
"""About how many batches there are at most; short runs share a slot then."""

WORKERS_SECONDS_MAX = 60.0
"""How long a cluster may take to give a job its first worker."""

Rows = list[dict[str, Any]]


def fan_out(
    spark: SparkSession, runs: Sequence[Run], simulating: Simulate = simulate
) -> Generator[tuple[list[Run], Rows], None, None]:
    """Do all runs; yields batches with their rows, as they come back."""
    ship(spark)
    cores = ready_cores(spark)
    size = (
        cores * SLOTS_PER_CORE * max(1, round(len(runs) / (cores * SLOTS_PER_CORE * BATCHES_MAX)))
    )
    waiting = [list(runs[first : first + size]) for first in range(0, len(runs), size)][::-1]
    slots = cores * SLOTS_PER_CORE
    under_way: dict[Future[Rows], list[Run]] = {}
    with ThreadPoolExecutor(BATCHES_UNDER_WAY) as pool:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < BATCHES_UNDER_WAY:
                    batch = waiting.pop()
                    under_way[pool.submit(_do, spark, batch, slots, simulating)] = batch
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    batch = under_way.pop(future)
                    yield batch, future.result()
        except BaseException:
            spark.interruptAll()
            raise


def _do(spark: SparkSession, batch: list[Run], slots: int, simulating: Simulate) -> Rows:
    """The rows of a batch; if the job fails as a whole, of each half of it."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

    try:
        return _job(spark, batch, slots, simulating)
    except PySparkException as problem:
        _check_alive(spark, problem)
        if len(batch) == 1:
            return [_failed(batch[0], problem)]
    middle = len(batch) // 2
    return [
        row
        for half in (batch[:middle], batch[middle:])
        for row in _do(spark, half, slots, simulating)
    ]


def _job(spark: SparkSession, batch: list[Run], slots: int, simulating: Simulate) -> Rows:
    count = min(slots, len(batch))
    contents = [msgspec.json.encode(batch[slot::count]) for slot in range(count)]
    numbers = spark.range(0, count, 1, count)
    back = numbers.mapInArrow(partial(work, contents, simulating), _schema())
    rows: Rows = back.toArrow().to_pylist()
    return rows


def _schema() -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - optional

    return from_arrow_schema(SCHEMA)


def _check_alive(spark: SparkSession, problem: Exception) -> None:
    """Whether a failed job is the session's fault and not its own."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

    try:
        spark.range(1).toArrow()
    except PySparkException:
        raise SparkError(
            f"Spark has ended: {last_line(problem)}; what is finished is kept, the same command "
            "goes on from there"
        ) from None


def _failed(run: Run, problem: Exception) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names)
    known = ("run", "point", "repeat", "seed", "code")
    row |= {name: getattr(run, name) for name in known}
    row["parameters"] = msgspec.json.encode(run.parameters).decode()
    return row | {"error": f"the worker process ended: {last_line(problem)}"}


def last_line(problem: BaseException) -> str:
    """What an exception of Spark says last before its Java stack: usually the cause."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "Caused by", "...", "Driver st"))]
    return (told or ["no reason given"])[-1][:300]


def ready_cores(spark: SparkSession) -> int:
    """How many cores a session has, once its workers are there and able to work."""
    if is_local(master_of(spark)):
        return parallelism(spark)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_check_workers, spark)
        try:
            return asked.result(timeout=WORKERS_SECONDS_MAX)
        except TimeoutError:
            spark.interruptAll()
            spark.stop()
            raise SparkError(
                f"the master answers, but gave this job no worker within "
                f"{WORKERS_SECONDS_MAX:.0f} s; see which workers it has, and whether they are free"
            ) from None


def _check_workers(spark: SparkSession) -> int:
    """Workers join one after the other: wait until their number stays the same."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - optional

    before = 0
    while (now := parallelism(spark)) != before:
        try:
            spark.range(0, now, 1, now).mapInArrow(_greet, "id long").toArrow()
        except PySparkException as problem:
            raise SparkError(
                f"the workers cannot run Sapwood: {last_line(problem)}; their Python "
                "(PYSPARK_PYTHON) needs the packages of sapwood[spark], of the same versions"
            ) from None
        before = now
        time.sleep(1.0)
    return now


def _greet(batches: Iterator[Any]) -> Iterator[Any]:
    """Importing this module was the test."""
    yield from batches


def parallelism(spark: SparkSession) -> int:
    """Into how many parts Spark cuts what it makes itself: one per core."""
    from pyspark.sql import functions as fn  # noqa: PLC0415 - optional

    parts = spark.range(10_000).select(fn.spark_partition_id().alias("part")).distinct()
    return max(1, int(parts.toArrow().num_rows))


__all__ = ["fan_out", "last_line", "parallelism", "ready_cores"]
