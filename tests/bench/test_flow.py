"""The benchmark of the flow simulator, small."""

from __future__ import annotations

import pytest

from sapwood.bench.flow import EXACT, SAME, Timed, growth, run, timed
from sapwood.bench.registry import Options


def test_the_best_round_counts() -> None:
    work = iter((1.0, 2.0))
    assert timed(lambda: next(work), 2).done in (1.0, 2.0)
    assert Timed(10.0, 2.0).rate == 5.0


def test_growth_is_by_broker() -> None:
    found = [
        {"brokers": 100.0, "seconds": 1.0},
        {"brokers": 1000.0, "seconds": 1.0},
        {"brokers": 10_000.0, "seconds": 25.0},
    ]
    assert growth(found) == pytest.approx(2.5)


@pytest.mark.slow
def test_a_quick_run_measures_both_simulators() -> None:
    report = run(Options(quick=True), lambda what: None)
    hops = report.figures["hops"]
    assert list(hops) == ["self-optimizing", "simple", "flooding", EXACT, SAME]
    assert all(one["done"] > 0 for one in hops.values())
    beside = report.figures["trees"]["beside"]
    assert beside["flow_cost"] == pytest.approx(beside["exact_cost"], rel=0.15)
    assert [one["brokers"] for one in report.figures["scale"]] == [100, 1000]
    assert report.is_right
