"""The benchmark of studies: its runs are the same everywhere, and it says what it measured."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.bench import pipeline_study
from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options

TIMES = {"local[1]": 42.0, "local[2]": 22.0}


def test_what_is_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def fake(function: str, plan: dict[str, Any]) -> Any:
        name = function.rpartition(":")[2]
        if name == "calibrate":
            return 10.0
        return {"seconds": TIMES.get(plan.get("master", ""), 40.0), "hops": 7}

    monkeypatch.setattr(pipeline_study, "call_fresh", fake)
    figures = pipeline_study.measure(Options(), said.append)
    assert figures == {
        "runs": 8,
        "seconds_per_run": 5.0,
        "alone_seconds": 40.0,
        "local1_seconds": 42.0,
        "local2_seconds": 22.0,
        "overhead": pytest.approx(0.05),
        "overhead_target": 0.05,
        "speedup": pytest.approx(42 / 22),
        "speedup_target": 1.8,
        "is_right": True,
    }
    assert len(said) == 4


def test_runs_are_as_long_as_wanted() -> None:
    short, long = (pipeline_study.calibrate({"seconds": s, "seed": 1}) for s in (1e-9, 1000.0))
    assert short == 5.0
    assert long > 50.0


@pytest.mark.slow
def test_spark_comes_to_the_same() -> None:
    plan = {"virtual_seconds": 5.0, "runs": 2, "seed": 1, "master": "local[2]"}
    spread = call_fresh("sapwood.bench.pipeline_study:spread", plan)
    assert spread["hops"] == pipeline_study.alone(plan)["hops"] > 0
