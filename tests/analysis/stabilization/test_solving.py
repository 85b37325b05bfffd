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
