"""Traffic per link and kind, and latency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.planting import write_run
from sapwood.pipeline import read_traces
from sapwood.pipeline.loads.links import latencies, link_traffic
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_links_and_latency(spark: SparkSession, tmp_path: Path) -> None:
    trace = Recorder()
    for number in range(1, 101):
        trace.publish(number, "p.1", number)
        trace.publish(number + 0.5, "p.1", number)  # again, after a reconnection
        trace.add(number, "forwarded", target="B2", publisher="p.1", sequence=number, bytes=7)
        trace.deliver(number + number / 100, "a.1", "p.1", number, broker="B2")
    trace.add(200, "control", target="B2", message="subscribe")
    trace.add(200, "control", target="B2")
    write_run(tmp_path, trace.rows)
    rows = read_traces(tmp_path, spark=spark)
    listed = [tuple(row.values()) for row in link_traffic(rows).toArrow().to_pylist()]
    assert sorted(listed) == [
        ("r", "B1", "B2", "control", 1, 0),
        ("r", "B1", "B2", "notification", 100, 700),
        ("r", "B1", "B2", "subscribe", 1, 0),
    ]
    [all_of_them] = latencies(rows).toArrow().to_pylist()
    assert all_of_them["timed"] == 100
    assert all_of_them["p50"] == pytest.approx(0.5)
    assert all_of_them["p99"] == pytest.approx(0.99)
    assert all_of_them["most"] == pytest.approx(1.0)
    [some] = latencies(rows, every=4).toArrow().to_pylist()
    assert 5 < some["timed"] < 60
