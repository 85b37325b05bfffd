"""Entries, ledgers and the matching engine change together; what is told waits where it must."""

from __future__ import annotations

from protocol.brokers import handle, new_broker, tell
from sapwood.filters.filter import Filter
from sapwood.protocol.effects import Send
from sapwood.protocol.events import ControlReceived, NeighbourAway, NeighbourBack
from sapwood.protocol.messages import Subscribe, Unsubscribe
from sapwood.routing.strategy import Entry


def test_an_entry_takes_the_place_of_the_one_under_its_id_in_the_index_too() -> None:
    broker = new_broker()
    for text in ("x = 1", "x = 2"):
        broker.add(broker.subscriptions, Entry("N", "n", Filter(text)))
    assert broker.forwarding.index.destinations({"x": 1}) == []
    assert broker.forwarding.index.destinations({"x": 2}) == ["N"]
    removed = broker.remove(broker.subscriptions, "N", "n")
    assert removed == Entry("N", "n", Filter("x = 2"))
    assert broker.remove(broker.subscriptions, "N", "n") is None
    assert broker.forwarding.index.destinations({"x": 2}) == []


def test_a_neighbour_that_is_away_is_told_the_net_difference_when_it_is_back() -> None:
    broker = new_broker()
    tell(broker, "c.1", Subscribe("kept", "x = 1"))
    tell(broker, "c.1", Subscribe("gone", "x = 2"))
    handle(broker, NeighbourAway("N"))
    for number in range(100):
        effects = tell(broker, "c.1", Subscribe("churn", f"y = {number}"))
        assert {effect.destination for effect in effects if isinstance(effect, Send)} == {"M"}
    tell(broker, "c.1", Unsubscribe("churn"))
    tell(broker, "c.1", Unsubscribe("gone"))
    tell(broker, "c.1", Subscribe("new", "z = 1"))
    assert handle(broker, NeighbourBack("N")) == [
        Send("N", Subscribe(Filter("z = 1").id, "z = 1")),
        Send("N", Unsubscribe(Filter("x = 2").id)),
    ]
    assert handle(broker, NeighbourBack("N")) == []


def test_a_frozen_edge_is_told_nothing_until_it_thaws() -> None:
    broker = new_broker()
    broker.neighbours["N"].is_frozen = True
    told = broker.handle(ControlReceived("c.1", Subscribe("a", "x = 1")), 0.0)
    assert told == [Send("M", Subscribe(Filter("x = 1").id, "x = 1"))]
    broker.neighbours["N"].is_frozen = False
    assert broker.tell_all() == [Send("N", Subscribe(Filter("x = 1").id, "x = 1"))]
