"""Trace files are judged by their footers before anything long starts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.planting import write_file, write_run
from sapwood.errors import TraceFileError
from sapwood.pipeline.files import Span, TraceFile, check_listing, doubtful, list_traces
from sapwood.trace import Row, RunSettings, TraceWriter
from tracing import files
from tracing.files import bare_row


def refused(directory: Path, **options: bool) -> str:
    with pytest.raises(TraceFileError) as caught:
        check_listing(list_traces(str(directory)), **options)
    return str(caught.value)


def test_whole_files_are_listed_with_what_they_say(tmp_path: Path) -> None:
    settings = RunSettings(settle_seconds=3, advertisements_required=True)
    write_file(tmp_path / "x" / "a.parquet", [bare_row(4), bare_row(9)], settings=settings)
    write_file(tmp_path / "_hidden.parquet", [bare_row()])
    (tmp_path / "notes.txt").touch()
    listing = list_traces(str(tmp_path))
    assert check_listing(listing) == []
    [file] = listing.files
    assert file.path == f"file://{tmp_path}/x/a.parquet"
    assert (file.rows, file.settings, file.runs) == (2, settings, ("r",))
    assert file.spans == (Span(("r", "B1", 1), 4, 9, 2),)
    assert listing.settings() == {"r": settings}
    assert list_traces(f"file://{tmp_path}").files == listing.files


def test_settings_of_several_files_are_joined(tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", [bare_row(1)], settings=RunSettings(settle_seconds=1))
    other = RunSettings(advertisements_required=True)
    write_file(tmp_path / "b.parquet", [bare_row(2), bare_row(3, run="q")], settings=other)
    assert list_traces(str(tmp_path)).settings() == {
        "q": other,
        "r": RunSettings(settle_seconds=1, advertisements_required=True),
    }


@pytest.mark.parametrize("name", ["missing", "file", "empty"])
def test_a_directory_without_a_trace_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert name in refused(tmp_path / name)


def test_an_unknown_kind_of_place_is_refused() -> None:
    with pytest.raises(TraceFileError, match="nowhere://x cannot be opened"):
        list_traces("nowhere://x")


def test_files_without_rows_are_no_trace(tmp_path: Path) -> None:
    write_file(tmp_path / "a.parquet", [])
    assert "its files have no rows" in refused(tmp_path)


def test_damaged_files_are_named_and_left_out_only_when_asked(tmp_path: Path) -> None:
    write_run(tmp_path, [bare_row()])
    whole = (tmp_path / "r-1.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    message = refused(tmp_path)
    assert "cut.parquet cannot be read" in message
    assert "2 more" in message
    assert "--skip-damaged" in message
    listing = list_traces(str(tmp_path))
    left_out = check_listing(listing, skip_damaged=True)
    assert [Path(damage.path).name for damage in listing.damaged] == [
        "cut.parquet",
        "empty.parquet",
        "text.parquet",
    ]
    assert len(left_out) == 3
    assert [file.rows for file in listing.files] == [1]


def test_when_all_files_are_damaged_there_is_nothing_to_judge(tmp_path: Path) -> None:
    (tmp_path / "empty.parquet").touch()
    assert "no trace" in refused(tmp_path, skip_damaged=True)


@pytest.mark.parametrize(
    ("columns", "metadata", "message"),
    [
        ({"x": [1]}, {}, "is no trace: its metadata has no"),
        ({"x": [1]}, {"sapwood.trace.version": "2"}, "is a trace of version '2'"),
        ({"x": [1]}, None, "there is no column 'run'"),
    ],
)
def test_foreign_files_are_refused(
    tmp_path: Path, columns: dict[str, list[int]], metadata: dict[str, str], message: str
) -> None:
    files.write_file(tmp_path / "a.parquet", columns, metadata)
    assert message in refused(tmp_path)


def test_a_column_of_another_type_or_with_nulls_is_refused(tmp_path: Path) -> None:
    names = ("run", "broker", "session", "step", "at", "kind")
    columns = files.columns_of([bare_row()], *names)
    files.write_file(tmp_path / "a" / "a.parquet", {**columns, "at": ["noon"]})
    assert "column 'at' is string; it should be double" in refused(tmp_path / "a")
    files.write_file(tmp_path / "b" / "b.parquet", {**columns, "kind": pa.array([None], "string")})
    assert "column 'kind' has nulls" in refused(tmp_path / "b")


def test_mixed_versions_name_the_one_that_does_not_fit(tmp_path: Path) -> None:
    write_run(tmp_path, [bare_row()])
    files.write_file(tmp_path / "z.parquet", {"x": [1]}, {"sapwood.trace.version": "9"})
    assert "z.parquet is a trace of version '9'" in refused(tmp_path)


def test_a_trace_that_is_being_written_is_refused_unless_asked_for(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1) as writer:
        writer.write(Row(run="r", broker="B1", session=1, step=1, at=0, kind="clock"))
        writer.flush()
        message = refused(tmp_path)
        assert ".B1.1.open" in message
        assert "still being written" in message
        assert check_listing(list_traces(str(tmp_path)), unfinished=True) == []
    assert check_listing(list_traces(str(tmp_path))) == []


def _file(path: str, *spans: Span) -> TraceFile:
    return TraceFile(path, 1, RunSettings(), (), spans, ("r",))


def test_files_that_may_hold_a_row_twice_are_found_by_their_steps() -> None:
    owner, other = ("r", "B1", 1), ("r", "B1", 2)
    apart = [
        _file("a", Span(owner, 1, 5, 5)),
        _file("b", Span(owner, 6, 9, 2)),
        _file("c", Span(other, 1, 5, 5)),
    ]
    assert doubtful(apart) == []
    again = _file("d", Span(owner, 5, 7, 2))
    assert {file.path for file in doubtful([*apart, again])} == {"a", "b", "d"}
    inside = _file("e", Span(owner, 2, 3, 2))
    late = _file("f", Span(owner, 5, 5, 1))
    assert {file.path for file in doubtful([apart[0], inside, late])} == {"a", "e", "f"}
    assert doubtful([_file("g", Span(None, 0, 0, 5))])
    assert doubtful([_file("h", Span(owner, 1, 2, 3))])
