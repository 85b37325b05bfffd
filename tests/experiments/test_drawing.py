"""Figures: the same curves give the same file, and nothing is left out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.experiments.curves import Curves, Point
from sapwood.experiments.drawing import draw, legend_columns
from sapwood.experiments.experiment import Figure

FIGURE = Figure("F", "cost", "The title", "brokers", "cost per second")
CURVES = Curves(
    [
        Point("cost", line, float(x), 3, 10.0 * x, 1.0, 9.0 * x, 11.0 * x)
        for line in ("first line", "second line", "third", "fourth", "fifth")
        for x in (1, 2, 3)
    ]
)


@pytest.mark.slow
@pytest.mark.parametrize("is_bars", [False, True])
def test_a_figure_says_what_it_shows(tmp_path: Path, is_bars: bool) -> None:
    figure = Figure("F", "cost", "The title", "brokers", "cost per second", is_bars=is_bars)
    paths = draw(figure, CURVES, tmp_path / "a")
    assert [path.name for path in paths] == ["F.png", "F.svg"]
    text = paths[1].read_text(encoding="utf-8")
    wanted = ["The title", "cost per second", *CURVES.lines("cost")]
    assert [one for one in wanted if f">{one}<" not in text] == []
    again = draw(figure, CURVES, tmp_path / "b")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in paths]


def test_without_lines_there_is_no_figure(tmp_path: Path) -> None:
    assert draw(Figure("F", "other", "", "", ""), CURVES, tmp_path) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_only_the_lines_that_are_named(tmp_path: Path) -> None:
    figure = Figure("F", "cost", "", "x", "y", lines=("third", "none such"))
    text = draw(figure, CURVES, tmp_path)[1].read_text(encoding="utf-8")
    assert "first line" not in text


@pytest.mark.parametrize(("longest", "columns"), [(5, 3), (22, 3), (28, 2), (38, 2), (60, 1)])
def test_a_legend_has_as_many_columns_as_its_names_leave_room_for(
    longest: int, columns: int
) -> None:
    assert legend_columns(["short", "x" * longest]) == columns
