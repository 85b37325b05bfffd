"""`sapwood bench matching`: the engine beside a naive scan and the counting algorithm.

Every workload and number of filters is measured in a process of its own (`matching_run`). What
is to be reached is set by the workload `plain`; `mixed` shows what richer filters cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sapwood.bench.matching_report import report
from sapwood.bench.process import Start, call_fresh, time_start
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Report

_WORKLOADS = ("plain", "mixed")


class Effort(NamedTuple):
    """How thoroughly to measure."""

    filters: tuple[int, ...]
    naive_matches: int
    """Filters times events that the naive scan is given, about."""
    events: int
    singles: int
    rounds: int
    round_seconds: float
    starts: int


_THOROUGH = Effort((10_000, 100_000, 1_000_000), 1_000_000, 4096, 5000, 5, 0.5, starts=5)
_QUICK = Effort((1_000, 10_000), 100_000, 1024, 1000, 3, 0.1, starts=2)

_START = """
from sapwood.filters import Filter
from sapwood.matching import MatchIndex
index = MatchIndex()
index.add("cheap", Filter("price < 10"))
assert index.match({"price": 9}) == ["cheap"]
"""


def run(options: Options, progress: Progress) -> Report:
    """Measure all workloads with all numbers of filters."""
    effort = _QUICK if options.quick else _THOROUGH
    runs = []
    for workload in _WORKLOADS:
        for filters in options.filters or effort.filters:
            progress(f"matching: workload {workload}, {filters:,} filters")
            plan = _plan(workload, filters, options.seed, effort)
            runs.append(call_fresh("sapwood.bench.matching_run:measure", plan))
    progress("matching: start of a process until its first match")
    starts = [time_start(_START) for _ in range(effort.starts)]
    return report(runs, Start(*map(min, zip(*starts, strict=True))))


def _plan(workload: str, filters: int, seed: int, effort: Effort) -> dict[str, Any]:
    return {
        "workload": workload,
        "seed": seed,
        "filters": filters,
        "naive_events": min(max(effort.naive_matches // filters, 4), 50),
        "events": effort.events,
        "singles": effort.singles,
        "rounds": effort.rounds,
        "round_seconds": effort.round_seconds,
    }
