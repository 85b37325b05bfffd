"""The benchmark of the pipeline: the same answers everywhere, and progress on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.bench import pipeline, pipeline_study
from sapwood.bench.pipeline import Size, measure
from sapwood.bench.pipeline_report import report
from sapwood.bench.registry import Options

SMALL = Size(deliveries=8_000, faults=2, rounds=1, grown=0)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_agree_and_the_audit_is_exact(tmp_path: Path) -> None:
    messages: list[str] = []
    figures = measure(tmp_path, SMALL, 1, messages.append)
    assert figures["is_exact"]
    assert all(found["agree"] for found in figures["questions"].values())
    assert figures["counts"]["lost"] == 2
    made = report(figures)
    assert made.is_right
    assert [line.label for line in made.tables[0].lines] == ["sums", "order", "shared"]
    assert messages


def test_every_step_is_told_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the larger trace is judged too."""
    said: list[str] = []
    answers = {"sums": [[1]], "order": [[2]], "shared": [[3]]}
    audited = {"counts": {"lost": 0}, "violations": []}

    def fake(_: str, plan: dict[str, Any]) -> Any:
        answer = answers.get(plan["question"], audited)
        return {"seconds": 1.0, "all_seconds": [1.0], "megabytes": 100.0, "answer": answer}

    study = {
        "runs": 1, "seconds_per_run": 1.0, "alone_seconds": 1.0, "local1_seconds": 1.0,
        "local2_seconds": 1.0, "overhead": 0.0, "speedup": 1.0, "is_right": True,
        "alone_processor_seconds": 1.0, "local1_processor_seconds": 1.0,
        "local2_processor_seconds": 1.0, "processor_overhead": 0.0,
        "own_overheads": [0.0],
    }  # fmt: skip
    monkeypatch.setattr(pipeline, "call_fresh", fake)
    monkeypatch.setattr(pipeline, "_QUICK", Size(400, 0, 1, 800))
    monkeypatch.setattr(pipeline_study, "measure", lambda _, progress: progress("runs") or study)
    made = pipeline.run(Options(quick=True), said.append)
    assert made.is_right
    assert made.figures["grown"]["deliveries"] == 800
    assert said[0] == "pipeline, 0 s: writing a trace of 400 deliveries"
    assert any(text.endswith("for the memory") for text in said)
    assert said[-1].endswith("s: runs")
