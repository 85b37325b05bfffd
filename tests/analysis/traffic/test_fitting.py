"""Rates from what was seen, and predictions from them."""

from __future__ import annotations

import pytest

from sapwood.analysis.traffic import fitting
from sapwood.analysis.traffic.fitting import Observed, Stay, fit, forecast
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.errors import ParameterError

TREE = rooted_tree([("A", "B"), ("B", "C")], "A")
FOR_EVER = float("inf")


def observed(*stays: Stay, filters: tuple[str, ...] = ("x = 1", "x > 0")) -> Observed:
    """Ten seconds in which A published 40 that both filters match, and 20 that none does."""
    published = {("A", (0, 1)): 40, ("A", ()): 20}
    return Observed(filters, 10.0, 20.0, stays, published)


def test_what_stands_all_the_time_is_wanted_all_the_time() -> None:
    found = fit(observed(Stay("C", 0, 0.0, FOR_EVER)), TREE)
    for routing in ("simple", "identity", "covering"):
        traffic = forecast(found, routing)
        assert traffic.notifications == pytest.approx(8.0)  # 4 a second over two links
        assert traffic.changes == pytest.approx(0.0, abs=1e-9)
        assert traffic.entries == pytest.approx(2.0)
    assert forecast(found, "flooding").notifications == pytest.approx(12.0)
    assert forecast(found, "identity", refresh_period=4.0).leasing == pytest.approx(0.5)


def test_what_comes_and_goes_has_rate_and_lifetime() -> None:
    """Twice for two seconds: 0.2 arrivals a second, 0.4 live in the mean, 2 s of life."""
    stays = (Stay("C", 0, 11.0, 13.0), Stay("C", 0, 15.0, 17.0), Stay("C", 0, 1.0, 9.0))
    rates = fit(observed(*stays), TREE).counted
    place = TREE.position["C"], 0
    assert rates.arrival_rate[place] == pytest.approx(0.2)
    assert rates.live[place] == pytest.approx(0.4)
    assert 1 / rates.departure_rate[place] == pytest.approx(2.0)
    assert rates.publications == pytest.approx(6.0)


def test_simple_routing_counts_each_subscription() -> None:
    stays = [Stay("C", 0, 0.0, FOR_EVER) for _ in range(5)]
    found = fit(observed(*stays), TREE)
    assert forecast(found, "simple").entries == pytest.approx(10.0)
    assert forecast(found, "identity").entries == pytest.approx(2.0)


def test_a_filter_that_is_covered_is_not_told() -> None:
    found = fit(observed(Stay("C", 0, 0.0, FOR_EVER), Stay("C", 1, 0.0, FOR_EVER)), TREE)
    assert forecast(found, "identity").entries == pytest.approx(4.0)
    assert forecast(found, "covering").entries == pytest.approx(2.0)


def test_another_tree() -> None:
    found = fit(observed(Stay("C", 0, 0.0, FOR_EVER)), TREE)
    star = rooted_tree([("A", "B"), ("A", "C")], "A")
    assert forecast(found.moved(star), "identity").notifications == pytest.approx(4.0)
    for links, said in (
        ([("A", "B")], "has no broker 'C'"),
        ([("A", "B"), ("B", "C"), ("C", "D")], "has a broker 'D'"),
    ):
        with pytest.raises(ParameterError, match=said):
            found.moved(rooted_tree(links, "A"))


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="wanted more than none"):
        fit(Observed((), 5.0, 5.0, (), {}), TREE)
    with pytest.raises(ParameterError, match="has no broker 'D'"):
        fit(observed(Stay("D", 0, 0.0, FOR_EVER)), TREE)
    monkeypatch.setattr(fitting, "FILTERS_MAX", 1)
    with pytest.raises(ParameterError, match="only flooding, simple and identity"):
        fit(observed(), TREE)
    assert forecast(fit(observed(), TREE, with_covers=False), "identity").notifications == 0.0


def test_a_network_without_subscriptions_or_publications() -> None:
    nothing = Observed((), 0.0, 1.0, (), {})
    assert forecast(fit(nothing, TREE), "covering").total == 0.0
