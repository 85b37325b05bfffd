"""Figures of `sapwood analyze`: one style, the same file for the same numbers.

Lines are told apart by pattern and marks, not by colour alone, so that they survive a grey printer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PATTERNS = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 3)))
_MARKS = 9
"""How many marks a line has."""


class Curve(NamedTuple):
    """One line of a figure."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int
    """Which pattern and colour: curves of one family share it in no figure."""


class Axes(NamedTuple):
    """What the axes say, with units."""

    title: str
    x: str
    y: str
    x_log: bool = False
    y_log: bool = False
    y_min: float | None = None


def draw(axes: Axes, curves: Sequence[Curve], path: Path) -> None:
    """Draw curves into a file, .svg or .png."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from sapwood.pipeline.study.figures import COLORS, MARKERS

    is_svg = path.suffix.lower() == ".svg"
    with mpl.rc_context({"svg.hashsalt": axes.title, "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained", dpi=120)
        (FigureCanvasSVG if is_svg else FigureCanvasAgg)(figure)
        plot = figure.add_subplot()
        for curve in curves:
            apart = max(1, len(curve.x) // _MARKS)
            pattern: Any = PATTERNS[curve.style % len(PATTERNS)]
            plot.plot(
                curve.x,
                curve.y,
                label=curve.label,
                linestyle=pattern,
                color=COLORS[curve.style % len(COLORS)],
                linewidth=1.3,
                marker=MARKERS[curve.style % len(MARKERS)],
                markersize=4,
                markevery=(curve.style * apart // 7, apart),
            )
        plot.set_xscale("log" if axes.x_log else "linear")
        plot.set_yscale("log" if axes.y_log else "linear")
        plot.set_xlabel(axes.x)
        plot.set_ylabel(axes.y)
        plot.set_title(axes.title)
        plot.margins(x=0)
        if axes.y_min is not None:
            plot.set_ylim(bottom=axes.y_min)
        for axis in (plot.xaxis, plot.yaxis):
            axis.set_major_formatter("{x:,.10g}")
        plot.grid(visible=True, alpha=0.3)
        plot.legend(fontsize=8, framealpha=0.9)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if is_svg else None)
