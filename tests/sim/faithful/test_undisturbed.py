"""Times without faults are found, and what is published in them is judged in every respect."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.sim.faithful.client import Delivery, FaithfulClient
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.undisturbed import SETTLE_SECONDS, UNDER_WAY_SECONDS, Undisturbed

PARTS = {"a.1": "B1", "b.1": "B1"}


def test_a_period_begins_when_all_is_right_and_ends_before_the_next_fault() -> None:
    found = Undisturbed([(0.0, 0.0), (10.0, 14.0), (30.0, 30.0)])
    assert found.wants_look(1.0)
    found.right(1.0, PARTS)
    assert not found.wants_look(5.0)
    assert not found.wants_look(12.0), "something fails"
    assert found.wants_look(15.0)
    found.right(16.0, PARTS)
    assert [(one.begin, one.end) for one in found.periods] == [
        (1.0 + SETTLE_SECONDS, 10.0 - UNDER_WAY_SECONDS),
        (16.0 + SETTLE_SECONDS, 30.0 - UNDER_WAY_SECONDS),
    ]
    assert found.wants_look(30.5)


def published() -> tuple[Undisturbed, dict[str, FaithfulClient]]:
    """Two clients at two brokers, and three notifications from one to the other."""
    network = FaithfulNetwork(Random(1))
    network.add_broker("B1")
    network.add_broker("B2", ("B1",))
    network.driver.run(10.0)
    network.connect("a.1", "B1")
    network.connect("b.1", "B2")
    network.subscribe("b.1", "all", "n >= 0")
    network.driver.run(5.0)
    found = Undisturbed([(0.0, 0.0)])
    found.right(network.kernel.now, PARTS)
    network.driver.run(SETTLE_SECONDS + 1.0)
    for number in range(3):
        network.publish("a.1", {"n": number})
        network.driver.run(1.0)
    return found, network.clients


def test_what_is_lost_repeated_or_reordered_is_seen() -> None:
    found, clients = published()
    reader = clients["b.1"]
    events = list(reader.events)
    assert found.judged(clients) == 3
    assert list(found.judge(clients)) == []
    reader.events = events[1:]
    assert "lost though nothing failed: a.1:1" in next(found.judge(clients))
    reader.events = [*events, events[0]]
    assert "duplicated: a.1:1 at b.1" in next(found.judge(clients))
    reader.events = [events[1], events[0], events[2]]
    assert "out_of_order_fifo: a.1:1 at b.1" in next(found.judge(clients))


@pytest.mark.parametrize("parts", [{"a.1": "B1", "b.1": "B2"}, {"b.1": "B1"}, {"a.1": "B1"}])
def test_nothing_is_owed_to_whom_nobody_can_reach(parts: dict[str, str]) -> None:
    found, clients = published()
    found.periods = [one._replace(parts=parts) for one in found.periods]
    clients["b.1"].events = [one for one in clients["b.1"].events if type(one) is not Delivery]
    assert list(found.judge(clients)) == []
