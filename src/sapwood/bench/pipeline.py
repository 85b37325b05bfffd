"""`sapwood bench pipeline`: the audit on Spark beside DuckDB and Polars, on the same files.

Three questions that all can answer: which groups of subscriber and publisher differ from what was
owed (`sums`), which deliveries came late (`order`), which traffic brokers share (`shared`). Then
the whole audit, with planted faults that it has to find exactly, at two sizes for its memory; and
what it costs to spread simulations. Processor time is that of the whole tree of processes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from sapwood.bench import pipeline_rivals, pipeline_study
from sapwood.bench.pipeline_report import TIMES_MAX, report
from sapwood.bench.pipeline_trace import write_trace
from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Report

SHORT_DELIVERIES_MAX = 1_000_000
"""Up to so many, Spark is started to start quickly."""


class Size(NamedTuple):
    """How much is measured."""

    deliveries: int
    faults: int
    rounds: int
    grown: int
    """Deliveries of the larger trace, 0 for none."""


_THOROUGH = Size(30_000_000, 50, 3, 120_000_000)
_QUICK = Size(40_000, 3, 1, 0)


def run(options: Options, progress: Progress) -> Report:
    """Measure."""
    size = _QUICK if options.quick else _THOROUGH
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        figures = measure(Path(folder), size, options.seed, _timed(progress))
    figures["study"] = pipeline_study.measure(options, _timed(progress))
    return report(figures)


def _timed(progress: Progress) -> Progress:
    """The same, with the time since the start: the whole takes a while."""
    begin = time.monotonic()
    return lambda text: progress(f"pipeline, {time.monotonic() - begin:,.0f} s: {text}")


def measure(folder: Path, size: Size, seed: int, progress: Progress) -> dict[str, Any]:
    """All figures about traces."""
    progress(f"writing a trace of {size.deliveries:,} deliveries")
    trace = folder / "trace"
    planted = write_trace(trace, size.deliveries, seed, size.faults)
    questions = {question: _ask(_plan(question, trace, size), progress) for question in TIMES_MAX}
    progress("the whole audit")
    whole = call_fresh("sapwood.bench.pipeline_run:measure", _plan("audit", trace, size))
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
    progress(f"writing a trace of {deliveries:,} deliveries, for the memory")
    write_trace(directory, deliveries, seed)
    progress("the whole audit of it")
    plan = {"question": "audit", "directory": str(directory), "rounds": 1}
    found: dict[str, Any] = call_fresh("sapwood.bench.pipeline_run:measure", plan)
    answer = found.pop("answer")
    is_clean = not answer["violations"]
    return {"deliveries": deliveries, "counts": answer["counts"], "is_clean": is_clean, **found}


def _plan(question: str, trace: Path, size: Size) -> dict[str, Any]:
    rounds = 1 if question == "audit" else size.rounds
    short = size.deliveries <= SHORT_DELIVERIES_MAX
    return {"question": question, "directory": str(trace), "rounds": rounds, "short": short}


def _ask(plan: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """One question, of everybody in turn."""
    progress(f"{plan['question']}: Sapwood")
    asked = {"Sapwood": call_fresh("sapwood.bench.pipeline_run:measure", plan)}
    for rival in pipeline_rivals.available():
        progress(f"{plan['question']}: {rival}")
        answers = [
            call_fresh("sapwood.bench.pipeline_rivals:measure", {**plan, "rival": rival})
            for _ in range(plan["rounds"])
        ]
        asked[rival] = min(answers, key=lambda one: float(one["seconds"]))
    answers = [one.pop("answer") for one in asked.values()]
    return {"agree": all(one == answers[0] for one in answers), **asked}
