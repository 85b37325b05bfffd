"""A node that has lost a part of itself, or whose parts work for another, begins a new session."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from protocol.joined import Network
from sapwood.protocol.events import Tick
from sapwood.protocol.link.wiring import PARTS, wiring_problems
from sapwood.protocol.node import Node
from sapwood.protocol.ports import Restart

TICKS = 100


def network(*, raises_faults: bool = False) -> Network:
    net = Network(Random(1))
    for name, joins in (("B1", ()), ("B2", ("B1",))):
        net.add(name, *joins, raises_faults=raises_faults)
    net.client("c", "B1").subscribe("n >= 0")
    return net


def restarts(net: Network, node: Node) -> list[Restart]:
    """Let time pass for a node by itself, until it asks for a new session."""
    for number in range(TICKS):
        effects = node.handle(Tick(), net.now + 0.5 * number)
        found = [effect for effect in effects if isinstance(effect, Restart)]
        if found:
            return found
    return []


def test_a_node_is_wired() -> None:
    net = network()
    assert [problem for node in net.nodes.values() for problem in wiring_problems(node)] == []
    assert restarts(net, net.nodes["B1"]) == []


@pytest.mark.parametrize("part", [*PARTS, "checking", "flow", "peers", "lines", "broker"])
def test_without_a_part_a_new_session_begins(part: str) -> None:
    net = network()
    node = net.nodes["B1"]
    setattr(node, part, None)
    assert len(restarts(net, node)) == 1


@pytest.mark.parametrize("part", [*PARTS, "flow"])
def test_a_part_of_another_node_is_no_part_of_this_one(part: str) -> None:
    net = network()
    node = net.nodes["B1"]
    setattr(node, part, getattr(net.nodes["B2"], part))
    assert len(restarts(net, node)) == 1


def test_where_faults_are_mistakes_they_are_raised() -> None:
    net = network(raises_faults=True)
    node = net.nodes["B1"]
    node.keepalive = None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        node.handle(Tick(), net.now)


def test_what_is_neither_peer_nor_line_is_forgotten() -> None:
    net = network()
    node = net.nodes["B1"]
    peers, lines = dict(node.peers), dict(node.lines)
    node.peers["ghost"] = None  # type: ignore[assignment]
    node.peers[7] = node.peers["c.1"]  # type: ignore[index]
    node.lines["x"] = None  # type: ignore[index,assignment]
    node.counts["refused"] = None  # type: ignore[assignment]
    node.stopping = 1e9  # type: ignore[assignment]
    node.handing = 0  # type: ignore[assignment]
    node.checking.screen(net.now)
    assert (node.peers, node.lines) == (peers, lines)
    assert (node.counts, node.stopping, node.handing) == (Counter(), None, None)
