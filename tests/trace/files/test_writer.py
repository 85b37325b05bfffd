"""Segments are whole or not there, memory is bounded, and a crash is seen by the next session."""

from __future__ import annotations

import errno
import os
import resource
import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sapwood.errors import TraceRowError, TraceWriteError
from sapwood.trace.files import arrow
from sapwood.trace.files.reader import read
from sapwood.trace.files.writer import RunWriter, SegmentLimits, TraceWriter
from sapwood.trace.runfile.runs import Columns, Numbers, same_number, same_text
from sapwood.trace.schema import Row, RunSettings
from tracing.files import bare_row, full_row

DAY = "run=r/date=1970-01-01/broker=B1"


def names(directory: Path) -> list[str]:
    """All files, hidden ones too, relative to the directory."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return sorted(path.relative_to(directory).as_posix() for path in files)


def whole(directory: Path) -> list[str]:
    return [name for name in names(directory) if not name.rpartition("/")[2].startswith(".")]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = [full_row(1), bare_row(2), full_row(3, extra={"odd": 1, "other": [1, 2]}), bare_row(9)]
    with TraceWriter(tmp_path, "r", "B1", 1) as writer:
        for row in rows:
            writer.write(row)
    assert list(read(tmp_path)) == rows
    assert names(tmp_path) == [f"{DAY}/000001-000000000001.parquet"]


def test_the_layout_takes_any_name(tmp_path: Path) -> None:
    row = bare_row(run="a/b=ü", broker="../B 1", session=12, step=34, at=86_400.0 * 365)
    with TraceWriter(tmp_path, row.run, row.broker, row.session) as writer:
        writer.write(row)
    assert names(tmp_path) == [
        "run=a%2Fb%3D%C3%BC/date=1971-01-01/broker=..%2FB%201/000012-000000000034.parquet"
    ]
    assert list(read(tmp_path)) == [row]


def test_metadata_and_types_are_the_contract(tmp_path: Path) -> None:
    settings = RunSettings(settle_seconds=1.5, advertisements_required=True)
    with TraceWriter(tmp_path, "r", "B1", 1, settings=settings) as writer:
        writer.write(bare_row())
    file = pq.ParquetFile(tmp_path / whole(tmp_path)[0])
    said = {key.decode(): value.decode() for key, value in file.metadata.metadata.items()}
    said.pop("ARROW:schema", None)
    assert said == settings.metadata()
    assert file.schema_arrow.remove_metadata() == arrow.schema()
    assert read(tmp_path).settings == {"r": settings}


def test_a_segment_ends_by_rows(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1, limits=SegmentLimits(rows_max=2)) as writer:
        waiting = []
        for step in range(1, 6):
            writer.write(bare_row(step, at=0.0))
            waiting.append(writer.waiting)
    assert waiting == [1, 2, 1, 2, 1]
    assert whole(tmp_path) == [f"{DAY}/000001-00000000000{step}.parquet" for step in (1, 3, 5)]
    assert [row.step for row in read(tmp_path)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("later", [15.0, 5.0])
def test_a_segment_ends_by_time_even_if_a_clock_is_set_back(tmp_path: Path, later: float) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1, limits=SegmentLimits(seconds_max=5)) as writer:
        for step, at in enumerate([10.0, 14.9, later], start=1):
            writer.write(bare_row(step, at=at))
        assert len(whole(tmp_path)) == 1


def test_a_segment_ends_by_time_without_rows(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1, limits=SegmentLimits(seconds_max=5)) as writer:
        writer.tick(1e9)
        writer.write(bare_row(1, at=10.0))
        writer.tick(14.9)
        assert (writer.waiting, whole(tmp_path)) == (1, [])
        writer.tick(15.0)
        assert (writer.waiting, len(whole(tmp_path))) == (0, 1)


def test_a_segment_ends_by_bytes(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1, limits=SegmentLimits(bytes_max=5_000)) as writer:
        for step in (1, 2, 3):
            writer.write(bare_row(step, at=0.0, attributes="x" * 3_000))
            assert writer.waiting <= 2
    assert len(whole(tmp_path)) == 2


@pytest.mark.parametrize("wrong", [{"rows_max": 0}, {"seconds_max": 0.0}, {"bytes_max": 0}])
def test_limits_are_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(TraceWriteError, match="limits of a segment are positive"):
        SegmentLimits(**wrong)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        with TraceWriter(tmp_path / folder, "r", "B1", 1) as writer:
            for step in range(1, 100):
                writer.write(full_row(step, extra={"z": step, "a": "b"}))
    one, two = ([tmp_path / f / n for n in whole(tmp_path / f)] for f in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


# --- crashes ------------------------------------------------------------------------------


def crashed(directory: Path, session: int = 1) -> TraceWriter:
    """A writer with one whole segment, a row in memory and half a file, that was never closed."""
    writer = TraceWriter(directory, "r", "B1", session)
    writer.write(bare_row(1, session=session))
    writer.flush()
    writer.write(bare_row(2, session=session))
    half = directory / DAY / f".{session:06d}-000000000002.parquet.tmp"
    half.write_bytes(b"PAR1 and then the power was gone")
    return writer


def test_a_crash_leaves_whole_files_and_what_readers_ignore(tmp_path: Path) -> None:
    crashed(tmp_path)
    assert names(tmp_path) == [
        "run=r/.B1.1.open",
        f"{DAY}/.000001-000000000002.parquet.tmp",
        f"{DAY}/000001-000000000001.parquet",
    ]
    assert list(read(tmp_path)) == [bare_row(1)]


def test_the_next_session_sees_the_crash_until_it_is_on_record(tmp_path: Path) -> None:
    crashed(tmp_path)
    second = crashed(tmp_path, session=2)  # crashes before it has recorded the gap
    assert second.interrupted == (1,)
    third = TraceWriter(tmp_path, "r", "B1", 3)
    assert third.interrupted == (1, 2)
    third.write(bare_row(1, session=3, kind="trace_gap"))
    seen = [third.interrupted]
    third.close()
    assert [*seen, third.interrupted] == [(1, 2), ()]
    assert [name for name in names(tmp_path) if "/." in name] == []
    assert TraceWriter(tmp_path, "r", "B1", 4).interrupted == ()


def test_a_crash_of_another_broker_or_run_is_none(tmp_path: Path) -> None:
    crashed(tmp_path)
    assert TraceWriter(tmp_path, "r", "B", 2).interrupted == ()
    assert TraceWriter(tmp_path, "r", "B1.1", 2).interrupted == ()
    assert TraceWriter(tmp_path, "s", "B1", 2).interrupted == ()
    assert TraceWriter(tmp_path, "r", "B1", 1).interrupted == ()


def test_closing_says_that_nothing_is_missing(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    writer.write(bare_row())
    writer.close()
    writer.close()
    assert TraceWriter(tmp_path, "r", "B1", 2).interrupted == ()
    with pytest.raises(TraceWriteError, match="comes after the trace was closed"):
        writer.write(bare_row(2))


def test_an_error_of_the_owner_is_a_crash_but_keeps_the_rows(tmp_path: Path) -> None:
    def run() -> None:
        with TraceWriter(tmp_path, "r", "B1", 1) as writer:
            writer.write(bare_row())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run()
    assert list(read(tmp_path)) == [bare_row()]
    assert TraceWriter(tmp_path, "r", "B1", 2).interrupted == (1,)


def test_a_file_has_another_name_until_it_is_whole_and_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    fsync = os.fsync

    def watching(handle: int) -> None:
        seen.append(whole(tmp_path))
        fsync(handle)

    writer = TraceWriter(tmp_path, "r", "B1", 1)
    writer.write(bare_row())
    monkeypatch.setattr(os, "fsync", watching)
    writer.flush()
    name = f"{DAY}/000001-000000000001.parquet"
    assert seen == [[], [name], [name], [name]]  # the file, then its three folders


def test_without_durability_nothing_is_forced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", None)
    with TraceWriter(tmp_path, "r", "B1", 1, durable=False) as writer:
        writer.write(bare_row())
    assert list(read(tmp_path)) == [bare_row()]


# --- what goes wrong ----------------------------------------------------------------------


def test_a_full_disk_keeps_the_rows_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1, limits=SegmentLimits(rows_max=2))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        writer.write(bare_row(1))
        writer.write(bare_row(2))
        for _ in range(3):
            with pytest.raises(TraceWriteError, match=r"cannot write .*: No space left on device$"):
                writer.write(bare_row(3))
        assert writer.waiting == 2
    writer.write(bare_row(3))
    writer.close()
    assert [row.step for row in read(tmp_path)] == [1, 2, 3]


def test_rows_that_cannot_be_written_can_be_given_up(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "r", "B1", 1) as writer:
        writer.write(bare_row(1))
        writer.write(bare_row(2))
        assert (writer.discard(), writer.waiting) == (2, 0)
        writer.write(bare_row(3, kind="trace_gap"))
    assert [row.step for row in read(tmp_path)] == [3]


def test_what_was_recorded_is_never_overwritten(tmp_path: Path) -> None:
    for expected in (True, False):
        writer = TraceWriter(tmp_path, "r", "B1", 1)
        writer.write(bare_row(1, at=0.5 if expected else 0.75))
        if expected:
            writer.close()
        else:
            with pytest.raises(TraceWriteError, match="it exists; a run of the same name"):
                writer.close()
    assert [row.at for row in read(tmp_path)] == [0.5]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (bare_row(5, run="s"), "does not belong to B1.1 in run 'r'"),
        (bare_row(5, broker="B2"), "does not belong"),
        (bare_row(5, session=2), "does not belong"),
        (bare_row(4), "row 4 of B1.1 in run 'r' .clock. comes after row 4; steps grow"),
        (bare_row(3), "steps grow"),
    ],
)
def test_a_row_out_of_place_is_refused(tmp_path: Path, row: Row, problem: str) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    writer.write(bare_row(4))
    with pytest.raises(TraceRowError, match=problem):
        writer.write(row)
    assert writer.waiting == 1


@pytest.mark.parametrize(
    "row", [bare_row(bytes=2**63), bare_row(client=7), bare_row(extra={"x": object()})]
)
def test_a_value_that_does_not_fit_is_refused(tmp_path: Path, row: Row) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    writer.write(row)
    with pytest.raises(TraceWriteError, match=r"cannot write .*parquet: "):
        writer.flush()
    assert whole(tmp_path) == []


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    writer.write(bare_row(at=float("inf")))
    with pytest.raises(TraceRowError, match="is at inf, which is no time"):
        writer.flush()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceWriteError, match=r"cannot open .*file/run=r: Not a directory"):
        TraceWriter(tmp_path / "file", "r", "B1", 1)


# --- runs of many brokers -----------------------------------------------------------------


def test_a_run_of_many_brokers(tmp_path: Path) -> None:
    rows = [bare_row(step, broker=f"B{b}", at=0.0) for step in (1, 2, 3) for b in (1, 2)]
    with RunWriter(tmp_path, "r", settings=RunSettings(settle_seconds=1)) as writer:
        for row in rows:
            writer.write(row)
    trace = read(tmp_path)
    assert list(trace) == sorted(rows, key=lambda row: row.place)
    assert trace.settings == {"r": RunSettings(settle_seconds=1)}
    assert len(trace.files) == 2


def test_the_memory_of_a_run_is_bounded(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r", rows_total_max=5) as writer:
        for step, broker in enumerate("AABABABAAA", start=1):
            writer.write(bare_row(step, broker=broker, at=0.0))
            assert sum(one.waiting for one in writer._writers.values()) == writer._waiting < 5
    assert [row.step for row in read(tmp_path)] == [1, 2, 4, 6, 8, 9, 10, 3, 5, 7]
    assert len(whole(tmp_path)) == 3


def test_an_error_in_a_run_keeps_the_rows_that_led_to_it(tmp_path: Path) -> None:
    def run() -> None:
        with RunWriter(tmp_path, "r") as writer:
            writer.write(bare_row())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run()
    assert list(read(tmp_path)) == [bare_row()]


def columns(first: int, last: int, kind: str = "clock") -> Columns:
    count = last + 1 - first
    return {
        "step": same_number(first, count, slope=1),
        "at": Numbers(np.arange(first, last + 1) / 2, np.ones(count, np.int64)),
        "kind": same_text(kind, count),
    }


def test_columns_are_a_file_of_the_same_kind(tmp_path: Path) -> None:
    settings = RunSettings(settle_seconds=3.0, advertisements_required=True)
    with TraceWriter(tmp_path, "r", "B1", 1, settings=settings) as writer:
        writer.write(Row(run="r", broker="B1", session=1, step=1, at=0.5, kind="clock"))
        writer.write_columns(columns(2, 4))
        writer.write_columns(columns(5, 4))
        writer.write(Row(run="r", broker="B1", session=1, step=5, at=2.5, kind="clock"))
    trace = read(tmp_path)
    assert [(row.run, row.broker, row.session, row.step, row.at, row.kind) for row in trace] == [
        ("r", "B1", 1, step, step / 2, "clock") for step in range(1, 6)
    ]
    assert len(trace.files) == 3
    assert trace.settings == {"r": settings}
    schemas = [pq.ParquetFile(path).schema_arrow.remove_metadata() for path in trace.files]
    assert schemas == [arrow.schema()] * 3


def test_columns_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    wrong = {**columns(1, 3), "client": same_text("a.1", 2)}
    with pytest.raises(TraceWriteError, match="column 'client': it has 2 rows instead of 3"):
        writer.write_columns(wrong)
    assert list(read(tmp_path)) == []


def test_columns_come_in_order_and_a_gap_among_them_counts(tmp_path: Path) -> None:
    TraceWriter(tmp_path, "r", "B1", 1)  # and it never closes
    writer = TraceWriter(tmp_path, "r", "B1", 2)
    writer.write_columns(columns(1, 3))
    with pytest.raises(TraceRowError, match="comes after row 3; steps grow"):
        writer.write_columns(columns(3, 4))
    found = [writer.interrupted]
    writer.write_columns(columns(4, 4, "trace_gap"), has_gap=True)
    assert [*found, writer.interrupted] == [(1,), ()]


def test_a_disk_that_is_full_keeps_no_half_file(tmp_path: Path) -> None:
    """What cannot be written whole is not there; what waits still waits, and fits later."""
    writer = TraceWriter(tmp_path, "r", "B1", 1)
    for step in range(1, 2000):
        writer.write(bare_row(step, at=0.0, attributes=f"{step * 7919}"))
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    try:
        with pytest.raises(TraceWriteError, match="cannot write"):
            writer.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [
        tmp_path / "run=r" / ".B1.1.open"
    ]
    writer.close()
    assert len(list(read(tmp_path))) == 1999
