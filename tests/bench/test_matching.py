"""`sapwood bench matching`: which runs it makes."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from bench.test_matching_report import figures
from sapwood.bench import matching
from sapwood.bench.process import Start
from sapwood.bench.registry import Options


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The plans of all runs that are made, in place of the runs."""
    made: list[dict[str, Any]] = []

    def call(function: str, plan: dict[str, Any]) -> dict[str, Any]:
        assert function == "sapwood.bench.matching_run:measure"
        made.append(plan)
        return figures(plan["workload"], plan["filters"])

    starts = cycle([Start(0.25, 0.3), Start(0.5, 0.2)])
    monkeypatch.setattr(matching, "call_fresh", call)
    monkeypatch.setattr(matching, "time_start", lambda _: next(starts))
    return made


def sizes(plans: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(plan["workload"], plan["filters"]) for plan in plans]


def test_all_workloads_with_all_sizes(plans: list[dict[str, Any]]) -> None:
    told: list[str] = []
    report = matching.run(Options(seed=5), told.append)
    expected = [(name, size) for name in ("plain", "mixed") for size in (10**4, 10**5, 10**6)]
    assert sizes(plans) == expected
    assert {plan["seed"] for plan in plans} == {5}
    assert [plan["naive_events"] for plan in plans[:3]] == [50, 10, 4]
    assert report.figures["first_match_seconds"] == 0.25
    assert report.figures["first_match_processor_seconds"] == 0.2
    assert told[0] == "matching: workload plain, 10,000 filters"
    assert len(told) == 7


def test_quick_is_small(plans: list[dict[str, Any]]) -> None:
    matching.run(Options(quick=True), lambda _: None)
    assert sizes(plans) == [(name, size) for name in ("plain", "mixed") for size in (1000, 10_000)]


def test_sizes_can_be_chosen(plans: list[dict[str, Any]]) -> None:
    matching.run(Options(quick=True, filters=(7,)), lambda _: None)
    assert sizes(plans) == [("plain", 7), ("mixed", 7)]


@pytest.mark.slow
def test_the_first_match_of_a_process_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "call_fresh", lambda _, plan: figures("plain", plan["filters"]))
    report = matching.run(Options(quick=True), lambda _: None)
    taken = report.figures["first_match_seconds"], report.figures["first_match_processor_seconds"]
    assert min(taken) > 0
