"""Where links are in the tree, as both ends say it in the handshake; and beacons of strangers."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.joined import Network, hello_of
from sapwood.protocol.drops import Drop
from sapwood.protocol.link.handshake import BROKER, PROTOCOL
from sapwood.protocol.link.placing import LinkPlace
from sapwood.protocol.ports import Data
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.protocol.stabilize.places import Place

LURE = Beacon("0", 0, 0.0, ("0",), is_whole=True)


def pair() -> Network:
    """B2 below B1."""
    net = Network()
    net.add("B1")
    net.add("B2", "B1")
    net.advance(2.0)
    assert net.nodes["B2"].broker.tree.parent == "B1"
    return net


def place(net: Network, at: str, other: str, tree: dict[str, str], **more: Any) -> LinkPlace:
    """What a node says to the hello of a broker."""
    features = ("restart", BEACONS)
    hello = hello_of(other, role=BROKER, features=features, tree=tree, **more)
    return net.nodes[at].placing.place(hello)


def test_a_link_that_both_know_carries_on_if_it_is_where_it_was() -> None:
    net = pair()
    assert place(net, "B1", "B2", {"B1": "parent"}) == LinkPlace(True, False, Place.CHILD)
    assert place(net, "B2", "B1", {"B2": "child"}) == LinkPlace(True, False, Place.PARENT)


@pytest.mark.parametrize("said", ["", "child", "nonsense"])
def test_it_is_held_if_they_do_not_agree(said: str) -> None:
    assert place(pair(), "B1", "B2", {"B1": said}) == LinkPlace(True, is_held=True)


def test_whoever_has_forgotten_everything_believes_the_other() -> None:
    net = pair()
    assert place(net, "B2", "B1", {}) == LinkPlace(True, place=Place.PARENT)
    assert place(net, "B1", "B2", {}, is_open=True) == LinkPlace(True, place=Place.CHILD)
    assert place(net, "B1", "B2", {}) == LinkPlace(in_tree=False)


def test_a_broker_that_takes_this_one_for_its_parent_is_its_child() -> None:
    assert place(pair(), "B1", "B3", {"B1": "parent"}) == LinkPlace(True, place=Place.CHILD)


def test_a_second_parent_is_a_candidate() -> None:
    net = pair()
    assert place(net, "B2", "B3", {"B2": "child"}) == LinkPlace(in_tree=False)
    assert place(net, "B1", "B3", {"B1": "child"}) == LinkPlace(True, place=Place.PARENT)


def test_a_stranger_is_a_candidate() -> None:
    assert place(pair(), "B1", "B3", {}) == LinkPlace(in_tree=False)


def test_a_link_that_is_cut_goes_on_as_if_nothing_had_happened() -> None:
    net = pair()
    streams = net.nodes["B1"].peers["B2"].channel
    net.cut("B1", "B2")
    net.advance(5.0)
    assert net.nodes["B1"].peers["B2"].channel is streams
    assert net.nodes["B1"].broker.tree.carries("B2")
    assert net.nodes["B2"].broker.tree.carries("B1")


def test_nothing_is_lost_if_the_tree_changes_between_hello_and_welcome() -> None:
    """B1 believes the hello and sends what it kept; B2 would not take it any more."""
    net = pair()
    net.add("B3", "B2")  # B2 has to ask it before its link to B1 carries again
    net.advance(2.0)
    below = net.nodes["B2"]
    reader = net.client("r", "B2").subscribe("n >= 0")
    writer = net.client("w", "B1")
    (target,) = below.dialing.targets
    net.refusing.add("B1")
    net.cut("B1", "B2")
    net.run()
    writer.publish("w.1", 1, count=3)
    net.advance(5.0)
    net.refusing.clear()
    net.mute.add("B1")
    net.advance_until(lambda: target.dial > 0)
    net.attach("B2", "B1", 101, 102, dial=target.dial)
    (wire,) = net.wires_between("B1", "B2")
    wire.is_frozen = True
    net.bring("B1", Data(102, wire.ends[1].inbox.popleft() or b""))
    assert net.nodes["B1"].broker.tree.carries("B2"), "the welcome is under way"
    net.advance_until(lambda: below.broker.tree.parent == "", 4.9)
    wire.is_frozen = False
    net.mute.clear()
    net.advance(20.0)
    assert reader.got == [("w.1", 1), ("w.1", 2), ("w.1", 3)]
    assert below.broker.drops.counts[Drop.HELD] == 0
    assert below.broker.tree.parent == "B1"


def test_node_and_broker_agree_again_about_a_connection() -> None:
    net = pair()
    node = net.nodes["B2"]
    one, peer = node.broker.neighbours["B1"], node.peers["B1"]
    one.is_connected, one.is_away, peer.channel.is_held, peer.in_tree = False, True, True, False
    net.advance(4.0)
    assert (one.is_connected, one.is_away) == (True, False)
    assert (peer.channel.is_held, peer.in_tree) == (False, True)
    assert net.nodes["B1"].broker.tree.carries("B2")


def test_the_beacon_of_a_client_has_no_effect() -> None:
    net = pair()
    client = net.client("c", "B1").say(LURE)
    net.advance(5.0)
    assert not client.is_gone
    assert {node.broker.tree.root for node in net.nodes.values()} == {"B1"}
    assert "c.1" not in net.nodes["B1"].broker.tree.offers


def test_a_beacon_before_the_handshake_ends_the_line() -> None:
    net = pair()
    stranger = net.dial("B1").say(LURE)
    assert stranger.goodbye.code == PROTOCOL
    assert net.nodes["B1"].broker.tree.root == "B1"


def test_the_beacon_of_a_broker_that_never_said_it_sends_any_has_no_effect() -> None:
    net = pair()
    old = net.dial("B1").say(hello_of("A", role=BROKER))
    net.advance(1.0)
    old.say(LURE)
    net.advance(2.0)
    assert net.nodes["B1"].broker.tree.root == "B1"
    assert "A" not in net.nodes["B1"].broker.tree.offers
