"""The report of `sapwood bench network`: all brokers side by side, ratios, and what to reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sapwood.bench.network_memory import Memory
from sapwood.bench.network_outcome import (
    OWN,
    P50,
    P99,
    PROCESSOR,
    RATE,
    TRACED,
    TRACED_SHARE_TARGET,
    TRACING,
    Outcome,
    Target,
    targets_met,
)
from sapwood.bench.network_trace import Kept
from sapwood.bench.report import Line, Report, Style, Table

_FIGURES = {
    RATE: "messages/s",
    PROCESSOR: "processor ns each",
    P50: "p50, µs",
    P99: "p99, µs",
}


class Findings(NamedTuple):
    """All that was measured."""

    outcomes: list[Outcome]
    memory: Memory | None
    traced: Kept | None
    notes: list[str]
    failures: list[str]
    """What Sapwood did wrong."""
    is_pinned: bool


def report(findings: Findings) -> Report:
    """Put it together."""
    outcomes = [outcome for outcome in findings.outcomes if outcome.name != TRACING]
    peers = list(dict.fromkeys([OWN, *(peer for each in outcomes for peer in each.figures)]))
    tables = [_comparison(outcomes, peers)]
    own = _own(findings)
    if own:
        tables.append(Table("Sapwood by itself", ("",), own))
    return Report(
        figures=_for_machines(findings),
        tables=tables,
        notes=[*_how(findings), *findings.notes, *findings.failures],
        conclusion=_conclusion(findings, outcomes),
        is_right=not findings.failures,
    )


def _comparison(outcomes: Sequence[Outcome], peers: Sequence[str]) -> Table:
    lines: list[Line] = []
    for outcome in outcomes:
        lines.append(Line(f"{outcome.name} {outcome.about}", style=Style.HEADING))
        for figure, label in _FIGURES.items():
            cells = [_figure(outcome.figures.get(peer, {}).get(figure)) for peer in peers]
            if any(cells):
                lines.append(Line(label, tuple(cells)))
        ratios = outcome.ratios()
        if ratios:
            shown = [_ratio(ratios.get(peer)) for peer in peers]
            lines.append(Line("ours ÷ theirs", tuple(shown), Style.OWN))
        if by_processor := outcome.processor_ratios():
            shown = [_ratio(by_processor.get(peer)) for peer in peers]
            lines.append(Line("by processor time", tuple(shown)))
        targets = [Target.of(outcome.name, peer) for peer in peers]
        if any(targets):
            wanted = tuple("" if target is None else str(target) for target in targets)
            lines.append(Line("to reach", wanted, Style.TARGET))
    return Table("Brokers side by side", tuple(peers), lines)


def _own(findings: Findings) -> list[Line]:
    """What only concerns Sapwood."""
    lines = []
    share = traced_share(findings.outcomes)
    if share is not None:
        lines += [
            Line("rate with a trace ÷ without", (f"{share:.2f}",), Style.OWN),
            Line("to reach", (f"≥ {TRACED_SHARE_TARGET}",), Style.TARGET),
        ]
    if findings.traced is not None:
        lines.append(Line("share of rows that the trace holds", (f"{findings.traced.share:.3f}",)))
    if findings.memory is not None:
        memory = findings.memory
        lines += [
            Line("memory of an idle broker, MB", (f"{memory.idle_bytes / 1e6:.0f}",)),
            Line("of an idle client, kB", (f"{memory.client_bytes / 1e3:.1f}",)),
            Line("of 10,000 subscriptions, MB", (f"{memory.subscriptions_bytes / 1e6:.1f}",)),
        ]
    return lines


def traced_share(outcomes: Sequence[Outcome]) -> float | None:
    """The rate with a trace, as a share of that without."""
    for outcome in outcomes:
        if outcome.name == TRACING and {OWN, TRACED} <= set(outcome.figures):
            return outcome.figures[TRACED][RATE] / outcome.figures[OWN][RATE]
    return None


def _how(findings: Findings) -> list[str]:
    where = (
        "the driver on one core, all brokers on another"
        if findings.is_pinned
        else "driver and brokers on any core, since none can be chosen here"
    )
    return [
        f"One driver for all, over loopback; {where}. Medians of rounds in turns; messages of "
        "100 bytes, encoded before; processor time of the brokers for each of them. Every message "
        "that was published has been looked for at every subscriber, byte by byte.",
    ]


def _conclusion(findings: Findings, outcomes: Sequence[Outcome]) -> str:
    if findings.failures:
        return f"Sapwood has failed: {findings.failures[0]}"
    first = next((each for each in outcomes if OWN in each.figures), None)
    if first is None:
        return "Nothing was measured."
    met, judged = targets_met(outcomes)
    ratios = " and ".join(f"{_ratio(ratio)} times {peer}" for peer, ratio in first.ratios().items())
    beside = f", {ratios}" if ratios else ""
    reached = f" {met} of {judged} targets are reached." if judged else ""
    return (
        f"Sapwood passes {_figure(first.figures[OWN][RATE])} messages a second from one publisher "
        f"to one subscriber{beside}; all that was published arrived.{reached}"
    )


def _for_machines(findings: Findings) -> dict[str, Any]:
    return {
        "workloads": {each.name: each.for_machines() for each in findings.outcomes},
        "traced_share": traced_share(findings.outcomes),
        "traced": None if findings.traced is None else findings.traced._asdict(),
        "memory": None if findings.memory is None else findings.memory._asdict(),
        "is_pinned": findings.is_pinned,
        "notes": findings.notes,
        "failures": findings.failures,
    }


def _figure(figure: float | None) -> str:
    """A figure with about three digits that mean something."""
    if figure is None:
        return ""
    if figure < 1000:
        return f"{figure:.0f}"
    digits = 3 - len(str(int(figure)))
    return f"{round(figure, digits):,.0f}"


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
