"""Places that Spark knows and Arrow does not: listed, inspected and read by the same library.

ViewFs is one that needs no server: a scheme of its own over folders of this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from pipeline.planting import Planted, write_run
from sapwood.errors import TraceFileError
from sapwood.pipeline.files import check_listing, list_traces
from sapwood.pipeline.spark.hadoop_files import filesystem_of
from sapwood.pipeline.traces import read_traces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
MOUNTED = "fs.viewfs.mounttable.traces.link./data"
WHERE = "viewfs://traces/data"


@pytest.fixture
def mounted(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A folder, which Spark knows as `WHERE`."""
    spark.conf.set(MOUNTED, tmp_path.as_uri())
    yield tmp_path
    spark.conf.unset(MOUNTED)


def test_the_same_rows_as_from_the_folder_itself(spark: SparkSession, mounted: Path) -> None:
    write_run(mounted / "run=r", Planted("r").usual({}), parts=2)
    (mounted / ".r.1.open").touch()
    there, here = list_traces(WHERE, spark), list_traces(str(mounted))
    assert [file.path for file in there.files] == [
        file.path.replace(mounted.as_uri(), WHERE) for file in here.files
    ]
    assert [file._replace(path="") for file in there.files] == [
        file._replace(path="") for file in here.files
    ]
    assert there.unfinished == (f"{WHERE}/.r.1.open",)
    (mounted / ".r.1.open").unlink()
    rows = [
        sorted(read_traces(place, spark=spark).toArrow().to_pylist(), key=str)
        for place in (WHERE, mounted.as_uri())
    ]
    assert rows[0] == rows[1]
    assert rows[0]


def test_what_is_wrong_there_is_said(spark: SparkSession, mounted: Path) -> None:
    (mounted / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(TraceFileError, match=r"viewfs://traces/data/bad\.parquet cannot be read"):
        check_listing(list_traces(WHERE, spark))
    with pytest.raises(TraceFileError, match="viewfs://traces/data/gone does not exist"):
        list_traces(f"{WHERE}/gone", spark)
    with pytest.raises(TraceFileError, match=r"s3a://b/t cannot be opened: .* --packages "):
        list_traces("s3a://b/t", spark)


def test_files_are_only_read(spark: SparkSession, mounted: Path) -> None:
    (mounted / "a").write_bytes(b"0123456789")
    files = filesystem_of(spark, WHERE)
    with files.open_input_file(f"{WHERE}/a") as opened:
        opened.seek(7)
        assert opened.read() == b"789"
        opened.seek(2)
        assert opened.read(3) == b"234"
    assert files.get_file_info(WHERE).type == fs.FileType.Directory
    with pytest.raises(OSError, match="only read"):
        files.delete_file(f"{WHERE}/a")
