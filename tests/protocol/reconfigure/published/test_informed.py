"""Informed link activation: fewer subscriptions, the same kind of losses."""

from __future__ import annotations

from functools import partial

import pytest

from protocol.reconfigure.published.rings import ALL, rings, sweep
from sapwood.protocol.reconfigure.published.informed import Informed
from sapwood.protocol.reconfigure.published.strawman import Strawman
from sapwood.sim.reconfiguring.world import World


@pytest.mark.slow
def test_it_sends_fewer_subscriptions_than_deferring_alone() -> None:
    settings = rings(ALL, 4)
    informed, deferred = (
        sum(World(one, partial(make, timeout=4.0)).run().subscriptions for one in settings)
        for make in (Informed, Strawman)
    )
    assert informed < deferred


@pytest.mark.slow
def test_tables_are_right_in_the_end_whatever_was_lost_or_repeated() -> None:
    found = sweep(partial(Informed, timeout=3.0), rings(ALL, 4))
    assert found["lost"]
    assert found["duplicated"]
    assert not found["stuck"] + found["problems"]
