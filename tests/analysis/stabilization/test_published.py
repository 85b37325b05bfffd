"""The papers' bounds against the numbers they print, and against the forms that hold."""

from __future__ import annotations

import pytest

from sapwood.analysis.stabilization.published import (
    covering_time,
    covering_time_fewer_messages,
    flooding_time,
    idempotent_time,
    identity_time,
    lease_for,
    lease_for_in_paper,
    lease_least,
    merging_time,
    merging_time_fewer_messages,
    ordering_wait,
    ordering_wait_printed,
    recolor_entry_gone,
    recolor_period_least,
    recolor_time,
    recolor_time_printed,
    recolor_timeout,
    recolor_unsubscription_healed,
    refresh_for,
    simple_time,
    simple_time_in_paper,
    wrapper_lease_least,
    wrapper_old_messages_gone,
    wrapper_time,
    wrapper_time_with_advertisements,
)

FAST, SLOW = 0.001, 0.251
"""Delays of section 3.5."""


@pytest.mark.parametrize(
    ("refresh", "lease", "bound"), [(60.0, 60.2, 120.6), (600.0, 600.2, 1200.6)]
)
def test_table_3_1(refresh: float, lease: float, bound: float) -> None:
    """Eight links of 25 ms each. The lease exceeds ρ by d·δmax, more than Eq. 3.3 asks for."""
    assert refresh + 8 * 0.025 == pytest.approx(lease)
    assert lease > lease_least(refresh, 8, 0.025, 0.025)
    assert simple_time(lease, 8, 0.025) == pytest.approx(bound)
    assert simple_time_in_paper(lease, 8, 0.025, 0.025) == pytest.approx(bound - 0.2)


@pytest.mark.parametrize(
    ("refresh", "lease", "bound"), [(60.0, 61.0, 123.004), (600.0, 601.0, 1203.004)]
)
def test_the_setting_of_section_3_5(refresh: float, lease: float, bound: float) -> None:
    assert lease_least(refresh, 4, SLOW, FAST) == pytest.approx(lease)
    for time in (1.0, 2.0):
        assert simple_time(lease + time, 4, SLOW) == pytest.approx(bound + 2 * time)


def test_the_example_of_the_paper() -> None:
    """Ten links of 5 to 25 ms, right again after 30 s."""
    printed = lease_for_in_paper(30.0, 10, 0.025, 0.005)
    assert printed == pytest.approx(14.9)
    assert refresh_for(printed, 10, 0.025, 0.005) == pytest.approx(14.7)
    assert simple_time_in_paper(printed, 10, 0.025, 0.005) == pytest.approx(30.0)
    assert simple_time(printed, 10, 0.025) == pytest.approx(30.05), "the paper's lease is too long"
    lease = lease_for(30.0, 10, 0.025)
    assert lease == pytest.approx(14.875)
    assert refresh_for(lease, 10, 0.025, 0.005) == pytest.approx(14.675)
    assert simple_time(lease, 10, 0.025) == pytest.approx(30.0)


def test_leases_of_each_algorithm() -> None:
    """π = 61, ρ = 60, four links of at most 251 ms."""
    simple = 4 * 0.251 + 122
    for equation in (simple_time, identity_time, covering_time, merging_time):
        assert equation(61.0, 4, SLOW) == pytest.approx(simple)
    for longer in (idempotent_time, covering_time_fewer_messages, merging_time_fewer_messages):
        assert longer(61.0, 60.0, 4, SLOW) == pytest.approx(simple + 60)


def test_flooding_is_as_fast_as_its_slower_part() -> None:
    assert flooding_time(60.0, 8, 0.025) == 120.0
    assert flooding_time(0.05, 8, 0.025) == pytest.approx(0.2)


def test_the_wrapper() -> None:
    """ρ = 60, eight links of at most 251 ms."""
    assert wrapper_old_messages_gone(8, SLOW) == pytest.approx(4.016)
    lease = wrapper_lease_least(60.0, 8, SLOW)
    assert lease == pytest.approx(64.016)
    assert wrapper_time(lease, 8, SLOW) == pytest.approx(130.04)
    assert wrapper_time_with_advertisements(lease, 8, SLOW) == pytest.approx(260.08)


def test_three_colours() -> None:
    """ρ = 60, height 4, 1 to 251 ms."""
    period = recolor_period_least(60.0, 4, SLOW, FAST, "hierarchical")
    assert period == pytest.approx(62.008)
    assert recolor_timeout(period, 4, SLOW, FAST) == pytest.approx(63.008)
    assert recolor_time_printed(period, 4, SLOW, FAST) == pytest.approx(250.036)
    assert recolor_time(period, 4, SLOW) == pytest.approx(6 * 62.008 + 12 * 0.251)
    assert recolor_time(period, 4, SLOW) > 1.33 * recolor_time_printed(period, 4, SLOW, FAST)


def test_peer_to_peer_needs_a_longer_recolour_period_than_printed() -> None:
    printed = recolor_period_least(60.0, 4, SLOW, FAST, "hierarchical")
    assert recolor_period_least(60.0, 4, SLOW, FAST) - printed == pytest.approx(1.0)


def test_single_faults_under_three_colours_are_healed_within_the_whole_bound() -> None:
    entry = recolor_entry_gone(62.008, 4, SLOW, FAST)
    message = recolor_unsubscription_healed(62.008, 60.0, 4, SLOW, FAST)
    assert entry == pytest.approx(187.024)
    assert message == pytest.approx(186.016)
    assert max(entry, message) < recolor_time_printed(62.008, 4, SLOW, FAST)


def test_how_long_a_parent_is_looked_for_is_an_assumption() -> None:
    usual = recolor_time_printed(62.008, 4, SLOW, FAST)
    assert recolor_time_printed(62.008, 4, SLOW, FAST, parent_search=0.0) == pytest.approx(
        usual - 62.008
    )


def test_order_is_kept_by_waiting_for_the_longest_way_only() -> None:
    assert ordering_wait_printed(62.008) == 62.008
    assert ordering_wait(4, 8, SLOW) == pytest.approx(3.012)
