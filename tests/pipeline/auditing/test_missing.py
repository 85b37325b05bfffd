"""Gaps reach back to the row before, by session and step, whatever that was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planting import write_run
from sapwood.pipeline import read_traces
from sapwood.pipeline.auditing.missing import find_gaps
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_gaps_and_who_is_concerned(spark: SparkSession, tmp_path: Path) -> None:
    trace = Recorder()
    trace.add(1, "trace_gap", broker="B2")
    trace.add(3, "control")
    trace.subscribe(2, "ann.1")
    trace.publish(4, "bob.1", 1, broker="B3")
    trace.add(7, "trace_gap", session=2)
    trace.clock(9, session=2)
    write_run(tmp_path, trace.rows)
    rows = read_traces(tmp_path, spark=spark)
    gaps = find_gaps(rows, ["r"])["r"]
    assert gaps.hide("ann.1", 2.0, 2.0)  # from the row of the session before to the gap's
    assert gaps.hide("ann.1", 7.0, 8.0)
    assert not gaps.hide("ann.1", 7.1, 8.0)
    assert not gaps.hide("ann.1", 0.0, 1.9)
    assert not gaps.hide("bob.1", 0.0, 9.0)  # was seen only where nothing is missing
    assert gaps.hide("stranger.1", 0.0, 0.5)  # may have been at B2, since the beginning
    assert find_gaps(rows, []) == {}
