"""Figures: the same numbers give the same file, and lines differ without colour."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.analyze_figures import PATTERNS, Axes, Curve, draw

AXES = Axes("Two lines", "subscriptions", "messages per second", y_log=True, y_min=1.0)
CURVES = [Curve(f"line {n}", list(range(1, 40)), [n + 1.0] * 39, n) for n in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.svg", "a.png"])
def test_the_same_file(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "one" / name, tmp_path / "two" / name
    for file in (first, second):
        draw(AXES, CURVES, file)
    assert first.read_bytes() == second.read_bytes()


def test_what_it_says(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(AXES, CURVES, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    for words in ("Two lines", "subscriptions", "messages per second", "line 0", "line 1"):
        assert words in text


def test_a_line_of_two_points(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(AXES, [Curve("short", [1.0, 2.0], [3.0, 4.0], 0)], tmp_path / "a.svg")
    assert "short" in (tmp_path / "a.svg").read_text()


def test_patterns_differ() -> None:
    assert len({str(pattern) for pattern in PATTERNS}) == len(PATTERNS)
