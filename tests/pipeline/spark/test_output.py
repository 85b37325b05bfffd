"""Tables are left where they do not harm anything, the same again each time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from sapwood.errors import PipelineError
from sapwood.pipeline.spark.local import to_frame
from sapwood.pipeline.spark.output import check_output, make_folder, write_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_folder_within_the_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="lies within the trace"):
        check_output(str(tmp_path / "out"), str(tmp_path), ("a",))
    with pytest.raises(PipelineError, match="lies within the trace"):
        check_output(f"file://{tmp_path}/out", str(tmp_path), ("a",))


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    out, trace = tmp_path / "out", tmp_path / "trace"
    check_output(str(out), str(trace), ("a",))
    (out / "a").mkdir(parents=True)
    check_output(str(out), str(trace), ("a",))
    check_output("s3://bucket/out", str(trace), ("a",))
    (out / "thesis.txt").touch()
    with pytest.raises(PipelineError, match=r"something else \(thesis.txt\)"):
        check_output(str(out), str(trace), ("a",))
    with pytest.raises(PipelineError, match="is a file"):
        check_output(str(out / "thesis.txt"), str(trace), ("a",))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    make_folder(f"file://{tmp_path}/a/b")
    make_folder(str(tmp_path / "a"))
    assert (tmp_path / "a" / "b").is_dir()
    make_folder("s3://bucket/out")
    (tmp_path / "file").touch()
    with pytest.raises(PipelineError, match=r"file/x cannot be made: Not a directory; name a"):
        make_folder(str(tmp_path / "file" / "x"))


@pytest.mark.slow
def test_writing_again_replaces(spark: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2):
        table = to_frame(spark, {"x": "bigint", "name": "string"}, [(number, "ä")])
        write_tables(str(tmp_path), {"a": table})
        assert pq.read_table(tmp_path / "a").to_pylist() == [{"x": number, "name": "ä"}]
