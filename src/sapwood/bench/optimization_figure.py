"""The cost over time of every way to choose the tree, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sapwood.bench.optimization import Run

PATTERNS: Final[tuple[Any, ...]] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
COLORS: Final = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#444444")


def draw(runs: dict[str, list[Run]], path: Path) -> None:
    """One plot a situation: means of all seeds, in parts of what the static tree costs."""
    import matplotlib as mpl  # noqa: PLC0415 - only who wants a figure needs it
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": "optimization", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7.0, 2.6 * len(runs)), layout="constrained")
        FigureCanvasSVG(figure)
        for place, (name, found) in enumerate(runs.items(), start=1):
            plot = figure.add_subplot(len(runs), 1, place)
            plot.axhline(1.0, color="#999999", linewidth=0.8)
            for style, way in enumerate(dict.fromkeys(one.way for one in found)):
                times, means = _curve([one for one in found if one.way == way])
                plot.plot(
                    times,
                    means,
                    label=way,
                    linestyle=PATTERNS[style % len(PATTERNS)],
                    color=COLORS[style % len(COLORS)],
                )
            plot.set_title(name)
            plot.set_ylabel("cost, static tree = 1")
            plot.set_ylim(bottom=0.0)
            if place == len(runs):
                plot.set_xlabel("ticks")
            if place == 1:
                plot.legend(ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})


def _curve(runs: Sequence[Run]) -> tuple[list[float], list[float]]:
    times = [one.until for one in runs[0].outcome.measured]
    return times, [fmean(shares) for shares in zip(*(one.shares() for one in runs), strict=True)]
