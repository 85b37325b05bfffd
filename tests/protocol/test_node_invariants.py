"""Tests for what must hold of a node: damage of every kind is found; looking changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.joined import Network, line_of
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.node import Node
from sapwood.protocol.node_invariants import node_problems


def network() -> Network:
    net = line_of(2)
    net.client("c", "B1").subscribe("n >= 0")
    net.dial("B1")
    net.advance(0.2)
    return net


def neighbour(node: Node) -> Peer:
    return node.peers["B2"]


def lose_line(node: Node) -> None:
    neighbour(node).line = None


def stay_connected(node: Node) -> None:
    neighbour(node).channel.connected = False


def belong_to_another(node: Node) -> None:
    line = neighbour(node).line
    assert line is not None
    line.peer = node.peers["c.1"]


def miscount(node: Node) -> None:
    node.client_count += 1


def unwatch(node: Node) -> None:
    node.keepalive.due.clear()


def never_tire(node: Node) -> None:
    node.admission.greeting.clear()


def hold(node: Node) -> None:
    neighbour(node).holds["c.1"] = None


def be_held(node: Node) -> None:
    node.peers["c.1"].holders["B2"] = None


def withhold(node: Node) -> None:
    neighbour(node).channel.withheld = True


def forget_neighbour(node: Node) -> None:
    del node.peers["B2"]


def acknowledge_too_much(node: Node) -> None:
    neighbour(node).channel.acknowledged += 5


def sleep_too_long(node: Node) -> None:
    node.deadline += 1e6


DAMAGE: list[tuple[Callable[[Node], None], str]] = [
    (lose_line, "B2 is away since None"),
    (stay_connected, "B2 is away since None"),
    (belong_to_another, "the line of B2 belongs to"),
    (miscount, "1 clients, counted 2"),
    (unwatch, "waited for by nobody"),
    (never_tire, "waited for by nobody"),
    (hold, "B2 holds back c.1, who does not know"),
    (be_held, "c.1 is held back by B2, who does not know"),
    (withhold, "the credit of B2 is withheld"),
    (forget_neighbour, "neighbours are []"),
    (acknowledge_too_much, "the stream to B2"),
    (sleep_too_long, "a tick is wanted at"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGE)
def test_damage_is_found(damage: Callable[[Node], None], words: str) -> None:
    node = network().nodes["B1"]
    assert node_problems(node) == []
    damage(node)
    problems = node_problems(node)
    assert any(words in problem for problem in problems), problems
    assert all(problem.startswith("B1: ") for problem in problems)
    assert node_problems(node) == problems


def test_looking_changes_nothing() -> None:
    """Two networks, one of which is looked at all the time, do the same."""
    looked, other = network(), network()
    for net in (looked, other):
        client = net.client("p", "B2")
        for number in range(20):
            client.publish("p.1", number)
            net.advance(0.1)
            if net is looked:
                for node in net.nodes.values():
                    assert node_problems(node) == []
    for name in looked.nodes:
        first, second = looked.nodes[name], other.nodes[name]
        assert (first.counts, first.deadline) == (second.counts, second.deadline)
