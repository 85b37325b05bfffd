"""Readers take whatever keeps the contract, in one order, and name the file that does not."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import TraceError, TraceFileError
from sapwood.trace.files import reader
from sapwood.trace.files.reader import Trace, read
from sapwood.trace.files.writer import TraceWriter
from sapwood.trace.judge.checkers import check
from sapwood.trace.schema import COLUMNS, REQUIRED, Row, RunSettings
from tracing.files import VERSION, bare_row, columns_of, full_row, write_file


def test_an_empty_directory_is_an_empty_trace(tmp_path: Path) -> None:
    trace = read(tmp_path)
    assert (list(trace), trace.files, trace.rows, trace.settings) == ([], (), 0, {})


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match=r"gone is no directory$"):
        read(tmp_path / "gone")


def test_a_missing_column_reads_as_null(tmp_path: Path) -> None:
    rows = [full_row(1), full_row(2)]
    for missing in set(COLUMNS) - set(REQUIRED):
        kept = [name for name in COLUMNS if name != missing]
        path = write_file(tmp_path / missing / "a.parquet", columns_of(rows, *kept))
        assert list(read(path.parent)) == [
            full_row(1, **{missing: None}),
            full_row(2, **{missing: None}),
        ]
    write_file(tmp_path / "bare" / "a.parquet", columns_of(rows, *REQUIRED))
    assert list(read(tmp_path / "bare")) == [bare_row(step, kind="published") for step in (1, 2)]


def test_an_unknown_column_is_kept_through_another_writer(tmp_path: Path) -> None:
    columns = columns_of([bare_row(1), bare_row(2)], *REQUIRED)
    columns |= {"color": ["gray", None], "hops": [[1, 2], None], "price": [None, 2.5]}
    write_file(tmp_path / "a" / "a.parquet", columns)
    rows = [
        bare_row(1, extra={"color": "gray", "hops": [1, 2]}),
        bare_row(2, extra={"price": 2.5}),
    ]
    assert list(read(tmp_path / "a")) == rows
    with TraceWriter(tmp_path / "b", "r", "B1", 1) as writer:
        for row in rows:
            writer.write(row)
    assert list(read(tmp_path / "b")) == rows


def test_files_lie_anywhere_and_others_are_passed_over(tmp_path: Path) -> None:
    columns = columns_of([bare_row(1)], *REQUIRED)
    write_file(tmp_path / "deep" / "er" / "a.parquet", columns)
    write_file(tmp_path / "b.parquet", {**columns, "step": [2]})
    for name in (".c.parquet.tmp", ".d.parquet", "_e.parquet", "notes.txt", "_SUCCESS"):
        (tmp_path / name).write_text("not for readers")
    (tmp_path / "folder.parquet").mkdir()
    trace = read(tmp_path)
    assert [row.step for row in trace] == [1, 2]
    assert trace.files == (tmp_path / "b.parquet", tmp_path / "deep" / "er" / "a.parquet")
    assert trace.rows == 2


def test_a_trace_can_be_read_again(tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED))
    trace = Trace(tmp_path)
    assert list(trace) == list(trace) == [bare_row(1)]


@given(st.integers(0, 2**32))
def test_rows_come_in_order_however_they_lie(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    rows = [
        bare_row(step, run=run, broker=broker, session=session)
        for run in ("r", "s")
        for broker in ("B1", "B10", "B2", "Ü")
        for session in (1, 2, 10)
        for step in random.sample(range(50), 4)
    ]
    folder = tmp_path_factory.mktemp("mixed")
    shuffled = random.sample(rows, len(rows)) if random.random() < 0.7 else sorted(rows, key=place)
    while shuffled:
        part, shuffled = shuffled[:20], shuffled[20:]
        options: dict[str, Any] = {
            "row_group_size": random.randint(3, 30),
            "write_statistics": random.random() < 0.8,
        }
        write_file(folder / f"{len(shuffled)}.parquet", columns_of(part, *REQUIRED), **options)
    assert list(read(folder)) == sorted(rows, key=place)
    assert set(read(folder).settings) == {"r", "s"}


def place(row: Row) -> tuple[str, str, int, int]:
    return row.place


def test_pieces_are_opened_when_their_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1) as writer:
        for step in range(1, 5):
            writer.write(bare_row(step))
            writer.flush()
    opened: list[int] = []
    rows = reader._rows

    def watching(piece: reader._Piece) -> object:
        opened.append(piece.first[3])
        return rows(piece)

    trace = read(tmp_path)
    monkeypatch.setattr(reader, "_rows", watching)
    seen = [(row.step, list(opened)) for row in trace]
    assert seen == [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 3, 4])]


def test_types_that_others_write_are_taken(tmp_path: Path) -> None:
    columns = columns_of([full_row(1), full_row(2)], *COLUMNS)
    columns |= {
        "session": pa.array([1, 1], pa.int16()),
        "at": pa.array([0.25, 0.5], pa.float32()),
        "kind": pa.array(["published", "published"]).dictionary_encode(),
        "filter": pa.array(["x = 'ä'", "x = 'ä'"], pa.large_string()),
    }
    write_file(tmp_path / "a.parquet", columns)
    assert list(read(tmp_path)) == [full_row(1), full_row(2)]


# --- versions and settings ----------------------------------------------------------------


@pytest.mark.parametrize("version", ["1", "1.0", "1.7"])
@pytest.mark.parametrize("ours", ["1", "1.4"])
def test_any_minor_version_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, ours: str
) -> None:
    monkeypatch.setattr(reader, "TRACE_VERSION", ours)
    said = {"sapwood.trace.version": version}
    write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED), said)
    assert list(read(tmp_path)) == [bare_row(1)]


@pytest.mark.parametrize("version", ["2", "2.0", "10", "one", "1.x", ""])
def test_another_major_version_is_refused(tmp_path: Path, version: str) -> None:
    said = {"sapwood.trace.version": version}
    path = write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED), said)
    with pytest.raises(TraceFileError) as error:
        read(tmp_path)
    assert str(error.value) == f"{path} is a trace of version {version!r}; this release reads 1"


def test_settings_are_those_of_the_run_the_more_careful_first(tmp_path: Path) -> None:
    for number, (run, settle) in enumerate([("r", "1.0"), ("r", "3.0"), ("s", None)]):
        said = VERSION | ({"sapwood.trace.settle_seconds": settle} if settle else {})
        said |= {"sapwood.trace.advertisements": "required" if number == 0 else "off"}
        columns = columns_of([bare_row(number, run=run)], *REQUIRED)
        write_file(tmp_path / f"{number}.parquet", columns, said)
    assert read(tmp_path).settings == {
        "r": RunSettings(settle_seconds=3, advertisements_required=True),
        "s": RunSettings(),
    }


@pytest.mark.parametrize(("stated", "argument", "lost"), [("5.0", None, 0), ("5.0", 1.0, 1)])
def test_a_check_of_files_goes_by_what_they_say(
    tmp_path: Path, stated: str, argument: float | None, lost: int
) -> None:
    rows = [
        bare_row(1, at=0.0, kind="subscribed", client="ann.1", filter="true"),
        bare_row(2, at=3.0, kind="published", publisher="bob.1", sequence=1, attributes="{}"),
        bare_row(3, at=30.0),
    ]
    said = VERSION | {"sapwood.trace.settle_seconds": stated}
    write_file(tmp_path / "a.parquet", columns_of(rows, *COLUMNS), said)
    assert check(read(tmp_path), argument).lost == lost


# --- what is wrong with a file ------------------------------------------------------------


def refused(directory: Path) -> str:
    with pytest.raises(TraceFileError) as error:
        list(read(directory))
    return str(error.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not a parquet file at all, just text"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED))
    path = tmp_path / "b.parquet"
    path.write_bytes(content)
    assert refused(tmp_path).startswith(f"{path} cannot be read: ")


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED))
    path.write_bytes(path.read_bytes()[:-20])
    assert refused(tmp_path).startswith(f"{path} cannot be read: ")


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1) as writer:
        for step in range(1, 200):
            writer.write(full_row(step, at=step / 1000))
    (path,) = read(tmp_path).files
    column = pq.ParquetFile(path).metadata.row_group(0).column(list(COLUMNS).index("at"))
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    path.write_bytes(content)
    assert refused(tmp_path).startswith(f"{path} cannot be read: ")


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED), {})
    assert refused(tmp_path) == f"{path} is no trace: its metadata has no 'sapwood.trace.version'"


@pytest.mark.parametrize("name", REQUIRED)
def test_a_column_that_every_row_needs(tmp_path: Path, name: str) -> None:
    columns = columns_of([bare_row(1), bare_row(2)], *(n for n in REQUIRED if n != name))
    path = write_file(tmp_path / "a.parquet", columns)
    assert refused(tmp_path) == f"{path}: there is no column {name!r}, which every row needs"
    columns[name] = [getattr(bare_row(1), name), None]
    write_file(tmp_path / "a.parquet", columns)
    assert refused(tmp_path) == f"{path}: column {name!r} has nulls; every row needs it"


@pytest.mark.parametrize(
    ("name", "values"), [("step", ["one"]), ("sequence", [1.5]), ("client", [[1]]), ("at", ["x"])]
)
def test_a_column_of_another_type(tmp_path: Path, name: str, values: list[object]) -> None:
    columns = {**columns_of([full_row(1)], *COLUMNS), name: values}
    path = write_file(tmp_path / "a.parquet", columns)
    assert refused(tmp_path).startswith(f"{path} cannot be read: ")


@pytest.mark.parametrize("settle", ["soon", "-1.0", "nan"])
def test_a_settling_time_that_is_none(tmp_path: Path, settle: str) -> None:
    said = VERSION | {"sapwood.trace.settle_seconds": settle}
    path = write_file(tmp_path / "a.parquet", columns_of([bare_row(1)], *REQUIRED), said)
    assert refused(tmp_path) == f"{path} states a settling time of {settle!r}"


def test_without_pyarrow_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TraceError, match=r"^trace files need pyarrow.*sapwood\[trace\]") as error:
        read(tmp_path)
    assert type(error.value) is TraceError
