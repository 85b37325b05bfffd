"""Traces as a DataFrame: every column, whatever a file lacks or has beyond."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipeline.planting import write_file
from sapwood.errors import TraceRowError
from sapwood.pipeline import read_traces
from sapwood.trace import RunSettings
from sapwood.trace.runfile import parquet
from sapwood.trace.schema import COLUMNS
from tracing import files
from tracing.files import bare_row, columns_of, full_row
from tracing.run_sample import run_sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
REQUIRED = ("run", "broker", "session", "step", "at", "kind")


def test_all_files_are_one_table(spark: SparkSession, tmp_path: Path) -> None:
    """Missing columns, odd types, unknown columns, odd names of folders."""
    folder = tmp_path / "run=a b%2F{x}[1]" / "broker=ü"
    write_file(folder / "full.parquet", [full_row(1)])
    write_file(tmp_path / "bare.parquet", [bare_row(2)], without=set(COLUMNS) - set(REQUIRED))
    odd = columns_of([full_row(3)], *REQUIRED, "sequence", "client")
    odd["step"] = pa.array([3], pa.int32())
    odd["at"] = pa.array([0.5], pa.float32())
    odd["sequence"] = pa.array([7], pa.uint16())
    odd["client"] = pa.array(["ann.1"]).dictionary_encode()
    odd["filter"] = pa.nulls(1)
    odd["weather"] = pa.array(["fine"])
    files.write_file(tmp_path / "odd.parquet", odd)
    rows = read_traces(tmp_path, spark=spark).orderBy("step").toArrow().to_pylist()
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert {name: rows[0][name] for name in COLUMNS} == {
        name: getattr(full_row(1), name) for name in COLUMNS
    }
    assert (rows[1]["kind"], rows[1]["publisher"], rows[1]["weather"]) == ("clock", None, None)
    assert (rows[2]["at"], rows[2]["sequence"], rows[2]["client"]) == (0.5, 7, "ann.1")
    assert (rows[2]["filter"], rows[2]["weather"]) == (None, "fine")
    assert list(rows[0])[-2:] == ["settle_seconds", "advertisements_required"]


def test_files_made_of_runs_are_read_like_others(spark: SparkSession, tmp_path: Path) -> None:
    """With Spark's own reader, which has a way of its own for each encoding."""
    columns, meant = run_sample()
    with (tmp_path / "runs.parquet").open("wb") as file:
        parquet.write(columns, RunSettings().metadata(), file)
    table = read_traces(tmp_path, spark=spark)
    assert table.orderBy("step").select(*COLUMNS).toArrow().to_pydict() == meant
    found = table.where("kind = 'clock' and step > 3000").count()
    assert found == sum(
        kind == "clock" and step > 3000
        for kind, step in zip(meant["kind"], meant["step"], strict=True)
    )
    assert table.where("kind > 'x' or at < 0").count() == 0


def test_rows_know_the_settings_of_their_run(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", [bare_row(1)], settings=RunSettings(settle_seconds=4))
    required = RunSettings(advertisements_required=True)
    write_file(tmp_path / "b.parquet", [bare_row(2, run="q")], settings=required)
    rows = read_traces(tmp_path, spark=spark).orderBy("step").toArrow().to_pylist()
    assert [(row["settle_seconds"], row["advertisements_required"]) for row in rows] == [
        (4.0, False),
        (None, True),
    ]


def test_a_file_that_is_there_twice_is_found(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", [bare_row(1), bare_row(2)])
    write_file(tmp_path / "copy.parquet", [bare_row(2)])
    with pytest.raises(TraceRowError, match=r"row 2 of B1.1 in run 'r' is there 2 times"):
        read_traces(tmp_path, spark=spark)


def test_steps_that_interleave_are_no_doubles(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", [bare_row(1), bare_row(3)])
    write_file(tmp_path / "b.parquet", [bare_row(2), bare_row(4, broker="B2")])
    assert read_traces(tmp_path, spark=spark).count() == 4
