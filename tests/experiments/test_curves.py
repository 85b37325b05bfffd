"""Curves: what is in them, and the file they are kept in."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sapwood.errors import ExperimentError
from sapwood.experiments.curves import (
    Curves,
    Point,
    Sample,
    difference,
    differences,
    read_csv,
    write_csv,
)

POINTS = [
    Point("cost", "a", 2.0, 3, 1.5, 0.5, 0.25, 2.75),
    Point("cost", "a", 1.0, 1, 0.1, None, None, None),
    Point("loss, all", 'b "quoted"', 0.0, 1, 1 / 3, None, None, None),
]


def test_points_are_found_by_line_and_x() -> None:
    curves = Curves(POINTS)
    assert curves.lines("cost") == ["a"]
    assert [one.x for one in curves.line("cost", "a")] == [1.0, 2.0]
    assert curves.mean("cost", "a", 2.0) == 1.5
    assert curves.at("cost", "b") is None
    assert math.isnan(curves.mean("cost", "b"))


def test_a_file_gives_the_same_points(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    write_csv(Curves(POINTS), path)
    assert read_csv(path, is_printed=True).points == POINTS


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"curve\.csv has other columns than measure, line"):
        read_csv(path, is_printed=True)


def test_differences_are_taken_run_by_run() -> None:
    samples = [
        Sample("cost", "a", 1.0, 0, 5.0),
        Sample("cost", "a", 1.0, 1, 7.0),
        Sample("cost", "b", 1.0, 1, 4.0),
        Sample("cost", "b", 2.0, 0, 4.0),
    ]
    assert differences(samples, [("cost", "a", "b")]) == [
        Sample("cost difference", difference("a", "b"), 1.0, 1, 3.0)
    ]
