"""A link is what the broker takes it for, and the broker knows whether it has a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol.joined import Network, line_of
from sapwood.protocol.effects import Hold
from sapwood.protocol.link.agreeing import (
    agree,
    client_by_features,
    is_candidate,
    is_same_kind,
    link_problems,
    revive,
)
from sapwood.protocol.link.handshake import CHECKS
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.messages import Missed
from sapwood.protocol.neighbours import MOVES, REFRESH, RESTART, Neighbour
from sapwood.protocol.node import Node
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.settings import StabilizationSettings

PERIOD = 4.0


def network() -> Network:
    net = line_of(2, stabilization=StabilizationSettings(refresh_seconds=PERIOD))
    net.client("c", "B1").subscribe("n >= 0")
    net.advance(10.0)
    net.is_spoilt = True
    return net


def parts(net: Network) -> tuple[Node, Peer, Neighbour]:
    node = net.nodes["B1"]
    return node, node.peers["B2"], node.broker.neighbours["B2"]


def problems(node: Node) -> list[str]:
    return [one for name, peer in node.peers.items() for one in link_problems(node, name, peer)]


SPOILT: list[Callable[[Peer, Neighbour], None]] = [
    lambda peer, neighbour: setattr(peer, "in_tree", False),
    lambda peer, neighbour: setattr(peer.channel, "is_held", True),
    lambda peer, neighbour: setattr(neighbour, "is_connected", False),
]


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_differs_is_found_and_agreed_on_again(spoil: Any) -> None:
    net = network()
    node, peer, neighbour = parts(net)
    assert problems(node) == []
    spoil(peer, neighbour)
    assert len(problems(node)) == 1
    agree(node, "B2", peer, net.now)
    assert problems(node) == []
    assert (peer.in_tree, neighbour.is_connected) == (True, True)
    net.advance(10.0)  # one that seemed to be away is held until both ends agree on its place
    assert (neighbour.is_held, peer.channel.is_held, neighbour.is_away) == (False, False, False)


def test_a_client_is_never_held() -> None:
    net = network()
    node = net.nodes["B1"]
    node.peers["c.1"].channel.is_held = True
    assert len(problems(node)) == 1
    agree(node, "c.1", node.peers["c.1"], net.now)
    assert problems(node) == []


def test_a_link_is_held_as_long_as_the_broker_says_so() -> None:
    net = network()
    node, peer, _ = parts(net)
    assert Hold("B2", is_held=True) in node.broker.hold_link("B2", net.now)
    assert len(problems(node)) == 1
    agree(node, "B2", peer, net.now)
    assert peer.channel.is_held
    assert problems(node) == []


def test_the_broker_is_told_of_a_neighbour_that_is_away() -> None:
    net = network()
    node, peer, neighbour = parts(net)
    net.refusing.add("B1")
    net.cut("B1", "B2")
    net.run()
    assert (peer.line, problems(node)) == (None, [])
    neighbour.is_connected, neighbour.is_away = True, False
    assert len(problems(node)) == 1
    agree(node, "B2", peer, net.now)
    assert (neighbour.is_connected, neighbour.is_away) == (False, True)


def test_a_candidate_without_a_connection_goes() -> None:
    net = network()
    node, peer, neighbour = parts(net)
    net.refusing.add("B1")
    net.cut("B1", "B2")
    net.run()
    assert not is_candidate(node, peer)
    peer.in_tree = neighbour.in_tree = False
    assert is_candidate(node, peer)
    assert len(problems(node)) == 1
    agree(node, "B2", peer, net.now)
    assert "B2" not in node.peers
    assert "B2" not in node.broker.neighbours


def test_a_link_of_the_tree_outlives_whatever_was_known_of_it_here() -> None:
    """Its tables stay, a new stream begins, and those on both sides are told."""
    net = network()
    near = net.client("n", "B1").subscribe("n >= 0")
    far = net.client("f", "B2").subscribe("n >= 0")
    net.advance(0.5)
    node, peer, neighbour = parts(net)
    told = node.broker.subscriptions.texts("B2")
    del node.peers["B2"]
    assert peer.line is not None
    node.abort(peer.line, "a test", net.now)
    neighbour.is_connected, neighbour.is_away = True, False
    revive(node, "B2", neighbour, net.now)
    assert (node.peers["B2"].is_over, neighbour.in_tree, neighbour.is_away) == (True, True, True)
    assert node.broker.subscriptions.texts("B2") == told != {}
    net.cut("B1", "B2")
    net.advance(5.0)
    assert (node.peers["B2"].line is not None, neighbour.in_tree) == (True, True)
    for one in (near, far):
        assert [missed.count for missed in one.told if isinstance(missed, Missed)] == [0]
    far.publish("f.1", 7)
    net.advance(0.5)
    assert len(near.got) == 1


def test_a_link_beside_the_tree_does_not() -> None:
    net = network()
    node, _, neighbour = parts(net)
    del node.peers["B2"]
    neighbour.in_tree = False
    revive(node, "B2", neighbour, net.now)
    assert "B2" not in node.broker.neighbours


def test_a_running_broker_looks_with_every_tick() -> None:
    net = network()
    _, peer, _ = parts(net)
    peer.channel.is_held = True
    net.advance(1.0)
    assert peer.channel.is_held is False


def test_a_neighbour_that_nobody_has_heard_of_is_a_ghost() -> None:
    net = network()
    node, _, neighbour = parts(net)
    node.broker.neighbours["nobody"] = neighbour
    node.checking._derive(net.now)
    assert (list(node.broker.neighbours), "nobody" in node.peers) == (["B2"], False)


def test_a_peer_that_is_kept_under_two_names_is_the_one_it_says_it_is() -> None:
    net = network()
    node, peer, _ = parts(net)
    node.peers["nobody"] = peer
    node.membership.call_roll(net.now)
    assert (list(node.broker.neighbours), node.peers["B2"] is peer) == (["B2"], True)
    assert "nobody" not in node.peers


def test_the_broker_is_believed_about_what_somebody_is() -> None:
    """Its entries are those of a client: to take it for a neighbour would throw them away."""
    net = network()
    node, _, _ = parts(net)
    node.peers["c.1"].is_client = False
    node.membership.call_roll(net.now)
    assert node.peers["c.1"].is_client is True
    assert (list(node.broker.neighbours), list(node.broker.clients)) == (["B2"], ["c.1"])
    assert node.counts["contradiction"] == 1


@pytest.mark.parametrize("is_brokers", [False, True])
def test_what_both_sides_can_do_is_negotiated_anew_where_it_is_in_doubt(is_brokers: bool) -> None:
    """Without beacons the link would be taken for one that is always part of the tree."""
    net = network()
    node, peer, neighbour = parts(net)
    features = peer.features
    wrong = tuple(one for one in features if one != BEACONS)
    (neighbour if is_brokers else peer).features = wrong
    net.advance(10.0)
    _, peer, neighbour = parts(net)
    assert peer.features == neighbour.features == features
    assert (peer.line is not None, neighbour.is_away) == (True, False)
    assert node.counts["contradiction"] >= 1


@pytest.mark.parametrize(
    ("features", "is_client"),
    [
        ((RESTART, CHECKS, BEACONS), False),
        ((CHECKS, BEACONS), False),
        ((CHECKS, REFRESH, MOVES), True),
        ((CHECKS,), True),
        ((), None),
        (("ghost",), None),
        (None, None),
    ],
)
def test_what_a_peer_can_do_tells_clients_from_brokers(
    features: Any, is_client: bool | None
) -> None:
    _, peer, _ = parts(network())
    peer.features = features
    assert client_by_features(peer) is is_client


def test_a_client_of_whom_the_broker_knows_nothing_is_not_taken_for_a_broker() -> None:
    net = line_of(2, stabilization=StabilizationSettings(refresh_seconds=PERIOD))
    net.client("c", "B1", features=(CHECKS, REFRESH, MOVES)).subscribe("n >= 0")
    net.advance(1.0)
    net.is_spoilt = True
    node = net.nodes["B1"]
    (name,) = node.broker.clients
    node.peers[name].is_client = False
    assert not is_same_kind(node, name, node.peers[name])
    node.broker.clients.remove(name)
    assert not is_same_kind(node, name, node.peers[name])
    node.peers[name].is_client = True
    assert is_same_kind(node, name, node.peers[name])
