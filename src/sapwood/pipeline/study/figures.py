"""Figures of a study: a measure against a parameter, with confidence intervals.

The same results give the same file, byte for byte, so that figures can be kept under version
control.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.pipeline.study.study import Outcome
    from sapwood.pipeline.study.study_file import Figure, Study

MARKERS = "osD^vPX*<>"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by people with any kind of colour vision (Okabe and Ito)."""


def draw_all(study: Study, outcome: Outcome) -> list[Path]:
    """Draw all figures of a study beside its results, if those are in a local folder."""
    if "://" in outcome.folder:
        return []
    folder = Path(outcome.folder.removeprefix("file:")) / "figures"
    return [draw(figure, outcome.points, folder / f"{figure.name}.svg") for figure in study.figures]


def draw(figure: Figure, points: list[dict[str, Any]], path: Path) -> Path:
    """Draw one figure into a file."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to load, and optional
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9}):
        canvas = Canvas(figsize=(6.0, 3.6), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        for number, (label, line) in enumerate(lines_of(figure, points).items()):
            _draw_line(axes, label, line, number)
        axes.set_xscale("log" if figure.x_log else "linear")
        axes.set_yscale("log" if figure.y_log else "linear")
        axes.set_xlabel(figure.x_label or figure.x)
        axes.set_ylabel(figure.y_label or figure.y)
        axes.set_title(figure.title)
        axes.grid(visible=True, alpha=0.3)
        if figure.lines is not None:
            axes.legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, metadata={"Date": None})
    return path


def _draw_line(axes: Any, label: str, line: list[dict[str, Any]], number: int) -> None:
    x = [row["x"] for row in line]
    mean = [row["mean"] for row in line]
    reach = [
        [row["mean"] - row["low"] for row in line],
        [row["high"] - row["mean"] for row in line],
    ]
    axes.errorbar(
        x,
        mean,
        yerr=reach,
        label=label,
        color=COLORS[number % len(COLORS)],
        marker=MARKERS[number % len(MARKERS)],
        markersize=4,
        linewidth=1.2,
        capsize=2,
    )


def lines_of(figure: Figure, points: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The points of each line, in the order of the study; a single run has an interval of 0.

    Parameters that are neither on the axis nor told apart by lines make lines of their own.
    """
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in points:
        if row["measure"] != figure.y or row["mean"] is None:
            continue
        parameters = dict(row["parameters"])
        x = parameters.pop(figure.x)
        first = [str(parameters.pop(figure.lines))] if figure.lines is not None else []
        label = ", ".join([*first, *(f"{key} {value}" for key, value in parameters.items())])
        mean = row["mean"]
        low, high = (mean if row[end] is None else row[end] for end in ("low", "high"))
        lines.setdefault(label, []).append({"x": x, "mean": mean, "low": low, "high": high})
    return lines


__all__ = ["COLORS", "MARKERS", "draw", "draw_all", "lines_of"]
