"""The benchmark of the pipeline: the same answers everywhere, and a report that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench import pipeline_rivals
from sapwood.bench.pipeline import Size, measure, report

SMALL = Size(deliveries=8_000, faults=2, rounds=1, grown=0)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_agree_and_the_audit_is_exact(tmp_path: Path) -> None:
    messages: list[str] = []
    figures = measure(tmp_path, SMALL, 1, messages.append)
    assert figures["is_exact"]
    assert all(found["agree"] for found in figures["questions"].values())
    assert figures["counts"]["lost"] == 2
    made = report(figures, SMALL)
    assert made.is_right
    assert [line.label for line in made.tables[0].lines] == ["sums", "order", "shared"]
    assert messages


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_rivals, "available", list)
    one = {"agree": True, "Sapwood": {"seconds": 2.0}}
    figures = {
        "deliveries": 1, "planted": 0, "is_exact": False,
        "questions": dict.fromkeys(("sums", "order", "shared"), one),
        "audit": {"seconds": 1.0, "megabytes": 2.0},
        "grown": {"deliveries": 4, "seconds": 1.0, "megabytes": 2.0},
    }  # fmt: skip
    made = report(figures, SMALL)
    assert len(made.notes) == 2
    assert "pip install duckdb" in made.notes[0]
    assert not made.is_right
    assert made.tables[0].lines[0].cells[1] == "-"
