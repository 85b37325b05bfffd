"""What an experiment is: its runs, what one of them measures, and how the curves are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sapwood.experiments.claims import Claim
from sapwood.experiments.curves import Curves, Observation

Parameters = Mapping[str, Any]
Measure = Callable[[Parameters, int], Iterable[Observation]]
"""Does one run, from its parameters and its seed: what was observed."""


class Size(NamedTuple):
    """How much of an experiment is done."""

    points: Sequence[Parameters]
    """The parameters of the runs; each is done `runs` times, with a seed of its own each time."""
    runs: int
    minutes: float
    """How long that takes on two cores, about."""
    is_printed: bool = False
    """Whether this is the size of the papers; otherwise some claims cannot be refuted by it."""


@dataclass(frozen=True)
class Figure:
    """One picture: all lines of a measure over x."""

    name: str
    measure: str
    title: str
    x: str
    """What the axis says, with its unit."""
    y: str
    x_log: bool = False
    y_log: bool = False
    y_max: float | None = None
    lines: tuple[str, ...] = ()
    """Only these, in this order; all if none is named."""
    own: tuple[str, ...] = ()
    """Those that Sapwood runs itself: drawn thicker."""
    is_bars: bool = False
    """Bars, one for each line, where there is nothing to draw over."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One or a few figures or tables of the papers that need the same runs."""

    name: str
    title: str
    shows: tuple[str, ...]
    """The figures, tables and claims, by their names in the list of claims."""
    setup: str
    """What is simulated or computed, in words, and what differs from the print."""
    quick: Size
    full: Size
    measure: Measure
    judge: Callable[[Curves], list[Claim]]
    figures: tuple[Figure, ...]
    pairs: tuple[tuple[str, str, str], ...] = ()
    """A measure and two of its lines, whose difference is taken run by run (equal seeds)."""
    corrections: tuple[str, ...] = ()
    """What the papers have wrong here, and how it is read."""
    seed: int = 1
    cost: Callable[[Parameters], float] = field(default=lambda parameters: 1.0)
    """How long a run may take, in no unit; the longest are done first."""

    def size(self, *, is_quick: bool) -> Size:
        """How much to do."""
        return self.quick if is_quick else self.full


__all__ = ["Experiment", "Figure", "Measure", "Parameters", "Size"]
