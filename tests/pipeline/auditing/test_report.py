"""The audit of a directory, from files to a plain report and Parquet; and as in a notebook."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from pipeline.driving import without_place
from pipeline.planting import expected_of_faults, write_faults
from sapwood.errors import TraceFileError
from sapwood.pipeline import audit_directory
from sapwood.pipeline.auditing.report import TABLES, AuditReport
from sapwood.trace.judge.verdict import VIOLATIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


class Reported(NamedTuple):
    """What an audit left, and what it said on the way."""

    traces: Path
    out: Path
    report: AuditReport
    said: list[str]


@pytest.fixture(scope="module")
def reported(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """An audit of traces with faults of every kind."""
    folder = tmp_path_factory.mktemp("reported")
    traces, out = folder / "traces", folder / "out"
    write_faults(traces)
    said: list[str] = []
    report = audit_directory(traces, out=out, progress=said.append)
    return Reported(traces, out, report, said)


def test_a_report_says_what_is_wrong_and_leaves_tables(reported: Reported) -> None:
    report, expected = reported.report, expected_of_faults()
    assert without_place(report.summary()) == expected
    assert next(iter(report.summary())) == "published"
    assert (report.runs, report.is_correct) == (3, False)
    assert report.wrong_runs == ["broken", "chain"]
    found = Counter(violation["kind"] for violation in report.violations)
    assert found == {kind: expected[kind] for kind in VIOLATIONS}
    assert min(found.values()) > 0
    assert reported.said[0].startswith("8 files, ")
    assert sorted(path.name for path in reported.out.iterdir()) == sorted(TABLES)
    assert sum(row["lost"] for row in tables(reported.out)["counts"]) == 1


def tables(out: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: pq.read_table(out / name).to_pylist() for name in TABLES}


def test_bad_input_is_refused_before_spark_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.pipeline.auditing.report.open_session", None)
    with pytest.raises(TraceFileError, match="does not exist"):
        audit_directory(tmp_path / "gone")


def test_as_in_a_notebook(spark: SparkSession, reported: Reported) -> None:
    """And whoever judges again finds the same, in the same order."""
    from sapwood.pipeline import audit, read_traces

    traces = read_traces(reported.traces, spark=spark)
    busiest = traces.where("kind = 'delivered' and run = 'fine'").groupBy("client").count()
    assert busiest.orderBy("client").toPandas()["client"].tolist() == ["s1.1", "s2.1", "s3.1"]
    found = audit(traces)
    counts = found.counts.toPandas().set_index("run")
    assert counts.loc["broken", "lost"] == 1
    assert counts.loc["fine", ["lost", "duplicated", "unexpected"]].sum() == 0
    worst = found.violations.where("kind = 'lost'").select("publisher", "sequence", "client")
    assert worst.toArrow().to_pylist() == [{"publisher": "p1.1", "sequence": 2, "client": "s2.1"}]
    assert found.latency.toPandas()["most"].max() > 0
    before = tables(reported.out)
    for name in ("counts", "violations"):
        assert getattr(found, name).toArrow().to_pylist() == before[name]
