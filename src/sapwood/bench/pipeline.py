"""`sapwood bench pipeline`: the audit on Spark beside DuckDB and Polars, on the same files.

Three questions that all can answer: which groups of subscriber and publisher differ from what was
owed (`sums`), which deliveries came late (`order`), which traffic brokers share (`shared`). Then
the whole audit, with planted faults that it has to find exactly, at two sizes for its memory.
Processor time of the whole tree of processes.
"""

from __future__ import annotations

import importlib
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from sapwood.bench import pipeline_rivals
from sapwood.bench.pipeline_trace import write_trace
from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table

TIMES_MAX = {"sums": 6.0, "order": 2.0, "shared": 2.0}
"""Times DuckDB's processor time that each question may take."""

MEGABYTES_MAX = 8000
GROWTH_MAX = 0.15
"""How much more memory four times the rows may take."""

SHORT_DELIVERIES_MAX = 1_000_000
"""Up to so many, Spark is started to start quickly."""

_STUDY = "sapwood.bench.pipeline_study"


class Size(NamedTuple):
    """How much is measured."""

    deliveries: int
    faults: int
    rounds: int
    grown: int
    """Deliveries of the larger trace, 0 for none."""


_THOROUGH = Size(30_000_000, 50, 2, 120_000_000)
_QUICK = Size(40_000, 3, 1, 0)


def run(options: Options, progress: Progress) -> Report:
    """Measure."""
    size = _QUICK if options.quick else _THOROUGH
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        figures = measure(Path(folder), size, options.seed, progress)
    if find_spec(_STUDY) is not None:
        figures["study"] = importlib.import_module(_STUDY).measure(options, progress)
    return report(figures, size)


def measure(folder: Path, size: Size, seed: int, progress: Progress) -> dict[str, Any]:
    """All figures about traces."""
    progress(f"pipeline: writing a trace of {size.deliveries:,} deliveries")
    trace = folder / "trace"
    planted = write_trace(trace, size.deliveries, seed, size.faults)
    questions = {question: _ask(_plan(question, trace, size), progress) for question in TIMES_MAX}
    progress("pipeline: the whole audit")
    plan = _plan("audit", trace, size)
    whole = call_fresh("sapwood.bench.pipeline_run:measure", plan)
    found = whole.pop("answer")
    figures: dict[str, Any] = {
        "deliveries": size.deliveries,
        "questions": questions,
        "audit": whole,
        "counts": found["counts"],
        "planted": len(planted),
        "is_exact": found["violations"] == sorted(map(list, planted)),
    }
    if size.grown:
        figures["grown"] = _grow(folder / "grown", size.grown, seed, progress)
    return figures


def _grow(directory: Path, deliveries: int, seed: int, progress: Progress) -> dict[str, Any]:
    progress(f"pipeline: a trace of {deliveries:,} deliveries, for the memory")
    write_trace(directory, deliveries, seed)
    plan = {"question": "audit", "directory": str(directory), "rounds": 1}
    found: dict[str, Any] = call_fresh("sapwood.bench.pipeline_run:measure", plan)
    found["counts"] = found.pop("answer")["counts"]
    return {"deliveries": deliveries, **found}


def _plan(question: str, trace: Path, size: Size) -> dict[str, Any]:
    rounds = 1 if question == "audit" else size.rounds
    short = size.deliveries <= SHORT_DELIVERIES_MAX
    return {"question": question, "directory": str(trace), "rounds": rounds, "short": short}


def _ask(plan: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """One question, of everybody in turn."""
    progress(f"pipeline: {plan['question']}")
    asked = {"Sapwood": call_fresh("sapwood.bench.pipeline_run:measure", plan)}
    for rival in pipeline_rivals.available():
        answers = [
            call_fresh("sapwood.bench.pipeline_rivals:measure", {**plan, "rival": rival})
            for _ in range(plan["rounds"])
        ]
        asked[rival] = min(answers, key=lambda one: float(one["seconds"]))
    answers = [one.pop("answer") for one in asked.values()]
    return {"agree": all(one == answers[0] for one in answers), **asked}


def report(figures: dict[str, Any], size: Size) -> Report:
    """Tables and a conclusion."""
    rivals = pipeline_rivals.available()
    missing = [name for name in pipeline_rivals.RIVALS if name not in rivals]
    notes = [f"{name} is not installed: pip install {name} to compare with it." for name in missing]
    lines = []
    for question, found in figures["questions"].items():
        own = found["Sapwood"]["seconds"]
        cells = [f"{own:,.1f}", *(f"{found[rival]['seconds']:,.1f}" for rival in rivals)]
        ratio = f"{own / found['duckdb']['seconds']:.1f}" if "duckdb" in found else "-"
        lines.append(Line(question, (*cells, ratio, f"{TIMES_MAX[question]:.0f}"), Style.OWN))
    columns = ("Sapwood CPU s", *(f"{rival} CPU s" for rival in rivals), "/ DuckDB", "at most")
    tables = [Table(f"{size.deliveries:,} deliveries", columns, lines), _memory(figures)]
    is_right = figures["is_exact"] and all(one["agree"] for one in figures["questions"].values())
    return Report(
        figures=figures,
        tables=tables,
        notes=notes,
        conclusion=f"The audit found all {figures['planted']} planted faults and nothing else."
        if is_right
        else "The answers differ from each other, or from what was planted.",
        is_right=is_right,
    )


def _memory(figures: dict[str, Any]) -> Table:
    sizes = [{"deliveries": figures["deliveries"], **figures["audit"]}]
    sizes += [figures["grown"]] if "grown" in figures else []
    lines = [
        Line(f"{one['deliveries']:,}", (f"{one['seconds']:,.1f}", f"{one['megabytes']:,.0f}"))
        for one in sizes
    ]
    lines.append(Line("at most", ("", f"{MEGABYTES_MAX:,}"), Style.TARGET))
    return Table("the whole audit, by deliveries", ("CPU s", "MB at most at once"), lines)
