"""Hosts: clocks that differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.sim.faithful.host import Clock, Host
from sim.faithful.machines import Scripted


@given(offset=st.floats(-1e6, 1e6), rate=st.floats(0.99, 1.01), time=st.floats(0, 1e5))
def test_a_clock_can_be_read_both_ways(offset: float, rate: float, time: float) -> None:
    clock = Clock(offset, rate)
    assert abs(clock.when(clock.local(time)) - time) < 1e-6


def test_a_clock_never_goes_back() -> None:
    host = Host("H", Scripted(), Clock(10.0, 1.01), 0.0)
    host.shown = 12.0
    assert host.read_clock(1.0) == 12.0
    assert host.read_clock(2.0) == 10.0 + 2.02
