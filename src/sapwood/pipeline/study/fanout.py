"""Spread runs over the cores that a session has, and bring back what they come to.

Runs go out in batches, each a small job of its own; a few batches are under way at a time, so that
no core waits for the last run of a batch. What is back can be kept: an interruption costs what is
under way, not the night. The longest runs go first, so that the cores finish together.

A run that takes its worker process down with it takes its batch down too. The batch is then halved
until the one to blame is alone, and that one is reported as failed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from sapwood.errors import SparkError
from sapwood.pipeline.spark.errors import cause_of, job_errors
from sapwood.pipeline.spark.session import await_workers, is_local, master_of
from sapwood.pipeline.spark.shipping import ship
from sapwood.pipeline.study.runs import StudyRun
from sapwood.pipeline.study.worker import SCHEMA, Simulate, simulate, work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOTS_PER_CORE = 2
"""Partitions of a batch, for each core."""

BATCHES_UNDER_WAY = 3
BATCHES_MAX = 100
"""About how many batches there are at most; short runs share a slot then."""

_INTERRUPTED_AGAIN_SECONDS = 0.5

Rows = list[dict[str, Any]]


def fan_out(
    spark: SparkSession,
    runs: Sequence[StudyRun],
    simulating: Simulate = simulate,
    schema: pa.Schema = SCHEMA,
) -> Generator[tuple[list[StudyRun], Rows], None, None]:
    """Do all runs; yields batches with their rows, as they come back.

    `schema` is that of the rows `simulating` gives, with the columns every run has.
    """
    ship(spark)
    cores = ready_cores(spark, simulating, schema)
    slots = cores * SLOTS_PER_CORE
    size = slots * max(1, round(len(runs) / (slots * BATCHES_MAX)))
    waiting = [list(runs[first : first + size]) for first in range(0, len(runs), size)][::-1]
    under_way: dict[Future[Rows], list[StudyRun]] = {}
    batches = Batches(spark, slots, simulating, schema)
    with ThreadPoolExecutor(BATCHES_UNDER_WAY) as pool:
        try:
            while waiting or under_way:
                while waiting and len(under_way) < BATCHES_UNDER_WAY:
                    batch = waiting.pop()
                    under_way[pool.submit(batches.do, batch)] = batch
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    batch = under_way.pop(future)
                    yield batch, future.result()
        except BaseException:
            batches.end(under_way)
            raise


class Batches:
    """Does batches in a session, each as a job, until told to end."""

    def __init__(
        self,
        spark: SparkSession,
        slots: int,
        simulating: Simulate,
        schema: pa.Schema = SCHEMA,
    ) -> None:
        self._spark = spark
        self._slots = slots
        self._simulating = simulating
        self._schema = schema
        self._is_over = Event()

    def do(self, batch: list[StudyRun]) -> Rows:
        """The rows of a batch; if the job fails as a whole, of each half of it."""
        if self._is_over.is_set():
            return []
        try:
            return self._job(batch)
        except job_errors() as problem:
            if self._is_over.is_set():
                return []
            _check_alive(self._spark, problem)
            if len(batch) == 1:
                return [_failed(batch[0], problem, self._schema)]
        middle = len(batch) // 2
        return [row for half in (batch[:middle], batch[middle:]) for row in self.do(half)]

    def _job(self, batch: list[StudyRun]) -> Rows:
        count = min(self._slots, len(batch))
        contents = [msgspec.json.encode(batch[slot::count]) for slot in range(count)]
        return _rows(self._spark, contents, self._simulating, self._schema)

    def end(self, under_way: Iterable[Future[Rows]]) -> None:
        """Interrupt all that is under way, and wait until it has ended; nothing is tried again.

        That is all of the session: Spark knows no tag of a job whose rows come back as Arrow.
        """
        self._is_over.set()
        left = [future for future in under_way if not future.cancel()]
        while left:
            with suppress(*job_errors()):  # where Spark has ended, so do its jobs
                self._spark.interruptAll()
            # A job that was only just beginning may have escaped: once more then.
            left = list(wait(left, timeout=_INTERRUPTED_AGAIN_SECONDS).not_done)


def _rows(
    spark: SparkSession, contents: list[bytes], simulating: Simulate, schema: pa.Schema
) -> Rows:
    """Do the runs of slots, each slot in a partition of its own."""
    numbers = spark.range(0, len(contents), 1, len(contents))
    doing = partial(work, contents, simulating, schema=schema)
    back = numbers.mapInArrow(doing, _spark_schema(schema))
    rows: Rows = back.toArrow().to_pylist()
    return rows


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - optional

    return from_arrow_schema(schema)


def _check_alive(spark: SparkSession, problem: Exception) -> None:
    """Whether a failed job is the session's fault and not its own."""
    try:
        spark.range(1).toArrow()
    except job_errors():
        raise SparkError(
            f"Spark has ended: {cause_of(problem)}; all is kept but the last half minute, the same "
            "command goes on from there"
        ) from None


def _failed(run: StudyRun, problem: Exception, schema: pa.Schema) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(schema.names)
    known = ("run", "point", "repeat", "seed", "code")
    row |= {name: getattr(run, name) for name in known}
    row["parameters"] = msgspec.json.encode(run.parameters).decode()
    return row | {"error": f"the worker process ended: {cause_of(problem)}"}


def ready_cores(
    spark: SparkSession, simulating: Simulate = simulate, schema: pa.Schema = SCHEMA
) -> int:
    """How many cores a session has, once its workers are there and able to work.

    Workers of a cluster join one after the other: ask until their number stays the same.
    """
    await_workers(spark)
    cores = parallelism(spark)
    while True:
        _check_workers(spark, cores, simulating, schema)
        if is_local(master_of(spark)) or (now := parallelism(spark)) == cores:
            return cores
        cores = now


def _check_workers(
    spark: SparkSession, cores: int, simulating: Simulate, schema: pa.Schema
) -> None:
    """Let every core do nothing, the way it will do runs; what cannot work shows here."""
    try:
        _rows(spark, [b"[]"] * cores, simulating, schema)
    except job_errors() as problem:
        raise SparkError(
            f"the workers cannot run Sapwood: {cause_of(problem)}; their Python "
            "(PYSPARK_PYTHON) needs the packages of sapwood[spark], in the same versions"
        ) from None


def parallelism(spark: SparkSession) -> int:
    """Into how many parts Spark cuts what it makes itself: one per core."""
    from pyspark.sql import functions as fn  # noqa: PLC0415 - optional

    parts = spark.range(10_000).select(fn.spark_partition_id().alias("part"))
    return 1 + int(parts.agg(fn.max("part")).toArrow().column(0)[0].as_py())


__all__ = ["Batches", "fan_out", "parallelism", "ready_cores"]
