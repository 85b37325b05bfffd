"""The figures of experiments, all in one style.

Lines are told apart by pattern, mark and darkness, so that they survive a grey printer; intervals
are drawn where there are several runs; the same curves give the same file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sapwood.experiments.curves import Curves, Point
from sapwood.pipeline.study.figures import MARKERS

if TYPE_CHECKING:
    from sapwood.experiments.experiment import Figure

PATTERNS: Final[tuple[Any, ...]] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (3, 3)),
    (0, (1, 3)),
)
COLORS: Final = (
    "#000000",
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#7d3c98",
    "#b8860b",
    "#56b4e9",
)
"""One less than there are patterns, so that no two of fifty lines share both."""

MARKS: Final = 9
"""About how many marks a line has."""

RUNS_MIN: Final = 3
"""With fewer runs an interval is as wide as the figure, and is not drawn; the CSV has it."""

LEGEND_LINES_MAX: Final = 4
"""With more lines the legend stands below the plot, where it covers nothing."""

LEGEND_COLUMNS: Final = ((22, 3), (38, 2))
"""The longest name that so many columns of a legend have room for; longer ones have one."""

_SVG: Final[dict[Any, Any]] = {"svg.fonttype": "none", "font.size": 9, "axes.axisbelow": True}


def draw(figure: Figure, curves: Curves, folder: Path) -> list[Path]:
    """Draw a figure as PNG and SVG; nothing if none of its lines is there."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to load, and optional
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    known = curves.lines(figure.measure)
    lines = [one for one in figure.lines if one in known] if figure.lines else known
    if not lines:
        return []
    with mpl.rc_context({**_SVG, "svg.hashsalt": figure.name}):
        canvas = Canvas(figsize=(7.0, 4.4), layout="constrained", dpi=130)
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        if figure.is_bars:
            _draw_bars(axes, figure, curves, lines)
        else:
            for number, line in enumerate(lines):
                _draw_line(axes, figure, curves.line(figure.measure, line), number)
            least = min(one.mean for line in lines for one in curves.line(figure.measure, line))
            _finish(canvas, axes, figure, lines, least)
        axes.set_title(figure.title)
        paths = [folder / f"{figure.name}.{kind}" for kind in ("png", "svg")]
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            metadata = {"Software": None} if path.suffix == ".png" else {"Date": None}
            canvas.savefig(path, metadata=metadata)
    return paths


def _draw_line(axes: Any, figure: Figure, points: list[Point], number: int) -> None:
    name = points[0].line
    apart = max(1, len(points) // MARKS)
    style: dict[str, Any] = {
        "label": name,
        "linestyle": PATTERNS[number % len(PATTERNS)],
        "color": COLORS[number % len(COLORS)],
        "linewidth": 2.4 if name in figure.own else 1.3,
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 4,
        "markevery": (number * apart // 7 % apart, apart),
    }
    x, mean = [one.x for one in points], [one.mean for one in points]
    axes.plot(x, mean, **style)
    if any(one.runs >= RUNS_MIN for one in points):
        low, high = zip(*(_ends(one) for one in points), strict=True)
        axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _ends(point: Point) -> tuple[float, float]:
    """The interval; the mean alone where there is none worth drawing."""
    if point.low is None or point.high is None or point.runs < RUNS_MIN:
        return point.mean, point.mean
    return point.low, point.high


def legend_columns(names: list[str]) -> int:
    """How many columns a legend below the plot has, so that nothing is cut off."""
    longest = max(map(len, names))
    return next((columns for most, columns in LEGEND_COLUMNS if longest <= most), 1)


def _finish(canvas: Any, axes: Any, figure: Figure, lines: list[str], least: float) -> None:
    axes.set_xscale("log" if figure.x_log else "linear")
    axes.set_yscale("log" if figure.y_log else "linear")
    if figure.y_max is not None:
        axes.set_ylim(top=figure.y_max)
    if not figure.y_log and least >= 0:
        axes.set_ylim(bottom=0.0)
    if not figure.x_log:
        axes.xaxis.set_major_formatter("{x:,g}")
    if not figure.y_log:
        axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    axes.grid(visible=True, alpha=0.3)
    if len(lines) > LEGEND_LINES_MAX:
        columns = legend_columns(lines)
        canvas.legend(loc="outside lower center", ncols=columns, frameon=False, handlelength=3.5)
    elif len(lines) > 1:
        axes.legend(frameon=False, handlelength=3.5)


def _draw_bars(axes: Any, figure: Figure, curves: Curves, lines: list[str]) -> None:
    points = [curves.line(figure.measure, line)[0] for line in lines]
    places = range(len(points))[::-1]
    reach = [
        [one.mean - _ends(one)[0] for one in points],
        [_ends(one)[1] - one.mean for one in points],
    ]
    greys = ["#404040" if line in figure.own else "#a0a0a0" for line in lines]
    axes.barh(list(places), [one.mean for one in points], xerr=reach, color=greys, height=0.65)
    axes.set_yticks(list(places), lines)
    axes.set_xlabel(figure.y)
    axes.set_xscale("log" if figure.y_log else "linear")
    axes.grid(visible=True, axis="x", alpha=0.3)


__all__ = ["draw", "legend_columns"]
