"""How far a job on Spark is, for somebody who waits; and how much runs at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from sapwood.pipeline.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOLD_EVERY_SECONDS: Final = 10.0


@contextmanager
def followed(
    spark: SparkSession, tell: Callable[[str], None], every: float = TOLD_EVERY_SECONDS
) -> Iterator[None]:
    """Tell from time to time how many tasks are done, while something runs."""
    end = Event()
    begin = time.monotonic()

    def follow() -> None:
        while not end.wait(every):
            text = tasks_done(spark)
            if text:
                tell(f"  {text}, {time.monotonic() - begin:.0f} s so far")

    thread = Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def tasks_done(spark: SparkSession) -> str:
    """What runs now, in words; nothing over Spark Connect, where only the server knows."""
    if is_remote(spark):
        return ""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return ""
    done = sum(stage.numCompletedTasks for stage in known)
    return f"{done:,} of {sum(stage.numTasks for stage in known):,} tasks done"


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at once, as far as Spark knows by now; only over Connect it is a job."""
    if not is_remote(spark):
        return int(spark.sparkContext.defaultParallelism)
    from sapwood.pipeline.study.fanout import parallelism  # noqa: PLC0415 - studies are another job

    return parallelism(spark)


__all__ = ["cores_of", "followed", "tasks_done"]
