"""What the benchmark of the pipeline says about its figures."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.bench import pipeline_rivals
from sapwood.bench.pipeline_report import report


def figures(**changes: Any) -> dict[str, Any]:
    """A whole benchmark, everything right."""
    own = {"seconds": 12.0, "all_seconds": [40.0, 12.0]}
    question = {"agree": True, "Sapwood": own, "duckdb": {"seconds": 4.0}}
    found = {
        "deliveries": 1000,
        "planted": 5,
        "is_exact": True,
        "questions": {name: dict(question) for name in ("sums", "order", "shared")},
        "audit": {"seconds": 1.0, "megabytes": 2000.0},
        "grown": {"deliveries": 4000, "seconds": 4.0, "megabytes": 2200.0, "is_clean": True},
        "study": {
            "runs": 8, "seconds_per_run": 6.0, "alone_seconds": 48.0, "local1_seconds": 49.0,
            "local2_seconds": 25.0, "overhead": 0.02, "speedup": 1.96, "is_right": True,
            "alone_processor_seconds": 47.0, "local1_processor_seconds": 49.0,
            "local2_processor_seconds": 50.0, "processor_overhead": 0.04,
            "own_overheads": [0.03, 0.01],
        },
    }  # fmt: skip
    return {**found, **changes}


@pytest.fixture(autouse=True)
def duckdb_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_rivals, "available", lambda: ["duckdb"])


def test_targets_stand_beside_what_was_measured() -> None:
    made = report(figures())
    assert made.is_right
    questions, memory, study = made.tables
    assert questions.lines[0].cells == ("40.0", "12.0", "4.0", "3.0", "6")
    assert [line.cells[1] for line in memory.lines] == ["2,000", "2,200", "8,000", "10%", "15%"]
    assert [line.cells for line in study.lines[3:]] == [
        ("2.0%", "4.0%", "≤ 5%"),
        ("3.0%", "", "≤ 5%"),
        ("1.96", "", "≥ 1.8"),
    ]
    assert "all 5 planted faults" in made.conclusion


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_rivals, "available", list)
    found = figures()
    for question in found["questions"].values():
        del question["duckdb"]
    made = report(found)
    assert len(made.notes) == 2
    assert "pip install duckdb" in made.notes[0]
    assert made.tables[0].lines[0].cells == ("40.0", "12.0", "-", "6")


@pytest.mark.parametrize("wrong", ["faults", "answers", "large", "study"])
def test_anything_wrong_is_the_conclusion(wrong: str) -> None:
    found = figures(is_exact=wrong != "faults")
    found["questions"]["order"]["agree"] = wrong != "answers"
    found["grown"]["is_clean"] = wrong != "large"
    found["study"]["is_right"] = wrong != "study"
    made = report(found)
    assert not made.is_right
    assert "differ" in made.conclusion


def test_a_quick_run_has_neither_growth_nor_study() -> None:
    found = figures()
    del found["grown"], found["study"]
    made = report(found)
    assert made.is_right
    assert [len(table.lines) for table in made.tables] == [3, 2]
