"""What is done about the goodbyes of others: who is forgotten, and what is told of it."""

from __future__ import annotations

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.link.handshake import (
    BROKER,
    CONTRADICTION,
    LEAVING,
    OUTSIDE_TREE,
    SHUTDOWN,
    Goodbye,
)
from sapwood.protocol.messages import Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.stabilize.beacon import BEACONS


def network() -> tuple[Network, RawPeer]:
    """A broker B1 with a scripted neighbour in the tree."""
    net = line_of(1)
    peer = net.connect(RawPeer(net), "B1")
    peer.say(hello_of("B2", role=BROKER, features=(RESTART, BEACONS), tree={"B1": "parent"}))
    net.advance(0.5)
    assert peer.welcome.in_tree
    return net, peer


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


@pytest.mark.parametrize(
    ("code", "is_over", "is_orderly"),
    [(SHUTDOWN, False, True), (CONTRADICTION, True, False), ("unheard-of", False, False)],
)
def test_whoever_may_be_back_is_away(code: str, is_over: bool, is_orderly: bool) -> None:
    net, peer = network()
    peer.say(Goodbye(code, lost=2))
    here = net.nodes["B1"].peers["B2"]
    assert (here.line, here.is_over, here.ended_orderly) == (None, is_over, is_orderly)
    assert here.lost_there == (2 if is_orderly else -1)
