"""Who waits is told how far it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from sapwood.pipeline.spark.progress import cores_of, followed, tasks_done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_tasks_are_counted_while_a_job_runs(spark: SparkSession, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        gate.read_bytes()  # until somebody has opened it to write
        yield from batches

    assert tasks_done(spark) == ""
    assert cores_of(spark) == 2
    said: SimpleQueue[str] = SimpleQueue()
    with ThreadPoolExecutor(1) as pool, followed(spark, said.put, every=0.05):
        numbers = spark.range(0, 10, 1, 2).mapInArrow(work, "id bigint")
        asked = pool.submit(lambda: numbers.toArrow().num_rows)
        told = said.get()
        while not asked.done():
            with suppress(OSError):  # nobody reads
                os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        assert asked.result() == 10
    assert "0 of 2 tasks done, " in told
    assert told.endswith(" s so far")
