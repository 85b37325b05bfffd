"""Leases with a second chance: kept while renewed in every period, gone after two otherwise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.stabilize.published.leases import Key, Lease, Leases

ENTRY, OTHER = Key("subscribed", "N", "1"), Key("subscribed", "N", "2")


def run(leases: Leases, until: float, renewals: list[float]) -> float | None:
    """Let the clock overrun and an entry be renewed; when the entry expired."""
    renewals = sorted(renewals)
    while True:
        overrun_at = leases.next_at
        while renewals and renewals[0] <= min(overrun_at, until):
            leases.renew(ENTRY, renewals.pop(0), 0.0)
        if overrun_at > until:
            return None
        known = [ENTRY] if leases.get(ENTRY) is not None else []
        if leases.overrun(known, overrun_at):
            return overrun_at


@given(st.floats(0, 1), st.floats(0, 50))
def test_what_is_not_renewed_is_gone_after_two_periods(phase: float, begun: float) -> None:
    leases = Leases(10.0, overrun_at=phase * 10.0)
    expired_at = run(leases, 200.0, [begun])
    assert expired_at is not None
    assert begun <= expired_at <= begun + 20.0


@given(st.floats(0, 1), st.lists(st.floats(0.1, 9.99), min_size=1, max_size=30))
def test_what_is_renewed_once_in_every_period_stays(phase: float, waits: list[float]) -> None:
    leases = Leases(10.0, overrun_at=phase * 10.0)
    times = [sum(waits[:count]) for count in range(len(waits) + 1)]
    assert run(leases, times[-1], list(times)) is None


@pytest.mark.parametrize("spoilt", [-5.0, 1e9, math.nan, math.inf])
def test_a_clock_that_makes_no_sense_overruns_at_once(spoilt: float) -> None:
    leases = Leases(10.0, overrun_at=spoilt)
    leases.put(ENTRY, Lease(flag=False, renewed_at=0.0))
    assert leases.is_due(3.0)
    assert leases.overrun([ENTRY], 3.0) == [ENTRY]
    assert leases.overrun_at == 13.0


def test_an_entry_whose_lease_was_lost_goes() -> None:
    leases = Leases(10.0, overrun_at=10.0)
    leases.renew(OTHER, 1.0, 0.0)
    assert leases.overrun([ENTRY, OTHER], 10.0) == [ENTRY]
    assert len(leases) == 1


def test_an_entry_may_have_a_period_of_its_own() -> None:
    leases = Leases(10.0, overrun_at=10.0)
    leases.renew(ENTRY, 1.0, 3.0)
    leases.renew(OTHER, 1.0, 0.0)
    assert leases.next_at == 4.0
    assert leases.overrun([ENTRY, OTHER], 4.0) == []
    leases.renew(ENTRY, 5.0, 3.0)  # its clock goes on: it does not begin anew
    assert leases.next_at == 7.0
    assert leases.overrun([ENTRY, OTHER], 7.0) == []
    assert leases.overrun([ENTRY, OTHER], 10.0) == [ENTRY]
    assert [key for key, _ in leases] == [OTHER]
    assert leases.period_of(ENTRY) == 0.0


@pytest.mark.parametrize("period", [-1.0, math.nan, math.inf])
def test_a_period_that_makes_no_sense_is_none(period: float) -> None:
    leases = Leases(10.0, overrun_at=10.0)
    leases.renew(ENTRY, 1.0, period)
    assert leases.period_of(ENTRY) == 0.0


def test_a_renewal_in_the_future_was_now() -> None:
    leases = Leases(10.0, overrun_at=10.0)
    leases.put(ENTRY, Lease(flag=True, renewed_at=99.0))
    leases.put(OTHER, Lease(flag=False, renewed_at=2.0))
    assert (leases.renewed_at(ENTRY, 5.0), leases.renewed_at(OTHER, 5.0)) == (5.0, 2.0)
    assert (leases.is_flagged(ENTRY), leases.is_flagged(OTHER)) == (True, False)
    leases.drop(ENTRY)
    assert leases.get(ENTRY) is None
    assert not leases.is_flagged(ENTRY)
