"""The figure of the cost over time: the same file for the same runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.test_optimization import outcome
from sapwood.bench.optimization import Run
from sapwood.bench.optimization_figure import draw


@pytest.mark.slow
def test_there_is_a_curve_for_each_way_and_a_plot_for_each_situation(tmp_path: Path) -> None:
    runs = [
        Run(way, 1, outcome([10.0, 5.0], [0, 1]), (10.0, 10.0), 1.0, 1.0)
        for way in ("ci", "adaptive")
    ]
    for name in ("one.svg", "two.svg"):
        draw({"jobs move": runs, "jobs stay": runs}, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert all(word in text for word in ("ci", "adaptive", "jobs move", "jobs stay"))
