"""What `sapwood bench pipeline` says about its figures: tables, targets and a conclusion."""

from __future__ import annotations

from typing import Any

from sapwood.bench import pipeline_rivals
from sapwood.bench.report import Line, Report, Style, Table

TIMES_MAX = {"sums": 6.0, "order": 2.0, "shared": 2.0}
"""Times DuckDB's processor time that each question may take."""

MEGABYTES_MAX = 8000
GROWTH_MAX = 0.15
"""How much more memory four times the rows may take."""

OVERHEAD_MAX = 0.05
"""What Spark may add to the time of runs of five seconds and more."""

SPEEDUP_MIN = 1.8
"""How much faster two cores are to be than one."""


def report(figures: dict[str, Any]) -> Report:
    """Tables and a conclusion."""
    rivals = pipeline_rivals.available()
    missing = [name for name in pipeline_rivals.RIVALS if name not in rivals]
    notes = [f"{name} is not installed: pip install {name} to compare with it." for name in missing]
    tables = [_questions(figures, rivals), _memory(figures)]
    is_right = figures["is_exact"] and all(one["agree"] for one in figures["questions"].values())
    is_right = is_right and figures.get("grown", {}).get("is_clean", True)
    if "study" in figures:
        tables.append(_study(figures["study"]))
        is_right = is_right and figures["study"]["is_right"]
    return Report(
        figures=figures,
        tables=tables,
        notes=notes,
        conclusion=f"The audit found all {figures['planted']} planted faults and nothing else."
        if is_right
        else "The answers differ from each other, or from what was planted.",
        is_right=is_right,
    )


def _questions(figures: dict[str, Any], rivals: list[str]) -> Table:
    """The first time, Java compiles what it runs; the best time is what is compared."""
    lines = []
    for question, found in figures["questions"].items():
        own = found["Sapwood"]
        cells = [f"{own['all_seconds'][0]:,.1f}", f"{own['seconds']:,.1f}"]
        cells += [f"{found[rival]['seconds']:,.1f}" for rival in rivals]
        ratio = f"{own['seconds'] / found['duckdb']['seconds']:.1f}" if "duckdb" in found else "-"
        lines.append(Line(question, (*cells, ratio, f"{TIMES_MAX[question]:.0f}"), Style.OWN))
    columns = ("first, CPU s", "best", *rivals, "/ DuckDB", "at most")
    return Table(f"{figures['deliveries']:,} deliveries", columns, lines)


def _memory(figures: dict[str, Any]) -> Table:
    sizes = [{"deliveries": figures["deliveries"], **figures["audit"]}]
    sizes += [figures["grown"]] if "grown" in figures else []
    lines = [
        Line(f"{one['deliveries']:,}", (f"{one['seconds']:,.1f}", f"{one['megabytes']:,.0f}"))
        for one in sizes
    ]
    lines.append(Line("at most", ("", f"{MEGABYTES_MAX:,}"), Style.TARGET))
    if "grown" in figures:
        growth = sizes[1]["megabytes"] / sizes[0]["megabytes"] - 1
        lines.append(Line("more memory for more rows", ("", f"{growth:.0%}"), Style.OWN))
        lines.append(Line("at most", ("", f"{GROWTH_MAX:.0%}"), Style.TARGET))
    return Table("the whole audit, by deliveries", ("CPU s", "MB at most at once"), lines)


def _study(found: dict[str, Any]) -> Table:
    ways = {"alone": "one after the other, without Spark"}
    ways |= {f"local{cores}": f"on local[{cores}]" for cores in (1, 2)}
    lines = [
        Line(
            label,
            (f"{found[f'{way}_seconds']:,.1f}", f"{found[f'{way}_processor_seconds']:,.1f}", ""),
        )
        for way, label in ways.items()
    ]
    added = (f"{found['overhead']:.1%}", f"{found['processor_overhead']:.1%}")
    lines.append(Line("what Spark adds", (*added, f"≤ {OVERHEAD_MAX:.0%}"), Style.OWN))
    own = (f"{max(found['own_overheads']):.1%}", "", f"≤ {OVERHEAD_MAX:.0%}")
    lines.append(Line("beside its own runs, at most", own, Style.OWN))
    gained = (f"{found['speedup']:.2f}", "", f"≥ {SPEEDUP_MIN}")
    lines.append(Line("two cores against one", gained, Style.OWN))
    title = f"{found['runs']} simulations of {found['seconds_per_run']:.1f} s, best of rounds"
    return Table(title, ("seconds", "CPU s", "target"), lines)
