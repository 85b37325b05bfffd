"""Files made from runs: every reader finds the rows that the runs stand for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.files import arrow
from sapwood.trace.runfile import parquet
from sapwood.trace.runfile.runs import Column, Columns, Numbers, Texts
from sapwood.trace.schema import COLUMNS, REQUIRED
from tracing.run_sample import run_sample

COUNTED = ("step", "sequence", "client_order")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VALUES = {
    "string": texts,
    "int64": st.integers(1, 300) | st.integers(1, 2**62),
    "double": st.floats(allow_nan=False, allow_infinity=False),
}
COUNTS = st.integers(1, 3) | st.sampled_from([7, 8, 9, 127, 128, 129, 700])


@st.composite
def cut(draw: Any, rows: int) -> list[int]:
    """Lengths of runs for so many rows."""
    counts: list[int] = []
    while sum(counts) < rows:
        counts.append(min(draw(COUNTS), rows - sum(counts)))
    return counts


@st.composite
def column(draw: Any, name: str, rows: int) -> tuple[Column, list[Any]]:
    """A column of runs, and what it stands for."""
    counts = draw(cut(rows))
    kind = COLUMNS[name]
    values = VALUES[kind] if name in REQUIRED else st.none() | VALUES[kind]
    some = draw(st.lists(values, min_size=1, max_size=20))  # repeated, or it takes too long
    firsts = [some[index % len(some)] for index in range(len(counts))]
    if name == "step":
        firsts, counts = [draw(VALUES[kind])], [rows]
    slope = int(name in COUNTED)
    meant = [
        None if first is None else first + index if slope else first
        for first, count in zip(firsts, counts, strict=True)
        for index in range(count)
    ]
    sizes = np.array(counts, np.int64)
    if kind == "string":
        words = [*sorted({first for first in firsts if first is not None}), "unused"]
        places = [-1 if first is None else words.index(first) for first in firsts]
        return Texts(np.array(places, np.int64), sizes, words), meant
    dtype = np.float64 if kind == "double" else np.int64
    return Numbers(np.array([first or 0 for first in firsts], dtype), sizes, slope), meant


@st.composite
def tables(draw: Any) -> tuple[Columns, dict[str, list[Any]]]:
    """Columns of the same number of rows, some missing, and what they stand for."""
    rows = draw(st.integers(1, 20) | st.integers(1, 1500))
    made = {
        name: draw(column(name, rows))
        for name in COLUMNS
        if name in REQUIRED or draw(st.booleans())
    }
    meant = {name: made[name][1] if name in made else [None] * rows for name in COLUMNS}
    return {name: pair[0] for name, pair in made.items()}, meant


def file_of(columns: Columns) -> io.BytesIO:
    file = io.BytesIO()
    parquet.write(columns, {"key": "value", "other": "ä"}, file)
    file.seek(0)
    return file


@given(tables())
def test_pyarrow_reads_what_the_runs_stand_for(
    made: tuple[Columns, dict[str, list[Any]]],
) -> None:
    columns, meant = made
    file = pq.ParquetFile(file_of(columns), page_checksum_verification=True)
    table = file.read()
    assert table.to_pydict() == meant
    assert table.schema.remove_metadata() == arrow.schema()
    assert file.metadata.metadata == {b"key": b"value", b"other": "ä".encode()}
    assert file.metadata.num_row_groups == 1
    assert_bounds(file.metadata.row_group(0), meant)


def assert_bounds(group: Any, meant: dict[str, list[Any]]) -> None:
    """The columns that every row has, and only these, know their least and largest value."""
    for number, name in enumerate(COLUMNS):
        found = group.column(number).statistics
        if name in REQUIRED:
            ordered = sorted(meant[name], key=lambda v: v.encode() if isinstance(v, str) else v)
            assert (found.min, found.max, found.null_count) == (ordered[0], ordered[-1], 0)
        else:
            assert found is None


@pytest.fixture(scope="module")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parquet") / "sample.parquet"
    path.write_bytes(file_of(run_sample()[0]).getvalue())
    return path


def test_duckdb_reads_it(sample_file: Path) -> None:
    with duckdb.connect() as connection:
        found = connection.sql(f"select * from read_parquet('{sample_file}')")
        columns = zip(*found.fetchall(), strict=True)
        assert dict(zip(found.columns, map(list, columns), strict=True)) == run_sample()[1]


def test_duckdb_finds_rows_by_what_the_footer_says(sample_file: Path) -> None:
    with duckdb.connect() as connection:
        query = f"select count(*) from read_parquet('{sample_file}') where "
        for where, name, wanted in (("kind = 'clock'", "kind", "clock"), ("step = 99", "step", 99)):
            assert connection.sql(query + where).fetchall() == [
                (run_sample()[1][name].count(wanted),)
            ]
        assert connection.sql(query + "kind > 'x' or step < 17").fetchall() == [(0,)]


def test_polars_reads_it(sample_file: Path) -> None:
    assert pl.read_parquet(sample_file).to_dict(as_series=False) == run_sample()[1]


def test_pyarrow_reads_parts_of_it(sample_file: Path) -> None:
    file, meant = pq.ParquetFile(sample_file), run_sample()[1]
    batches = file.iter_batches(batch_size=777, columns=["sequence", "attributes"])
    found = pa.Table.from_batches(list(batches)).to_pydict()
    assert found == {name: meant[name] for name in ("sequence", "attributes")}


def test_a_column_that_does_not_fit_is_named() -> None:
    columns = {**run_sample()[0], "client": Texts(np.zeros(1, np.int64), np.array([3]), ["a.1"])}
    with pytest.raises(ValueError, match="column 'client': it has 3 rows instead of 10000"):
        parquet.write(columns, {}, io.BytesIO())


def test_warming_up_changes_nothing() -> None:
    parquet.warm()
