"""A node whose broker finds its state impossible goes on; a second time it begins a new session."""

from __future__ import annotations

import pytest

from protocol.joined import Network
from sapwood.protocol.core import IMPOSSIBLE
from sapwood.protocol.node import Node
from sapwood.protocol.ports import Restart
from sapwood.protocol.stabilize.settings import NO_REFRESH, StabilizationSettings

SETTINGS = StabilizationSettings(refresh_seconds=4.0, audit_seconds=20.0)


def network() -> tuple[Network, Node]:
    net = Network()
    node = net.add("B1", stabilization=SETTINGS, raises_faults=False)
    net.add("B2", "B1", stabilization=SETTINGS, raises_faults=False)
    net.advance(0.5)  # until their link is part of the tree
    return net, node


def spoil(node: Node) -> None:
    node.broker.subscriptions.ledgers["B2"]._strategy = None  # type: ignore[assignment]


def test_a_fault_costs_the_event_and_nothing_else() -> None:
    net, node = network()
    reader, writer, other = net.client("r", "B1"), net.client("w", "B2"), net.client("o", "B1")
    reader.subscribe("n > 0")
    net.run()
    spoil(node)
    node.broker.clients._claims.pop("r.1")  # and the broker has forgotten somebody
    other.subscribe("n > 5", "2")
    net.run()
    assert node.broker.faults[IMPOSSIBLE] == 1
    assert "r.1" in node.broker.clients
    assert not net.asked("B1", Restart)
    reader.subscribe("n > 5", "3")
    net.run()
    writer.publish("w.1", 7)
    net.run()
    assert node.problems() == []
    assert node.broker.subscriptions.filters("r.1")


def test_a_fault_among_notifications_is_found_as_well() -> None:
    net, node = network()
    reader, writer = net.client("r", "B1"), net.client("w", "B1")
    reader.subscribe("n > 0")
    net.run()
    node.broker.forwarding.index = None  # type: ignore[assignment]
    writer.publish("w.1", 7)
    net.run()
    assert node.broker.faults[IMPOSSIBLE] == 1
    before = reader.received
    writer.publish("w.1", 8)
    net.run()
    assert reader.received > before
    assert node.problems() == []


def test_two_faults_in_a_row_ask_for_a_new_session() -> None:
    net, node = network()
    reader = net.client("r", "B1")
    for entry_id in ("1", "2"):
        assert not net.asked("B1", Restart)
        spoil(node)
        reader.subscribe("n > 5", entry_id)
        net.run()
    (asked,) = net.asked("B1", Restart)
    assert "AttributeError" in asked.reason


def test_faults_far_apart_do_not() -> None:
    net, node = network()
    reader = net.client("r", "B1")
    for entry_id in ("1", "2"):
        spoil(node)
        reader.subscribe("n > 5", entry_id)
        net.run()
        net.advance(5.0)
    assert node.broker.faults[IMPOSSIBLE] == 2
    assert not net.asked("B1", Restart)


@pytest.mark.parametrize("name", ["clients", "neighbours"])
def test_the_broker_learns_who_is_here(name: str) -> None:
    net, node = network()
    net.client("r", "B1")
    known = node.broker.clients._claims if name == "clients" else node.broker.neighbours
    known.clear()
    node.client_count = 7
    node.membership.call_roll(net.now)
    assert node.problems() == []
    assert node.client_count == 1


def test_the_roll_is_called_in_every_period() -> None:
    net, node = network()
    calls: list[float] = []
    node.membership.call_roll = calls.append  # type: ignore[method-assign,assignment]
    net.advance(20.0)
    assert 4 <= len(calls) <= 6


def test_nobody_is_called_where_nothing_is_refreshed() -> None:
    net = Network()
    node = net.add("B1", stabilization=NO_REFRESH)
    calls: list[float] = []
    node.membership.call_roll = calls.append  # type: ignore[method-assign,assignment]
    net.advance(100.0)
    assert calls == []
