"""The audit of a directory, from files to a plain report and Parquet; and as in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipeline.planting import Planted, write_run
from sapwood.errors import TraceFileError
from sapwood.pipeline import audit_directory
from sapwood.pipeline.report import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    made = Planted("broken")
    write_run(folder / "traces", made.usual({2: "lost", 5: "duplicated"}))
    write_run(folder / "traces", Planted("fine").usual({}))
    return folder


def test_a_report_says_what_is_wrong_and_leaves_tables(
    spark: SparkSession, directory: Path
) -> None:
    said: list[str] = []
    out = directory / "out"
    report = audit_directory(directory / "traces", out=out, progress=said.append)
    assert (report.runs, report.lost, report.duplicated, report.is_correct) == (2, 1, 1, False)
    assert report.delivered == report.expected - report.lost + report.duplicated
    assert report.wrong_runs == ["broken"]
    assert [found["kind"] for found in report.violations] == ["lost", "duplicated"]
    assert report.violations[0]["notification"] == "p1.1:2"
    assert report.violations[0]["path"].startswith("published at B1")
    assert [row["run"] for row in report.latency] == ["broken", "fine"]
    assert next(iter(report.summary())) == "published"
    assert said[0].startswith("2 files, ")
    assert sorted(path.name for path in out.iterdir()) == sorted(TABLES)
    before = {name: pq.read_table(out / name).to_pylist() for name in TABLES}
    assert sum(row["lost"] for row in before["counts"]) == 1
    audit_directory(directory / "traces", out=out)
    assert {name: pq.read_table(out / name).to_pylist() for name in TABLES} == before


def test_bad_input_is_refused_before_spark_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.pipeline.report.open_session", None)
    with pytest.raises(TraceFileError, match="does not exist"):
        audit_directory(tmp_path / "gone")


def test_as_in_a_notebook(spark: SparkSession, directory: Path) -> None:
    from sapwood.pipeline import audit, read_traces

    traces = read_traces(directory / "traces", spark=spark)
    busiest = traces.where("kind = 'delivered'").groupBy("client").count().orderBy("client")
    assert busiest.toPandas()["client"].tolist() == ["s1.1", "s2.1", "s3.1"]
    found = audit(traces)
    counts = found.counts.toPandas().set_index("run")
    assert counts.loc["broken", "lost"] == 1
    assert counts.loc["fine", ["lost", "duplicated", "unexpected"]].sum() == 0
    worst = found.violations.where("kind = 'lost'").select("publisher", "sequence", "client")
    assert worst.toArrow().to_pylist() == [{"publisher": "p1.1", "sequence": 2, "client": "s2.1"}]
    assert found.latency.toPandas()["most"].max() > 0
