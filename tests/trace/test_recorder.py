"""Rows are made in the order in which things happen, and every sink gets them."""

from __future__ import annotations

from sapwood.trace.recorder import Recorder
from sapwood.trace.schema import Row


def test_rows_are_counted_for_each_broker() -> None:
    rows: list[Row] = []
    recorder = Recorder("r", [rows.append])
    recorder.now = lambda: 1.5
    for broker in ("A", "B", "A"):
        recorder(broker, "clock", message="m")
    assert [(row.broker, row.step, row.at, row.message) for row in rows] == [
        ("A", 1, 1.5, "m"),
        ("B", 1, 1.5, "m"),
        ("A", 2, 1.5, "m"),
    ]
