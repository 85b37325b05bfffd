"""A file whose footer is fine and whose rows are not: named, and left out only when asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipeline.planting import Planted, write_run
from sapwood.errors import SparkError, TraceFileError
from sapwood.pipeline.damage import with_readable
from sapwood.pipeline.files import Listing, check_listing, list_traces
from sapwood.pipeline.traces import read_listing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spoil(path: Path) -> None:
    """Overwrite the values of one column, as a bad disk may; the footer stays."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    [at] = [column for column in columns if column.path_in_schema == "at"]
    begin = min(at.data_page_offset, at.dictionary_page_offset or at.data_page_offset)
    data = bytearray(path.read_bytes())
    data[begin : begin + 16] = bytes(16)
    path.write_bytes(data)


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    """Three files, the second of which is damaged; names need escaping."""
    folder = tmp_path / "run=a b%2F"
    write_run(folder, Planted("r").usual({}), parts=3)
    spoil(folder / "r-2.parquet")
    found = list_traces(str(tmp_path))
    assert check_listing(found) == [], "footers show nothing"
    return found


def test_damaged_rows_are_named_and_left_out_only_when_asked(
    spark: SparkSession, listing: Listing
) -> None:
    def count(readable: Listing) -> int:
        return int(read_listing(readable, spark).select("at", "kind").toArrow().num_rows)

    with pytest.raises(TraceFileError) as found:
        with_readable(listing, count, skip_damaged=False)
    place = f"{listing.directory}/run=a b%2F/r-2.parquet cannot be read: it is damaged"
    assert str(found.value).startswith(place)
    assert str(found.value).endswith("; --skip-damaged leaves such files out")
    assert "\n" not in str(found.value)
    counted, left_out = with_readable(listing, count, skip_damaged=True)
    assert counted == listing.files[0].rows + listing.files[2].rows
    assert len(left_out) == 1
    assert left_out[0].startswith(f"left out: {place}")
    alone = listing._replace(files=listing.files[1:2])
    with pytest.raises(TraceFileError, match=r"holds no trace: .*r-2.parquet cannot be read"):
        with_readable(alone, count, skip_damaged=True)


def test_what_is_not_the_fault_of_a_file_is_not_tried_again(listing: Listing) -> None:
    from pyspark.errors import PySparkException

    times = 0

    def fail(readable: Listing) -> None:
        nonlocal times
        times += 1
        raise problem

    problem: Exception = PySparkException("out of memory")
    with pytest.raises(SparkError, match="out of memory"):
        with_readable(listing, fail, skip_damaged=True)
    problem = TraceFileError("another")
    with pytest.raises(TraceFileError, match="another"):
        with_readable(listing, fail, skip_damaged=True)
    assert times == 2
