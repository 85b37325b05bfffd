"""When a client renews: never later than the refresh period (T3.10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.stabilize.published.renewing import RenewalPlan


def test_without_a_rate_a_client_renews_once_in_a_period() -> None:
    assert {RenewalPlan(60.0).seconds(count) for count in (1, 10, 10_000)} == {60.0}


def test_with_a_rate_the_period_grows_with_the_subscriptions_up_to_the_longest() -> None:
    plan = RenewalPlan(60.0, rate=2.0, period_min=5.0)
    assert [plan.seconds(count) for count in (1, 10, 40, 120, 9999)] == [5.0, 5.0, 20.0, 60.0, 60.0]


@given(st.floats(0.1, 1e4), st.floats(0, 1e4), st.floats(0.1, 1e4), st.integers(0, 1_000_000))
def test_the_refresh_period_is_never_exceeded(
    period: float, rate: float, period_min: float, count: int
) -> None:
    assert 0 < RenewalPlan(period, rate, period_min).seconds(count) <= period
