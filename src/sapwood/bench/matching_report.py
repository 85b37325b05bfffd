"""How the figures of the matching benchmark are shown, and what they are held against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sapwood.bench.process import Start
from sapwood.bench.report import Line, Report, Style, Table

_ABOUT = {
    "plain": "3 to 5 predicates: equality, ranges, prefixes",
    "mixed": "skewed numbers; <>, in, suffix, contains, exists, or",
}

Figures = dict[str, Any]


class Target(NamedTuple):
    """What is to be reached with so many filters of the workload `plain`."""

    events_per_second: int
    stretch: int
    latency_us: int
    memory_mb: int | None = None


TARGETS = {
    10_000: Target(150_000, 450_000, 50),
    100_000: Target(80_000, 150_000, 100),
    1_000_000: Target(15_000, 30_000, 300, 400),
}

CHANGE_US, FIRST_MATCH_SECONDS, P99_OVER_P50 = 20, 2.0, 5.0
"""To be reached with any number of filters: one addition or removal, amortised; the first match
after the start of a process; and how much slower than p50 p99 may be while filters change."""


def report(runs: list[Figures], first_match: Start) -> Report:
    """The report on all runs."""
    workloads = list(dict.fromkeys(each["workload"] for each in runs))
    return Report(
        figures={
            "runs": runs,
            "first_match_seconds": first_match.seconds,
            "first_match_processor_seconds": first_match.processor_seconds,
            "targets": _targets(runs),
        },
        tables=[_table(workload, _of(runs, workload)) for workload in workloads],
        notes=_notes(first_match),
        conclusion=_conclusion(runs),
        is_right=all(each["identical"] for each in runs),
    )


def _of(runs: list[Figures], workload: str) -> list[Figures]:
    return [each for each in runs if each["workload"] == workload]


def _target_of(each: Figures) -> Target | None:
    return TARGETS.get(each["filters"]) if each["workload"] == "plain" else None


def _targets(runs: list[Figures]) -> Figures:
    plain = {str(each["filters"]): target for each in runs if (target := _target_of(each))}
    return {
        "plain": {filters: target._asdict() for filters, target in plain.items()},
        "add_us": CHANGE_US,
        "remove_us": CHANGE_US,
        "first_match_seconds": FIRST_MATCH_SECONDS,
        "p99_over_p50": P99_OVER_P50,
    }


def _table(workload: str, runs: list[Figures]) -> Table:
    """The figures of a workload, one column for each number of filters."""
    return Table(
        title=f"{workload}: {_ABOUT[workload]}",
        columns=tuple(f"{each['filters']:,} filters" for each in runs),
        lines=[
            *_throughput(runs),
            *_latency(runs),
            *_changes(runs),
            *_memory(runs),
            _line(runs, "matches per event", lambda each: f"{each['matches_per_event']:,.1f}"),
            _line(runs, "same as naive scan", lambda each: _yes(each["identical"])),
        ],
    )


def _throughput(runs: list[Figures]) -> list[Line]:
    def rate(name: str) -> Callable[[Figures], str]:
        return lambda each: _rounded(each[name]["events_per_second"])

    def ratio(name: str) -> Callable[[Figures], str]:
        return lambda each: f"{_ratio(each, name):,.0f} ×"

    return [
        Line("events/s, batches of 256", style=Style.HEADING),
        _line(runs, "naive scan", rate("naive")),
        _line(runs, "counting", rate("counting")),
        _line(runs, "Sapwood", rate("engine"), Style.OWN),
        *_target(runs, lambda target: f"≥ {target.events_per_second:,}"),
        *_target(runs, lambda target: f"≥ {target.stretch:,}", "stretch"),
        _line(runs, "Sapwood / counting", ratio("counting")),
        _line(runs, "Sapwood / naive scan", ratio("naive")),
    ]


def _latency(runs: list[Figures]) -> list[Line]:
    def spread(*path: str) -> Callable[[Figures], str]:
        def cell(each: Figures) -> str:
            for name in path:
                each = each[name]
            return f"{each['latency_us_p50']:,.0f} / {each['latency_us_p99']:,.0f}"

        return cell

    return [
        Line("one event alone, µs, p50 / p99", style=Style.HEADING),
        _line(runs, "counting", spread("counting")),
        _line(runs, "Sapwood", spread("engine"), Style.OWN),
        *_target(runs, lambda target: f"≤ {target.latency_us}"),
        Line("the same with 100 changes/s", style=Style.HEADING),
        _line(runs, "Sapwood", spread("while_changing"), Style.OWN),
        _line(runs, "p99 / p50", lambda each: f"{each['while_changing']['p99_over_p50']:.1f}"),
        _line(runs, "to reach", lambda _: f"≤ {P99_OVER_P50:.0f}", Style.TARGET),
        _line(
            runs,
            "longest pause, ms",
            lambda each: f"{each['while_changing']['longest_pause_us'] / 1000:,.1f}",
        ),
    ]


def _changes(runs: list[Figures]) -> list[Line]:
    def cell(each: Figures) -> str:
        return f"{each['engine']['add_us']:.0f} / {each['engine']['remove_us']:.0f}"

    return [
        Line("add / remove one filter, µs", style=Style.HEADING),
        _line(runs, "Sapwood", cell, Style.OWN),
        _line(runs, "to reach", lambda _: f"≤ {CHANGE_US}", Style.TARGET),
    ]


def _memory(runs: list[Figures]) -> list[Line]:
    return [
        Line("memory of the index, MB", style=Style.HEADING),
        _line(runs, "Sapwood", lambda each: f"{each['engine']['memory_mb']:,.0f}", Style.OWN),
        *_target(runs, lambda target: f"≤ {target.memory_mb}" if target.memory_mb else ""),
    ]


def _line(
    runs: list[Figures], label: str, cell: Callable[[Figures], str], style: Style = Style.FIGURE
) -> Line:
    return Line(label, tuple(cell(each) for each in runs), style)


def _target(
    runs: list[Figures], cell: Callable[[Target], str], label: str = "to reach"
) -> list[Line]:
    """The line with the targets, if there are any."""
    targets = [_target_of(each) for each in runs]
    cells = tuple(cell(target) if target else "" for target in targets)
    return [Line(label, cells, Style.TARGET)] if any(cells) else []


def _rounded(figure: float) -> str:
    """A rate with about three digits that mean something."""
    if figure < 100:
        return f"{figure:.1f}"
    digits = 3 - len(str(int(figure)))
    return f"{round(figure, digits):,.0f}"


def _ratio(each: Figures, name: str) -> float:
    ratio: float = each["engine"]["events_per_second"] / each[name]["events_per_second"]
    return ratio


def _yes(answer: bool) -> str:
    return "yes" if answer else "NO"


def _notes(first_match: Start) -> list[str]:
    return [
        f"First match {first_match.seconds:.2f} s after the start of a process, compiled code "
        f"being cached ({first_match.processor_seconds:.2f} s of processor time; "
        f"to reach: {FIRST_MATCH_SECONDS:.0f} s).",
        "One core; dictionaries in, keys out. Processor time; rates are the best of several "
        "rounds in turns, after the index has adapted to earlier events. The naive scan gets "
        "checked notifications, the others dictionaries.",
    ]


def _conclusion(runs: list[Figures]) -> str:
    wrong = [each for each in runs if not each["identical"]]
    if wrong:
        places = ", ".join(f"{each['workload']} with {each['filters']:,}" for each in wrong)
        return f"The results differ from those of the naive scan: {places} filters."
    largest = max(_of(runs, runs[0]["workload"]), key=lambda each: int(each["filters"]))
    return (
        f"Among {largest['filters']:,} filters Sapwood finds all that match an event "
        f"{_rounded(largest['engine']['events_per_second'])} times a second on one core: "
        f"{_ratio(largest, 'counting'):,.0f} times as often as the counting algorithm and "
        f"{_ratio(largest, 'naive'):,.0f} times as often as a naive scan, with the same results."
    )
