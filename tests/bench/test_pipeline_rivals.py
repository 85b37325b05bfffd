"""DuckDB and Polars agree on what is asked of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.bench.pipeline_rivals import available, measure
from sapwood.bench.pipeline_trace import write_trace


@pytest.mark.parametrize("question", ["sums", "order", "shared"])
def test_rivals_agree(tmp_path: Path, question: str) -> None:
    if not available():
        pytest.skip("neither DuckDB nor Polars is installed")
    write_trace(tmp_path, 4000, seed=1, faults=2)
    answers = []
    for rival in available():
        plan = {"rival": rival, "question": question, "directory": str(tmp_path)}
        found = measure(plan)
        assert found["seconds"] >= 0
        answers.append(found["answer"])
    assert all(answer == answers[0] for answer in answers)
    if question == "order":
        assert answers[0] == [[2]]
