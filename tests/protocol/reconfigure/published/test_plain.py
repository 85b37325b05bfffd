"""The broker that only routes."""

from __future__ import annotations

import pytest

from sapwood.errors import TopologyError
from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import (
    ChangeAsked,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    Deliver,
    Notification,
    Received,
    Send,
    Subscribe,
    Tick,
    Unsubscribe,
)
from sapwood.protocol.reconfigure.published.plain import HOPS_MAX, PlainBroker

KEY = Filter("x = 1").id


def broker() -> PlainBroker:
    return PlainBroker("B", ("A", "C"), Filter)


def test_subscriptions_go_on_and_notifications_come_back() -> None:
    one = broker()
    assert one.handle(ClientSubscribed("c", "x = 1"), 0) == [
        Send("A", Subscribe(KEY, "x = 1")),
        Send("C", Subscribe(KEY, "x = 1")),
    ]
    assert one.handle(Received("A", Subscribe(KEY, "x = 1")), 0) == []
    assert one.handle(Received("C", Notification("p", 1, {"x": 1})), 0) == [
        Deliver("c", Notification("p", 1, {"x": 1})),
        Send("A", Notification("p", 1, {"x": 1}, hops=1)),
    ]
    assert one.handle(ClientUnsubscribed("c", "x = 1"), 0) == [Send("A", Unsubscribe(KEY))]


def test_a_publisher_gets_what_it_wants_itself() -> None:
    one = broker()
    one.handle(ClientSubscribed("c", "x = 1"), 0)
    assert one.handle(ClientPublished("c", 1, {"x": 1}), 0) == [
        Deliver("c", Notification("c", 1, {"x": 1}))
    ]


def test_what_comes_over_a_link_that_is_not_there_is_dropped() -> None:
    one = broker()
    assert one.handle(Received("Z", Subscribe(KEY, "x = 1")), 0) == []
    assert one.strangers == 1


def test_what_goes_round_ends_somewhere() -> None:
    one = broker()
    one.handle(Received("A", Subscribe(KEY, "x = 1")), 0)
    old = Notification("p", 1, {"x": 1}, hops=HOPS_MAX)
    assert one.handle(Received("C", old), 0) == []


def test_it_changes_nothing_by_itself() -> None:
    one = broker()
    assert one.handle(Tick(), 5.0) == []
    assert not one.is_busy
    with pytest.raises(TopologyError, match="only routes and cannot change the tree"):
        one.handle(ChangeAsked(Exchange(("A", "B", "C"), 1)), 0)
