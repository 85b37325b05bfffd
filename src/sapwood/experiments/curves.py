"""What the runs of an experiment come to: means with confidence intervals, and their CSV file.

A claim is judged on these alone, so that what is kept in a small file can be judged again.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sapwood.errors import ExperimentError


class Observation(NamedTuple):
    """One value that a run gives: a point of a line of a measure."""

    measure: str
    line: str
    x: float
    y: float


class Point(NamedTuple):
    """The mean of some runs; without interval where there is one run only."""

    measure: str
    line: str
    x: float
    runs: int
    mean: float
    deviation: float | None
    low: float | None
    high: float | None


class Sample(NamedTuple):
    """An observation, and the repeat that it is of."""

    measure: str
    line: str
    x: float
    repeat: int
    value: float


class Curves:
    """All points of an experiment."""

    def __init__(self, points: Iterable[Point], *, is_printed: bool = True) -> None:
        self.points = list(points)
        self.is_printed = is_printed
        """Whether the runs are as large and as many as in the papers."""
        self._lines: defaultdict[tuple[str, str], list[Point]] = defaultdict(list)
        for point in self.points:
            self._lines[point.measure, point.line].append(point)
        for line in self._lines.values():
            line.sort(key=lambda point: point.x)

    def lines(self, measure: str) -> list[str]:
        """The lines of a measure, in the order in which they were observed."""
        return [line for of, line in self._lines if of == measure]

    def line(self, measure: str, line: str) -> list[Point]:
        """The points of a line by x; none if there is no such line."""
        return self._lines.get((measure, line), [])

    def at(self, measure: str, line: str, x: float = 0.0) -> Point | None:
        """One point, if it is there."""
        return next((one for one in self.line(measure, line) if one.x == x), None)

    def mean(self, measure: str, line: str, x: float = 0.0) -> float:
        """Its mean; nan if it is not there, which satisfies no comparison."""
        point = self.at(measure, line, x)
        return math.nan if point is None else point.mean


def differences(samples: Sequence[Sample], pairs: Iterable[tuple[str, str, str]]) -> list[Sample]:
    """Run by run, how much one line of a measure is above another one."""
    values: defaultdict[tuple[str, str], dict[tuple[float, int], float]] = defaultdict(dict)
    for one in samples:
        values[one.measure, one.line][one.x, one.repeat] = one.value
    found = []
    for measure, upper, lower in pairs:
        below = values[measure, lower]
        name = difference(upper, lower)
        found += [
            Sample(f"{measure} difference", name, x, repeat, value - below[x, repeat])
            for (x, repeat), value in values[measure, upper].items()
            if (x, repeat) in below
        ]
    return found


def difference(upper: str, lower: str) -> str:
    """The name of the line that is the difference of two."""
    return f"{upper} minus {lower}"


_COLUMNS = Point._fields


def write_csv(curves: Curves, path: Path) -> None:
    """Write all points; the same points give the same file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(["" if value is None else value for value in one] for one in curves.points)


def read_csv(path: Path, *, is_printed: bool) -> Curves:
    """Read what `write_csv` has written."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != _COLUMNS:
            raise ExperimentError(
                f"has other columns than {', '.join(_COLUMNS)}; is it a curve?", file=str(path)
            )
        return Curves(_points(reader), is_printed=is_printed)


def _points(rows: Iterable[dict[str, Any]]) -> Iterator[Point]:
    for row in rows:
        deviation, low, high = (
            float(row[name]) if row[name] else None for name in ("deviation", "low", "high")
        )
        yield Point(
            row["measure"],
            row["line"],
            float(row["x"]),
            int(row["runs"]),
            float(row["mean"]),
            deviation,
            low,
            high,
        )


__all__ = [
    "Curves",
    "Observation",
    "Point",
    "Sample",
    "difference",
    "differences",
    "read_csv",
    "write_csv",
]
