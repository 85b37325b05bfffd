"""The oldest files go, one row says so, and a crash at any moment leaves a sound trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import TraceWriteError
from sapwood.trace import TraceWriter, check, read
from sapwood.trace.files.retention import Retention
from sapwood.trace.files.writer import SegmentLimits
from tracing.files import bare_row


def written(directory: Path, files: int, session: int = 1) -> TraceWriter:
    """Files of two rows each, a day apart."""
    writer = TraceWriter(directory, "r", "B1", session, limits=SegmentLimits(rows_max=2))
    for step in range(1, 2 * files + 1):
        writer.write(bare_row(step, session=session, at=86_400.0 * ((step - 1) // 2) + step))
    writer.flush()
    return writer


def steps(directory: Path) -> list[tuple[str, int]]:
    return [(row.kind, row.step) for row in read(directory)]


def test_the_oldest_go_by_age(tmp_path: Path) -> None:
    writer = written(tmp_path, 5)
    everything = steps(tmp_path)
    assert writer.trim(Retention(), 1e9) == 0
    assert writer.trim(Retention(seconds_max=86_400.0 * 2), 86_400.0 * 4) == 2
    assert steps(tmp_path) == [("trace_gap", 4), *everything[4:]]
    assert writer.trim(Retention(seconds_max=86_400.0 * 2), 86_400.0 * 4) == 0
    assert writer.trim(Retention(seconds_max=86_400.0), 86_400.0 * 4) == 2
    assert steps(tmp_path) == [("trace_gap", 6), *everything[6:]]
    folders = sorted(path.name for path in (tmp_path / "run=r").glob("date=*"))
    assert folders == ["date=1970-01-03", "date=1970-01-04", "date=1970-01-05"]


def test_the_newest_stays_whatever_its_size(tmp_path: Path) -> None:
    writer = written(tmp_path, 3)
    everything = steps(tmp_path)
    assert writer.trim(Retention(bytes_max=1), 0.0) == 2
    assert steps(tmp_path) == [("trace_gap", 4), *everything[4:]]
    writer.close()
    assert check(read(tmp_path)).is_correct


def test_files_of_other_brokers_and_sessions(tmp_path: Path) -> None:
    """Sessions come in their order; what another broker wrote is its own affair."""
    other = TraceWriter(tmp_path, "r", "B10", 1)
    other.write(bare_row(1, broker="B10"))
    other.close()
    written(tmp_path, 2).close()
    writer = written(tmp_path, 2, session=12)
    assert writer.trim(Retention(bytes_max=1), 0.0) == 3
    assert sorted((row.broker, row.session, row.step, row.kind) for row in read(tmp_path)) == [
        ("B1", 12, 2, "trace_gap"),
        ("B1", 12, 3, "clock"),
        ("B1", 12, 4, "clock"),
        ("B10", 1, 1, "clock"),
    ]


@pytest.mark.parametrize("survived", [0, 1, 2])
def test_a_crash_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    """Each step is whole: no row is there twice, and those that are there are readable."""
    writer = written(tmp_path, 4)
    done = 0
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        nonlocal done
        if path.suffix == ".parquet":
            if done == survived:
                raise KeyboardInterrupt
            done += 1
        real(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    if survived < 2:
        with pytest.raises(KeyboardInterrupt):
            writer.trim(Retention(bytes_max=1), 0.0)
    else:
        assert writer.trim(Retention(bytes_max=1), 0.0) == 3
    found = [step for _, step in steps(tmp_path)]
    assert found == sorted(set(found))
    assert found[-2:] == [7, 8]


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    writer = written(tmp_path, 2)
    first = read(tmp_path).files[0]
    first.write_bytes(b"no Parquet")
    with pytest.raises(TraceWriteError, match="cannot trim"):
        writer.trim(Retention(seconds_max=1.0), 1e9)
