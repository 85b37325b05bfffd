"""Coordinated unsubscriptions: a flush, and an old link that is kept or cut."""

from __future__ import annotations

from functools import partial

import pytest

from protocol.reconfigure.published.rings import ALL, INNER, rings, sweep
from sapwood.protocol.reconfigure.published.coordinated import Coordinated
from sapwood.protocol.reconfigure.published.strawman import Strawman
from sapwood.sim.reconfiguring.world import World

cut = partial(Coordinated, is_kept=False)


@pytest.mark.slow
def test_a_link_that_is_kept_repeats_and_loses_nothing() -> None:
    found = sweep(Coordinated, rings(ALL, 4))
    assert found["duplicated"] > found["runs"] / 2
    assert not found["lost"] + found["stuck"] + found["problems"]


@pytest.mark.slow
def test_a_link_that_is_cut_at_once_loses() -> None:
    found = sweep(cut, rings(ALL, 4))
    assert found["lost"] > found["runs"] / 2
    assert not found["stuck"] + found["problems"]


@pytest.mark.slow
def test_fewer_subscriptions_leave_the_ring_than_with_the_strawman() -> None:
    settings = rings(ALL, 4, share=0.2, off_ring=4)
    coordinated, strawman = (
        sum(World(one, make).run().subscriptions_off_ring for one in settings)
        for make in (Coordinated, Strawman)
    )
    assert coordinated < strawman


def test_the_flush_floods_the_tree() -> None:
    """Each of the two passes every link once but the old one."""
    for setting in rings(INNER, 1, publishing=False):
        outcome = World(setting, Coordinated).run()
        links = len(setting.tree.links)
        assert outcome.coordination == {"Closed": 2, "Flush": 2 * links}
