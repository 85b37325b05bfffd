"""What a notification costs on links, as one broker knows it."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.protocol.optimize.costs import PAIRS_MAX, Costs, LinkMeter, PairCost, is_cost
from sapwood.protocol.optimize.settings import OptimizationSettings

TTL = 100.0
SETTINGS = OptimizationSettings(probe_ttl_seconds=TTL)


def fresh() -> Costs:
    return Costs()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e7, "1", None, True, 10**400])
def test_what_cannot_be_a_cost_is_not_believed(value: Any) -> None:
    assert not is_cost(value, 1e6)
    assert is_cost(0, 1e6)
    assert is_cost(1e6, 1e6)


def test_the_least_of_the_last_round_trips_counts() -> None:
    costs = fresh()
    for seconds in (0.050, 0.020, 0.090):
        assert costs.measured("b", seconds, 1.0, SETTINGS, linked=True)
    assert costs.link("b") == pytest.approx(10.0)
    for _ in range(60):
        costs.measured("b", 0.040, 2.0, SETTINGS, linked=True)
    assert costs.link("b") == pytest.approx(20.0, rel=0.01)
    assert not costs.measured("b", -1.0, 2.0, SETTINGS, linked=True)


def test_how_well_a_cost_is_known_follows_from_how_round_trips_differ() -> None:
    """The usual one beside the quickest; of the first two nothing is known."""
    costs = fresh()
    costs.measured("b", 0.020, 0.0, SETTINGS, linked=True)
    assert costs.error("b") == pytest.approx(10.0)
    for seconds in (0.026, 0.090):
        costs.measured("b", seconds, 0.0, SETTINGS, linked=True)
    assert costs.error("b") == pytest.approx(3.0 / 3**0.5)
    found = costs.pair("b", 0.0, SETTINGS)
    assert found is not None
    assert found.error == costs.error("b")
    costs.given = {"b": 1.0}
    assert costs.error("b") == costs.error("nobody") == 0.0


def test_a_probe_is_worth_something_after_three_echoes() -> None:
    costs = fresh()
    for _ in range(2):
        costs.measured("b", 0.02, 0.0, SETTINGS, linked=False)
    assert costs.pair("b", 0.0, SETTINGS) is None
    costs.measured("b", 0.02, 0.0, SETTINGS, linked=False)
    found = costs.pair("b", TTL, SETTINGS)
    assert found is not None
    assert found.cost == pytest.approx(10.0)
    assert costs.pair("b", TTL + 1, SETTINGS) is None


def test_what_was_measured_in_use_beats_a_probe_for_longer() -> None:
    costs = fresh()
    costs.note("b", 10.0, 0.0, SETTINGS, linked=True)
    costs.note("b", 30.0, 3 * TTL, SETTINGS, linked=False)
    assert costs.pair("b", 4 * TTL, SETTINGS) == PairCost(10.0, 0.0, linked=True)
    costs.note("b", 30.0, 4 * TTL, SETTINGS, linked=False)
    assert costs.pair("b", 4 * TTL, SETTINGS) == PairCost(30.0, 4 * TTL, linked=False)


def test_given_costs_need_no_measuring() -> None:
    costs = fresh()
    costs.given = {"b": 3.0}
    costs.measured("b", 0.02, 0.0, SETTINGS, linked=True)
    assert costs.link("b", extra=1.0) == 4.0
    assert costs.pair("b", 9.0, SETTINGS) == PairCost(3.0, 9.0, linked=True)
    assert costs.link("c") is None
    assert costs.pair("c", 0.0, SETTINGS) is None


def test_only_so_many_are_remembered() -> None:
    costs = fresh()
    for number in range(PAIRS_MAX + 5):
        costs.note(f"b{number}", 1.0, 0.0, SETTINGS, linked=False)
        costs.note("b0", 1.0, 0.0, SETTINGS, linked=False)
    assert len(costs.pairs) == PAIRS_MAX
    assert costs.pair("b0", 0.0, SETTINGS) is not None
    assert costs.pair("b1", 0.0, SETTINGS) is None


def test_what_a_fault_made_of_costs_is_forgotten() -> None:
    costs = fresh()
    costs.note("sound", 1.0, 0.0, SETTINGS, linked=True)
    costs.measured("sound", 0.01, 0.0, SETTINGS, linked=True)
    costs.meters["spoilt"] = LinkMeter([-1.0], 5.0, 1)
    costs.meters["worse"] = LinkMeter([1.0], float("nan"), 1)
    costs.pairs["spoilt"] = PairCost(float("nan"), 0.0, linked=True)
    costs.pairs["worse"] = None  # type: ignore[assignment]
    costs.mend(1e6)
    assert list(costs.meters) == list(costs.pairs) == ["sound"]
