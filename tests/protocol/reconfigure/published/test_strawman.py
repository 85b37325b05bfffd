"""Strawman and deferred unsubscriptions: what they lose and repeat."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from protocol.reconfigure.published.rings import ALL, rings, sweep
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.strawman import Strawman, other_end
from sapwood.sim.reconfiguring.world import World
from sapwood.sim.topology import chain


def test_the_other_end_of_a_link() -> None:
    assert [other_end(("A", "B"), one) for one in "ABC"] == ["B", "A", ""]


@pytest.mark.slow
def test_the_strawman_loses_repeats_and_reorders_and_ends_with_right_tables() -> None:
    found = sweep(Strawman, rings(ALL, 4))
    assert found["lost"] > found["runs"] / 2
    assert found["duplicated"]
    assert not found["stuck"] + found["problems"]


@pytest.mark.slow
def test_the_strawmans_unsubscriptions_leave_the_ring() -> None:
    outcomes = [World(one, Strawman).run() for one in rings(ALL, 4, share=0.2, off_ring=4)]
    assert sum(outcome.subscriptions_off_ring for outcome in outcomes)


@pytest.mark.slow
def test_the_longer_the_old_link_stays_the_less_is_lost_and_the_more_repeated() -> None:
    """Thesis 4.4.1; (un)subscriptions off the ring become fewer too."""
    settings = rings(ALL, 3, off_ring=3, share=0.4)
    found = []
    for timeout in (0.0, 3.0, 12.0):
        outcomes = [World(one, partial(Strawman, timeout=timeout)).run() for one in settings]
        found.append(
            (
                sum(one.verdict.lost for one in outcomes),
                sum(one.verdict.duplicated for one in outcomes),
                sum(one.subscriptions_off_ring for one in outcomes),
            )
        )
    lost, duplicated, off_ring = zip(*found, strict=True)
    assert lost[0] > lost[1] > lost[2]
    assert duplicated[0] < duplicated[1] < duplicated[2]
    assert off_ring[0] > off_ring[2]


def test_two_changes_at_once_are_no_trouble_to_it() -> None:
    """It needs nothing but subscriptions, so rings may even overlap."""
    brokers = chain(6).brokers
    changes = (Exchange(brokers[:4], 2), Exchange(brokers[2:], 2))
    settings = [msgspec.structs.replace(one, changes=changes) for one in rings(((6, 3),), 3)]
    assert not sweep(Strawman, settings)["problems"]
