"""Rates: differences of counts over the time between two looks."""

from __future__ import annotations

from sapwood.runtime.admin.rates import NO_RATE, Rate, Rates


def test_a_rate_needs_two_looks() -> None:
    rates = Rates()
    assert rates["B2"] == NO_RATE
    rates.look({"B2": (100, 10)}, 50.0)
    assert rates["B2"] == NO_RATE
    rates.look({"B2": (300, 15)}, 52.0)
    assert rates["B2"] == Rate(100.0, 2.5)


def test_who_is_gone_has_no_rate_and_who_is_new_has_none_yet() -> None:
    rates = Rates()
    rates.look({"B2": (0, 0)}, 0.0)
    rates.look({"B2": (5, 5), "B3": (9, 9)}, 1.0)
    assert (rates["B2"], rates["B3"]) == (Rate(5.0, 5.0), NO_RATE)
    rates.look({"B3": (9, 9)}, 2.0)
    assert (rates["B2"], rates["B3"]) == (NO_RATE, Rate(0.0, 0.0))


def test_a_count_that_fell_began_anew() -> None:
    rates = Rates()
    rates.look({"B2": (1000, 0)}, 0.0)
    rates.look({"B2": (4, 0)}, 2.0)
    assert rates["B2"] == Rate(2.0, 0.0)


def test_two_looks_at_one_time_give_no_rate() -> None:
    rates = Rates()
    rates.look({"B2": (1, 0)}, 5.0)
    rates.look({"B2": (2, 0)}, 5.0)
    assert rates["B2"] == NO_RATE
