"""`sapwood bench reconfiguration --live N`: changes of the tree of real processes, in tables.

Twice: with the links of this machine, and with links of 30 ms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import uvloop

from sapwood.bench.live.measuring import Figures, Length
from sapwood.bench.live.run import LiveOutcome, LiveSize, change_under_load
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.trace.judge.verdict import VIOLATIONS

LONG_SECONDS: Final = 0.03
"""How long a long link is."""

RATIO_MAX: Final = 1.5
"""How much longer a delivery may take during changes at the 99th percentile."""

_THOROUGH: Final = LiveSize()
_QUICK: Final = LiveSize(brokers=5, rate=500.0, measured=5)
_SPARK_CHANGES: Final = 100
"""From so many changes on, the traces are audited on Spark."""


def sizes(options: Options) -> list[LiveSize]:
    """What is run."""
    size = (_QUICK if options.quick else _THOROUGH)._replace(changes=options.live)
    fewer = max(1, size.measured // 3)  # each takes, and is followed by, a longer time
    return [size, size._replace(measured=fewer, delay_seconds=LONG_SECONDS)]


def run(options: Options, progress: Progress) -> Report:
    """Change the tree under load, with short links and with long ones."""
    outcomes = []
    for size in sizes(options):
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(
                uvloop.run(
                    change_under_load(
                        size,
                        Path(folder),
                        options.seed,
                        progress,
                        with_spark=size.changes >= _SPARK_CHANGES,
                    )
                )
            )
    return report(outcomes)


def report(outcomes: Sequence[LiveOutcome]) -> Report:
    """What was found, for people and machines."""
    is_right = all(one.is_right for one in outcomes)
    wrong = [text for one in outcomes for text in one.problems[:3]]
    return Report(
        figures={_name(one): one.for_machines for one in outcomes},
        tables=[_counts(outcomes), *(_lengths(one) for one in outcomes if one.figures)],
        notes=[
            "Lost, repeated and out of order are (notification, client) pairs by the traces, as "
            f"judged by {outcomes[0].judge}.",
            "Quiet deliveries are those under way in times as long as the change, before and "
            f"after it. Wanted: p99 during changes at most {RATIO_MAX} times theirs.",
            *(text for one in outcomes for text in _efforts(one)),
        ],
        conclusion="Nothing was lost, repeated or out of order."
        if is_right
        else f"Something went wrong: {'; '.join(wrong) or 'see the table'}.",
        is_right=is_right,
    )


def _efforts(outcome: LiveOutcome) -> Iterator[str]:
    """How busy the machine was, and how long changes took."""
    if outcome.figures is None or outcome.effort is None:
        return
    half, longest = outcome.figures.seconds
    effort = outcome.effort
    yield (
        f"With {_name(outcome)} half of the changes took at most {half * 1000:.0f} ms, the longest "
        f"{longest * 1000:.0f} ms. Of {effort.processors} processors {effort.machine:.2f} were "
        "busy while deliveries were timed: "
        f"brokers {effort.brokers:.2f}, clients {effort.clients:.2f}. {_typical(outcome.figures)}"
    )


def _typical(figures: Figures) -> str:
    """The ratio of p99 by few changes each: what others do on the machine hits some of them."""
    ratios = figures.ratios
    if not ratios:
        return "There were too few deliveries to compare few changes at a time."
    quarter, middle = len(ratios) // 4, ratios[len(ratios) // 2]
    return (
        f"By few changes each ({len(ratios)} times) the ratio of p99 is {middle:.2f} in the "
        f"middle, {ratios[quarter]:.2f} and {ratios[-1 - quarter]:.2f} at the quarters."
    )


def _name(outcome: LiveOutcome) -> str:
    delay = outcome.size.delay_seconds
    return f"links of {delay * 1000:.0f} ms" if delay else "links of this machine"


def _counts(outcomes: Sequence[LiveOutcome]) -> Table:
    lines = []
    for one in outcomes:
        cells = (
            " + ".join(f"{count} {kind}" for kind, count in one.completed.items()),
            f"{one.rate:,.0f}",
            f"{one.counts['expected']:,}",
            " / ".join(str(one.counts[kind]) for kind in VIOLATIONS),
            f"{one.figures.throughput:.2f}" if one.figures else "",
        )
        lines.append(Line(_name(one), cells, Style.OWN))
    columns = (
        "changes",
        "published/s",
        "expected",
        "lost / repeated / unwanted / FIFO / causal",
        "rate beside the new link",
    )
    brokers = outcomes[0].size.brokers
    return Table(f"{brokers} brokers, changes under load", columns, lines)


def _lengths(outcome: LiveOutcome) -> Table:
    assert outcome.figures is not None
    kinds = {"all": outcome.figures.lengths, "not over the new link": outcome.figures.not_crossing}
    lines = [Line("all lengths, as many of each", _cells(outcome.figures.together), Style.OWN)]
    lines += [
        Line(f"{one.length} links, {kind}", _cells(one), Style.OWN)
        for kind, found in kinds.items()
        for one in found
    ]
    columns = ("quiet", "p99, ms", "during changes", "p99, ms", "ratio")
    return Table(f"Deliveries, {_name(outcome)}", columns, lines)


def _cells(one: Length) -> tuple[str, ...]:
    return (
        f"{one.quiet:,}",
        f"{one.p99_quiet * 1000:.1f}",
        f"{one.during:,}",
        f"{one.p99_during * 1000:.1f}",
        f"{one.ratio:.2f}",
    )
