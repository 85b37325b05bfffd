"""Periods from a stated time: exactly that time, and nothing that could not work."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stabilization.samples import LAN, POOR, WAN, networks, periods
from sapwood.analysis.stabilization import (
    Network,
    Periods,
    bounds,
    periods_following,
    periods_within,
    refresh_within,
    refreshed,
    refusals,
    shortest_refresh,
)
from sapwood.errors import StabilizationError


def least_seconds(network: Network, like: Periods) -> float:
    """The shortest time that can be stated."""
    shortest = shortest_refresh(network, like)
    fastest = periods_following(shortest, network, audit_period=shortest, like=like)
    return bounds(network, fastest).total_derived


def test_by_hand() -> None:
    """S = (ρ + 5.05) + (10.3 + 2.95 + 3 + 4 + 3.5 + 1.5) + (ρ + 1.3) + ρ = 3ρ + 31.6, beacons 3 s.

    With ρ ≤ 9 s, beacons come every ρ/3: S = (ρ + 5.05) + (4ρ/3 + 13.25) + (ρ + 1.3) + ρ.
    """
    found = periods_within(121.6, LAN)
    assert found.refresh_period == pytest.approx(30.0)
    assert (found.beacon_period, found.audit_period) == pytest.approx((3.0, 30.0))
    assert found.client_refresh_period == pytest.approx(30.0)
    found = periods_within(13 / 3 * 6 + 19.6, LAN)
    assert (found.refresh_period, found.beacon_period) == pytest.approx((6.0, 2.0))


def test_slow_links_want_beacons_less_often() -> None:
    assert periods_following(30.0, POOR).beacon_period == 6.0
    assert periods_following(12.0, POOR).beacon_period == 6.0
    assert periods_following(30.0, WAN).beacon_period == 3.0
    assert periods_following(3.0, WAN).beacon_period == 1.0


def test_a_refresh_period_brings_the_others() -> None:
    found = periods_following(60.0, LAN, like=Periods(refresh="batch", seek_period=7.0))
    assert found == Periods(
        refresh="batch",
        seek_period=7.0,
        refresh_period=60.0,
        client_refresh_period=60.0,
        beacon_period=3.0,
        audit_period=600.0,
    )


@given(networks(), periods(), st.floats(0.0, 1e4))
def test_what_is_stated_is_what_comes_out(network: Network, like: Periods, more: float) -> None:
    seconds = least_seconds(network, like) + more
    found = periods_within(seconds, network, like)
    assert bounds(network, found).total_derived == pytest.approx(seconds, rel=1e-9)
    assert [*refusals(network, found)] == []
    assert found.audit_period == found.refresh_period == found.client_refresh_period


@given(networks(), periods(), st.floats(0.001, 1.0))
def test_what_is_too_small_is_refused_with_the_smallest_that_works(
    network: Network, like: Periods, less: float
) -> None:
    least = least_seconds(network, like)
    with pytest.raises(StabilizationError) as raised:
        periods_within(least * (1 - less), network, like)
    assert raised.value.parameter == "seconds"
    named = float(raised.value.problem.partition(" s, with")[0].rpartition("= ")[2])
    assert named == pytest.approx(least, abs=0.002)
    periods_within(named, network, like)


def test_the_refusal_shows_the_sum() -> None:
    with pytest.raises(StabilizationError) as raised:
        periods_within(20.0, LAN)
    assert str(raised.value) == (
        "seconds is 20 s; wanted S ≥ Δs + Δt + Δr + α = 6.05 + 14.583 + 2.3 + 1 = 23.934 s, with "
        "the shortest refresh period, max(1 s, 4 · delay, beacons) = 1 s; or smaller delays, or a "
        "tree of less height"
    )


@pytest.mark.parametrize("seconds", [0.0, -5.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(StabilizationError, match=r"^seconds is "):
        periods_within(seconds, LAN)


@pytest.mark.parametrize("part", ["refresh", "tree"])
def test_where_a_part_is_off_no_time_is_enough(part: str) -> None:
    like = msgspec.convert({part: "off"}, Periods)
    with pytest.raises(StabilizationError, match=f"^{part} is off: nothing heals in any time"):
        periods_within(1e9, LAN, like)


def test_a_network_that_is_none_is_refused_first() -> None:
    with pytest.raises(StabilizationError, match=r"^diameter is 99"):
        periods_within(100.0, msgspec.structs.replace(LAN, diameter=99))


def test_beacons_outlive_their_way_on_long_even_links() -> None:
    """2 ξ + 2 τ > h δmin, or A would not exceed ξ + h δmax."""
    even = Network(brokers=50, height=20, diameter=40, delay_max=1.0, delay_min=1.0)
    found = periods_following(shortest_refresh(even), even)
    assert found.beacon_period == pytest.approx(1.01 * 9.5)
    assert [*refusals(even, found)] == []


def slower(network: Network, factor: float) -> Network:
    return msgspec.structs.replace(network, delay_max=network.delay_max * factor)


def test_longer_delays_than_solved_for_want_a_shorter_period_by_hand() -> None:
    """At 0.1 s over a link: S = (ρ + 5.1) + (10.6 + 4.4 + 3 + 8 + 5.0 + 1.5) + (ρ + 2.1) + ρ."""
    solved = periods_within(121.6, LAN)
    slow = msgspec.structs.replace(LAN, delay_max=0.1)
    found = refresh_within(121.6, slow, solved)
    total = bounds(slow, refreshed(found, solved)).total_derived
    assert total == pytest.approx(121.6)
    assert 3 * found + (total - 3 * found) == pytest.approx(121.6)
    assert 24.0 < found < 30.0
    assert refresh_within(121.6, LAN, solved) == pytest.approx(30.0)


@given(networks(), periods(), st.floats(0.0, 1e3), st.floats(0.1, 4.0))
def test_the_stated_time_is_kept_or_the_period_is_the_shortest(
    network: Network, like: Periods, more: float, factor: float
) -> None:
    seconds = least_seconds(network, like) + more
    solved = periods_within(seconds, network, like)
    now = slower(network, factor)
    found = refresh_within(seconds, now, solved)
    least = max(shortest_refresh(now, solved), solved.beacon_period)
    assert min(least, solved.refresh_period) <= found <= solved.refresh_period
    total = bounds(now, refreshed(found, solved)).total_derived
    if least < found:
        assert total <= seconds * (1 + 1e-9) or solved.refresh == "hop-lease"
    if found < solved.refresh_period and least < found:
        assert total == pytest.approx(seconds, rel=1e-9)


def test_leases_that_were_agreed_on_stay() -> None:
    solved = periods_within(200.0, LAN, Periods(refresh="hop-lease"))
    assert refresh_within(200.0, slower(LAN, 4.0), solved) == solved.refresh_period


@pytest.mark.parametrize("delay", [1e9, math.inf, math.nan])
def test_delays_that_cannot_be_leave_the_period_as_it_is(delay: float) -> None:
    solved = periods_within(121.6, LAN)
    impossible = msgspec.structs.replace(LAN, delay_max=delay)
    assert refresh_within(121.6, impossible, solved) == solved.refresh_period
