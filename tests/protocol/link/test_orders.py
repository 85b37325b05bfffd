"""What a broker asks of its node about links: each order has its effect, for whoever is here."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.effects import CloseLink, Hold, OpenLink, Say, TreeChanged
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import BROKER, LEAVING, OUTSIDE_TREE, Goodbye, Ping, Pong
from sapwood.protocol.link.orders import DELAY_LOOK_SECONDS, DELAY_PING, Orders
from sapwood.protocol.messages import Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon

BEACON = Beacon("B1", 1000, 0.0, ("B1",))


def network() -> tuple[Network, RawPeer]:
    """A broker B1 with a scripted neighbour in the tree."""
    net = line_of(1)
    peer = net.connect(RawPeer(net), "B1")
    peer.say(hello_of("B2", role=BROKER, features=(RESTART, BEACONS), tree={"B1": "parent"}))
    net.advance(0.5)
    assert peer.welcome.in_tree
    return net, peer


def order(net: Network, effect: Any) -> None:
    """Let the node do what a broker asks, and write what follows."""
    node = net.nodes["B1"]
    Orders(node).by_kind[type(effect)](effect, net.now)
    net.is_spoilt = True  # the broker has not asked for this, and need not agree
    net.bring("B1", Tick())
    net.advance(0.1)


def test_a_beacon_goes_beside_the_stream() -> None:
    net, peer = network()
    before, sent = peer.count(Beacon), net.nodes["B1"].peers["B2"].channel.sent
    order(net, Say("B2", BEACON))
    assert peer.count(Beacon) > before
    assert net.nodes["B1"].peers["B2"].channel.sent == sent
    order(net, Say("ghost", BEACON))


@pytest.mark.parametrize("spoilt", [1e12, nan, -1e12])
def test_a_delay_is_measured_now_and_then_whatever_time_is_stored(spoilt: float) -> None:
    net, peer = network()
    node = net.nodes["B1"]
    line = node.peers["B2"].line
    assert line is not None
    line.ping_at = spoilt
    order(net, Say("B2", BEACON))
    order(net, Say("B2", BEACON))
    pings = [one for one in peer.heard if one == Ping(DELAY_PING)]
    assert len(pings) == 1
    assert node.broker.neighbours["B2"].delay < DELAY_LOOK_SECONDS


def test_the_answer_says_how_long_a_message_takes() -> None:
    net, peer = network()
    node = net.nodes["B1"]
    line = node.peers["B2"].line
    assert line is not None
    line.ping_at = net.now - 0.6
    peer.say(Pong(DELAY_PING))
    assert node.broker.neighbours["B2"].delay == pytest.approx(2 * 0.3)
    line.ping_at = 1e12
    peer.say(Pong(DELAY_PING))
    assert node.broker.neighbours["B2"].delay == pytest.approx(2 * 0.3)


def test_what_a_client_answers_says_nothing_of_links() -> None:
    net, _ = network()
    net.client("c", "B1").say(Pong(DELAY_PING))
    assert net.nodes["B1"].broker.neighbours["B2"].delay < DELAY_LOOK_SECONDS


def test_a_link_that_is_held_carries_nothing_until_it_is_not() -> None:
    net, _ = network()
    channel = net.nodes["B1"].peers["B2"].channel
    found = []
    for is_held in (True, False):
        order(net, Hold("B2", is_held=is_held))
        found.append(channel.is_held)
    assert found == [True, False]
    order(net, Hold("ghost", is_held=True))


def test_a_link_that_is_closed_says_why_and_no_client_is() -> None:
    net, peer = network()
    client = net.client("c", "B1")
    order(net, CloseLink("c.1", "a test"))
    assert not client.is_gone
    order(net, CloseLink("B2", "a test"))
    assert peer.goodbye == Goodbye(OUTSIDE_TREE, "a test")
    assert "B2" not in net.nodes["B1"].broker.neighbours


def test_a_broker_that_may_know_a_way_is_dialled_once() -> None:
    net, _ = network()
    node = net.nodes["B1"]
    order(net, OpenLink("B7", ("x", "y")))
    targets = [(one.address, one.peer, one.is_sought) for one in node.dialing.targets]
    assert set(targets) <= {("x", "B7", True), ("y", "B7", True)}
    assert list(node.dialing.problems()) == []


def test_peers_are_in_the_tree_as_the_broker_says() -> None:
    net, _ = network()
    node = net.nodes["B1"]
    node.broker.neighbours["B2"].in_tree = False
    order(net, TreeChanged())
    assert not node.peers["B2"].in_tree


@pytest.mark.parametrize(
    ("goodbye", "told"),
    [
        (Goodbye(LEAVING, lost=0), []),
        (Goodbye(LEAVING, lost=3), [3]),
        (Goodbye(LEAVING), [0]),
        (Goodbye(OUTSIDE_TREE), [0]),
    ],
)
def test_whoever_leaves_the_tree_is_forgotten_and_what_it_had_is_reported(
    goodbye: Goodbye, told: list[int]
) -> None:
    net, peer = network()
    client = net.client("c", "B1").subscribe("n >= 0")
    net.advance(0.5)
    peer.say(goodbye)
    net.advance(0.5)
    assert "B2" not in net.nodes["B1"].broker.neighbours
    assert [one.count for one in client.told if isinstance(one, Missed)] == told
