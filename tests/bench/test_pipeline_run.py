"""The questions have the answers that others give; and measuring a tree of processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.bench import pipeline_rivals
from sapwood.bench.pipeline_run import QUESTIONS, Peak, tree_seconds
from sapwood.bench.pipeline_trace import write_trace
from sapwood.pipeline.traces import read_traces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_a_child_takes_counts() -> None:
    before = tree_seconds()
    code = "sum(range(10**7)); print('done', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "done\n"
        assert tree_seconds() - before > 0.05
        child.stdin.write("\n")


def test_what_an_ended_child_took_still_counts() -> None:
    before = tree_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    assert tree_seconds() - before > 0.05


def test_the_highest_memory_is_kept() -> None:
    with Peak() as peak:
        pass
    assert peak.megabytes > 5
    assert 0 < peak.seconds < 5


def test_spark_and_its_rivals_give_the_same_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_trace(tmp_path, 4000, seed=1, faults=2)
    rows = read_traces(tmp_path, spark=spark)
    assert QUESTIONS["order"](rows) == [[2]]
    for question in ("sums", "shared"):
        for rival in pipeline_rivals.available():
            plan = {"rival": rival, "question": question, "directory": str(tmp_path)}
            assert pipeline_rivals.measure(plan)["answer"] == QUESTIONS[question](rows)
