"""One run of the matching benchmark: complete, right, and able to find what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.bench.matching_run import Naive, measure
from sapwood.filters import Filter
from sapwood.matching import MatchIndex

PLAN: dict[str, Any] = {
    "workload": "mixed",
    "seed": 3,
    "filters": 300,
    "naive_events": 5,
    "events": 512,
    "singles": 100,
    "rounds": 2,
    "round_seconds": 0.01,
}


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["plain", "mixed"])
def test_a_run_measures_everything(workload: str) -> None:
    found = measure({**PLAN, "workload": workload})
    assert (found["workload"], found["filters"]) == (workload, 300)
    assert found["identical"] is True
    assert found["compared_events"] == 5
    for name in ("naive", "counting", "engine"):
        assert found[name]["events_per_second"] > 0
    for place in (found["engine"], found["counting"], found["while_changing"]):
        assert 0 < place["latency_us_p50"] <= place["latency_us_p99"]
    for figure in ("add_us", "remove_us", "optimize_seconds", "events_per_second_as_built"):
        assert found["engine"][figure] > 0
    changing = found["while_changing"]
    assert changing["additions"] == changing["removals"] == 10
    assert changing["longest_pause_us"] >= changing["latency_us_p99"]


def test_a_run_with_one_filter() -> None:
    assert measure({**PLAN, "filters": 1})["identical"] is True


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = MatchIndex.match_batch

    def forgetful(self: MatchIndex[int], events: Any) -> list[list[int]]:
        return [keys[1:] for keys in honest(self, events)]

    monkeypatch.setattr(MatchIndex, "match_batch", forgetful)
    assert measure(PLAN)["identical"] is False


def test_the_naive_scan_knows_what_is_there() -> None:
    naive = Naive([{"a": 1}, {"a": 2}])
    naive.scan(10, [Filter("a = 1"), Filter("a > 0")])
    naive.add(20, Filter("a = 2"))
    assert naive.matched == [{10, 11}, {11, 20}]
    naive.remove(11)
    assert naive.matched == [{10}, {20}]
    assert naive.events_per_second > 0
