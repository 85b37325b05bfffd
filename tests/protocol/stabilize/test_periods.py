"""Settings become periods and the worst network that they allow."""

from __future__ import annotations

from math import inf

from sapwood.analysis.stabilization import Periods, refusals
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.stabilize.periods import network_allowed, network_known, periods_of
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings


def test_the_defaults_are_the_same() -> None:
    assert periods_of(StabilizationSettings(), TreeSettings(), 30.0) == Periods(tick=TICK_SECONDS)
    assert Periods().tick == TICK_SECONDS


def test_every_setting_counts() -> None:
    found = periods_of(
        StabilizationSettings(refresh="batch", refresh_seconds=5.0, audit_seconds=50.0),
        TreeSettings(protocol="off", beacon_seconds=2.0, seek_seconds=9.0),
        7.0,
        has_advertisements=True,
    )
    assert found == Periods(
        refresh="batch",
        tree="off",
        has_advertisements=True,
        refresh_period=5.0,
        client_refresh_period=7.0,
        beacon_period=2.0,
        audit_period=50.0,
        seek_period=9.0,
    )


def test_the_worst_network_is_possible_and_no_deeper_one_is() -> None:
    tree = TreeSettings(depth_max=10, ring_max=5)
    found = network_allowed(StabilizationSettings(delay_max=0.25), tree)
    assert (found.height, found.diameter, found.reach) == (9, 18, 10)
    assert (found.delay_max, found.ring_max) == (0.25, 5)
    assert [*refusals(found, Periods())] == []


def test_the_root_knows_how_many_there_are_and_all_know_the_longest_way() -> None:
    tree = TreeSettings(depth_max=10, ring_max=5)
    root = network_known(tree, 0.1, 0.55, 7)
    assert (root.brokers, root.diameter, root.delay_max, root.ring_max) == (7, 6, 0.1, 5)
    other = network_known(tree, 0.1, 0.55, None)
    assert (other.brokers, other.diameter) == (10, 6)
    assert network_known(tree, 0.1, inf, None).diameter == 18
