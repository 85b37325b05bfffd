"""Reconfiguration path: two messages round the ring, nothing off it, losses meanwhile."""

from __future__ import annotations

import pytest

from protocol.reconfigure.published.rings import ALL, rings, sweep, with_churn
from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked
from sapwood.protocol.reconfigure.published.path import ReconfigurationPath
from sapwood.sim.reconfiguring.world import World


@pytest.mark.slow
def test_two_messages_go_round_and_nothing_leaves_the_ring() -> None:
    for setting in rings(ALL, 2):
        outcome = World(setting, ReconfigurationPath).run()
        assert outcome.coordination == {"Reconfigure": 2 * (setting.changes[0].n - 1)}
        assert outcome.subscriptions == 0


@pytest.mark.slow
def test_notifications_are_lost_and_tables_right() -> None:
    found = sweep(ReconfigurationPath, rings(ALL, 4))
    assert found["lost"] > found["runs"] / 2
    assert not found["stuck"] + found["problems"]


@pytest.mark.slow
def test_who_subscribes_meanwhile_is_served_afterwards() -> None:
    settings = [with_churn(one, one.seed) for one in rings(ALL, 2, share=0.2)]
    found = sweep(ReconfigurationPath, settings)
    assert not found["stuck"] + found["problems"]


def test_an_end_that_takes_part_already_does_not_begin_another_change() -> None:
    broker = ReconfigurationPath("B2", ("B1", "B3", "B4"), Filter)
    assert broker.handle(ChangeAsked(Exchange(("B1", "B2", "B3"), 2)), 0)
    assert broker.is_busy
    assert broker.handle(ChangeAsked(Exchange(("B1", "B2", "B4"), 2)), 0) == []
