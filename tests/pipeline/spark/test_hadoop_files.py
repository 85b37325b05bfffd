"""Places that Spark knows and Arrow does not: listed, inspected and read by the same library.

ViewFs is one that needs no server: a scheme of its own over folders of this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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


class Mounted(NamedTuple):
    """A folder, and as what Spark knows it."""

    folder: Path
    uri: str


@pytest.fixture
def mounted(spark: SparkSession, tmp_path: Path) -> Iterator[Mounted]:
    """By a name of its own for each test: Hadoop keeps a file system that it has made once."""
    name = tmp_path.name.replace("_", "-")
    setting = f"fs.viewfs.mounttable.{name}.link./data"
    spark.conf.set(setting, tmp_path.as_uri())
    yield Mounted(tmp_path, f"viewfs://{name}/data")
    spark.conf.unset(setting)


def test_the_same_rows_as_from_the_folder_itself(spark: SparkSession, mounted: Mounted) -> None:
    folder, where = mounted
    write_run(folder / "run=r", Planted("r").usual({}), parts=2)
    (folder / ".r.1.open").touch()
    there, here = list_traces(where, spark), list_traces(str(folder))
    assert [file.path for file in there.files] == [
        file.path.replace(folder.as_uri(), where) for file in here.files
    ]
    assert [file._replace(path="") for file in there.files] == [
        file._replace(path="") for file in here.files
    ]
    assert there.unfinished == (f"{where}/.r.1.open",)
    (folder / ".r.1.open").unlink()
    rows = [
        sorted(read_traces(place, spark=spark).toArrow().to_pylist(), key=str)
        for place in (where, folder.as_uri())
    ]
    assert rows[0] == rows[1]
    assert rows[0]


def test_what_is_wrong_there_is_said(spark: SparkSession, mounted: Mounted) -> None:
    folder, where = mounted
    (folder / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(TraceFileError, match=r"viewfs://\S+/data/bad\.parquet cannot be read"):
        check_listing(list_traces(where, spark))
    with pytest.raises(TraceFileError, match=r"viewfs://\S+/data/gone does not exist"):
        list_traces(f"{where}/gone", spark)
    with pytest.raises(TraceFileError, match=r"s3a://b/t cannot be opened: .* --packages "):
        list_traces("s3a://b/t", spark)


def test_files_are_only_read(spark: SparkSession, mounted: Mounted) -> None:
    folder, where = mounted
    (folder / "a").write_bytes(b"0123456789")
    files = filesystem_of(spark, where)
    with files.open_input_file(f"{where}/a") as opened:
        opened.seek(7)
        assert opened.read() == b"789"
        opened.seek(2)
        assert opened.read(3) == b"234"
    assert files.get_file_info(where).type == fs.FileType.Directory
    with pytest.raises(OSError, match="only read"):
        files.delete_file(f"{where}/a")
