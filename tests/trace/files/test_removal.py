"""Rows can be removed from a trace, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import TraceError
from sapwood.trace import Row, RunSettings, SegmentLimits, TraceWriter, read
from sapwood.trace.files.removal import remove


def trace(directory: Path) -> list[Row]:
    settings, limits = RunSettings(settle_seconds=3.0), SegmentLimits(rows_max=2)
    with TraceWriter(directory, "r", "B1", 1, settings=settings, limits=limits) as writer:
        for step in range(1, 7):
            writer.write(
                Row(run="r", broker="B1", session=1, step=step, at=float(step), kind="clock")
            )
    return list(read(directory))


def test_the_rows_are_gone_and_the_others_stay(tmp_path: Path) -> None:
    rows = trace(tmp_path)
    remove(tmp_path, {rows[1].place, rows[4].place})
    left = read(tmp_path)
    assert list(left) == [rows[0], rows[2], rows[3], rows[5]]
    assert left.settings["r"].settle_seconds == 3.0
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_file_may_lose_all_its_rows(tmp_path: Path) -> None:
    rows = trace(tmp_path)
    remove(tmp_path, {rows[0].place, rows[1].place})
    assert list(read(tmp_path)) == rows[2:]


def test_a_row_that_is_not_there_cannot_be_removed(tmp_path: Path) -> None:
    trace(tmp_path)
    with pytest.raises(TraceError, match=r"^there is no row 9 of B1\.1 in run 'r' to remove$"):
        remove(tmp_path, {("r", "B1", 1, 9)})
