"""The traffic of a directory, from files to a report, a picture and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipeline.planting import write_run
from sapwood.pipeline import traffic_directory
from sapwood.pipeline.loads.report import TABLES
from tracing.making import Recorder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_report_a_picture_and_tables(spark: SparkSession, tmp_path: Path) -> None:
    trace = Recorder()
    trace.publish(1, "p.1", 1, broker="B1")
    trace.add(1, "forwarded", broker="B1", target="B2", publisher="p.1", sequence=1, bytes=9)
    trace.deliver(3, "a.1", "p.1", 1, broker="B2")
    write_run(tmp_path / "traces", trace.rows)
    out, picture = tmp_path / "out", tmp_path / "tree.svg"
    report = traffic_directory(tmp_path / "traces", "measured", out=out, picture=picture)
    assert report.tree == [("B1", "B2")]
    assert report.load() == {("B1", "B2"): 0.5}
    assert (report.notifications, report.cost, report.least, report.unreached) == (1, 2.0, 2.0, 0)
    assert report.summary()["tree"] == [("B1", "B2")]
    assert ">B2</text>" in picture.read_text()
    assert {name: pq.read_table(out / name).num_rows for name in TABLES} == {
        "brokers": 2,
        "shared": 3,
        "links": 1,
        "costs": 1,
    }
