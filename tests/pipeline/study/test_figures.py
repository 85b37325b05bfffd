"""Figures: lines from points, and the same file for the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.pipeline.study.figures import draw, draw_all, lines_of
from sapwood.pipeline.study.study import Outcome
from sapwood.pipeline.study.study_file import Figure, Study

FIGURE = Figure(name="f", x="n", y="hops", lines="algorithm", title="All hops", y_log=True)


def point(n: int, algorithm: str, mean: float | None, **changes: Any) -> dict[str, Any]:
    low, high = (None, None) if mean is None else (mean - 1, mean + 2)
    row = {"measure": "hops", "mean": mean, "low": low, "high": high}
    return {"parameters": {"n": n, "algorithm": algorithm}, **row, **changes}


POINTS = [point(1, "simple", 5.0), point(2, "simple", 7.0), point(1, "merging", 3.0)]


def test_a_line_for_each_value() -> None:
    assert lines_of(FIGURE, [*POINTS, point(3, "simple", 1.0, measure="other")]) == {
        "simple": [
            {"x": 1, "mean": 5.0, "low": 4.0, "high": 7.0},
            {"x": 2, "mean": 7.0, "low": 6.0, "high": 9.0},
        ],
        "merging": [{"x": 1, "mean": 3.0, "low": 2.0, "high": 5.0}],
    }


def test_what_is_left_makes_lines_of_its_own() -> None:
    figure = Figure(name="f", x="n", y="hops")
    assert list(lines_of(figure, POINTS)) == ["algorithm simple", "algorithm merging"]


def test_a_single_run_has_no_interval_and_none_has_no_point() -> None:
    points = [point(1, "simple", 5.0, low=None, high=None), point(2, "simple", None)]
    assert lines_of(FIGURE, points) == {"simple": [{"x": 1, "mean": 5.0, "low": 5.0, "high": 5.0}]}


@pytest.mark.slow
def test_the_same_results_give_the_same_file(tmp_path: Path) -> None:
    first, second = (draw(FIGURE, POINTS, tmp_path / name / "f.svg") for name in ("a", "b"))
    text = first.read_text()
    assert text == second.read_text()
    for shown in ("All hops", "hops", "simple", "merging"):
        assert f">{shown}</text>" in text


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "count"), [("{}", 1), ("file:{}", 1), ("s3a://bucket{}", 0)])
def test_figures_are_beside_local_results(tmp_path: Path, folder: str, count: int) -> None:
    study = Study(
        name="s",
        scenario={},
        parameters={"n": [1, 2], "algorithm": ["simple", "merging"]},
        measures={"hops": "hops"},
        figures=[FIGURE],
    )
    outcome = Outcome(
        study="s", code="1", folder=folder.format(tmp_path), runs=3, reused=0, failures=[],
        violations=[], digest="", cpu_seconds=0.0, points=POINTS,
    )  # fmt: skip
    assert draw_all(study, outcome) == [tmp_path / "figures" / "f.svg"][:count]
