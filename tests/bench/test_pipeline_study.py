"""The benchmark of studies: its runs are the same everywhere, and it says what it measured."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.bench import pipeline_study
from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options

TIMES = {"local[1]": [50.0, 42.0], "local[2]": [22.0, 23.0], "": [44.0, 40.0]}


def test_the_best_of_each_round_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    times = {name: iter(seconds) for name, seconds in TIMES.items()}

    def fake(function: str, plan: dict[str, Any]) -> Any:
        if function.endswith(":calibrate"):
            return 10.0
        processor = {"local[1]": 11.0, "local[2]": 12.0}.get(plan.get("master", ""), 10.0)
        seconds = next(times[plan.get("master", "")])
        return {
            "seconds": seconds, "processor_seconds": processor, "run_seconds": 40.0, "hops": 7
        }  # fmt: skip

    monkeypatch.setattr(pipeline_study, "call_fresh", fake)
    figures = pipeline_study.measure(Options(), said.append)
    assert figures == {
        "runs": 24,
        "seconds_per_run": pytest.approx(40 / 24),
        "alone_seconds": 40.0,
        "local1_seconds": 42.0,
        "local2_seconds": 22.0,
        "all_seconds": {
            "alone": TIMES[""],
            "local1": TIMES["local[1]"],
            "local2": TIMES["local[2]"],
        },
        "alone_processor_seconds": 10.0,
        "local1_processor_seconds": 11.0,
        "local2_processor_seconds": 12.0,
        "overhead": pytest.approx(0.05),
        "processor_overhead": pytest.approx(0.1),
        "own_overheads": [pytest.approx(0.25), pytest.approx(0.05)],
        "speedup": pytest.approx(42 / 22),
        "is_right": True,
    }
    assert len(said) == 7
    assert said[2] == "24 runs of 6 s, local[1], round 1 of 2"


@pytest.mark.slow
def test_runs_are_as_long_as_wanted() -> None:
    short, long = (pipeline_study.calibrate({"seconds": s, "seed": 1}) for s in (1e-9, 1000.0))
    assert short == 5.0
    assert long > 50.0


@pytest.mark.slow
def test_spark_comes_to_the_same() -> None:
    plan = {"virtual_seconds": 5.0, "runs": 2, "seed": 1, "master": "local[2]"}
    spread = call_fresh("sapwood.bench.pipeline_study:spread", plan)
    assert 0 < spread["run_seconds"] < spread["processor_seconds"]
    assert spread["hops"] == pipeline_study.alone(plan)["hops"] > 0
