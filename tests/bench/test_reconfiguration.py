"""The benchmark of reconfiguration: what it counts, and that it tells methods apart."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.bench import reconfiguration
from sapwood.bench.reconfiguration import MEASURES, METHODS, Size, broken, can_change, run, summary
from sapwood.bench.registry import Options
from sapwood.sim.reconfiguring.methods import PUBLISHED
from sapwood.trace.judge.verdict import Verdict
from sim.reconfiguring.test_setting import GOOD


def test_a_summary_has_means_and_the_longest_hold() -> None:
    other = msgspec.structs.replace(
        GOOD, subscriptions=2, holds=(), stuck=("B1",), verdict=Verdict(lost=3)
    )
    found = summary([GOOD, other])
    assert (found.coordination, found.subscriptions, found.hold_ms_max) == (5.0, 3.0, 2000.0)
    assert (found.held, found.lost, found.stuck) == (1.0, 1.5, 1)
    assert [measure.of(found) for measure in MEASURES] == [
        "5.0 / 3.0", "2,000", "1.0", "1.5 / 0.0", "0.0 / 0.0", "1.0", "1"
    ]  # fmt: skip


def test_a_promise_that_is_not_kept_is_named() -> None:
    found = summary([msgspec.structs.replace(GOOD, stuck=("B1",), verdict=Verdict(lost=1))])
    assert broken("exchange-none", METHODS["exchange-none"], found) == [
        "exchange-none: lost",
        "exchange-none: did not end well",
    ]
    assert broken("strawman", METHODS["strawman"], summary([GOOD])) == []
    assert broken("exchange-printed", METHODS["exchange-printed"], found) == []


def test_swaps_are_measured_around_three_brokers_only() -> None:
    assert [can_change(PUBLISHED["swap"], ring) for ring in (3, 4)] == [True, False]
    assert can_change(PUBLISHED["path"], 12)


@pytest.mark.slow
def test_every_method_is_measured_and_keeps_what_it_promises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconfiguration, "_QUICK", Size((3, 5), 1))
    said: list[str] = []
    report = run(Options(quick=True), said.append)
    assert report.is_right, report.conclusion
    assert len(said) == len(METHODS)
    assert len(report.tables) == len(MEASURES) + 1
    for table in report.tables:
        assert [line.label for line in table.lines] == list(METHODS)
    figures = report.figures
    assert figures["S44 strawman 3"]["lost"]
    assert figures["S44 exchange-printed 3"]["stuck"]
    assert figures["S44 coordinated-kept 5"]["duplicated"]
    assert figures["S44 exchange-causal 5"]["coordination"] in {28.0, 30.0}
    assert "S44 swap 5" not in figures
    assert figures["S003 swap"]["coordination"] == 13.0
