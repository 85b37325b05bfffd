"""What a link is when a connection is there, for all that both ends may know of it."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.joined import Network, hello_of, line_of
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import BROKER, CONTRADICTION, Welcome
from sapwood.protocol.link.placing import LinkPlace
from sapwood.protocol.messages import Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.node import Node
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.places import Place

NEW = (RESTART, BEACONS)
CANDIDATE = LinkPlace(in_tree=False)
HELD = LinkPlace(True, is_held=True)


def network() -> Network:
    """B1 is the root and the parent of B2."""
    net = line_of(2)
    net.advance(10.0)
    return net


def placed(node: Node, other: str, **changes: Any) -> LinkPlace:
    return node.placing.place(hello_of(other, role=BROKER, features=NEW, **changes))


def test_without_beacons_a_broker_gets_into_the_tree_if_it_is_in_it_by_no_other_way() -> None:
    node = network().nodes["B1"]
    hello = hello_of("B9", role=BROKER)
    assert node.placing.place(hello, is_alone=True) == LinkPlace(in_tree=True)
    assert node.placing.place(hello, is_alone=False) == LinkPlace(in_tree=False)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"B1": "parent"}, LinkPlace(True, place=Place.CHILD)),
        ({"B1": "child"}, HELD),
        ({"B1": ""}, HELD),
        ({"B1": "nonsense"}, HELD),
    ],
)
def test_a_link_that_both_know_is_in_the_tree_and_carries_where_it_was(
    tree: dict[str, str], expected: LinkPlace
) -> None:
    node = network().nodes["B1"]
    assert placed(node, "B2", tree=tree) == expected
    assert expected.is_carrying is (tree["B1"] == "parent")


def test_of_a_broker_that_has_forgotten_everything_the_other_is_believed() -> None:
    net = network()
    root, child = net.nodes["B1"], net.nodes["B2"]
    assert placed(root, "B2", is_open=True) == LinkPlace(True, place=Place.CHILD)
    assert placed(root, "B2", is_open=False) == CANDIDATE
    assert placed(child, "B1") == LinkPlace(True, place=Place.PARENT)


def test_a_broker_that_is_not_known_may_be_a_child_and_a_parent_only_of_one_without() -> None:
    net = network()
    root, child = net.nodes["B1"], net.nodes["B2"]
    assert placed(root, "B9") == CANDIDATE
    assert placed(root, "B9", tree={"B1": "parent"}) == LinkPlace(True, place=Place.CHILD)
    assert root.placing.may_be(Place.PARENT)
    assert not child.placing.may_be(Place.PARENT)
    assert placed(child, "B9", tree={"B2": "child"}) == CANDIDATE


def test_a_welcome_is_believed_as_far_as_this_side_sees_it_so() -> None:
    child = network().nodes["B2"]

    def welcomed(name: str = "B1", **changes: Any) -> LinkPlace:
        said = {"features": NEW, "place": "child", **changes}
        return child.placing.welcomed(Welcome(id=name, session=1, version=1, **said))

    assert welcomed() == LinkPlace(True, place=Place.PARENT)
    assert welcomed(place="parent") == HELD
    assert welcomed(in_tree=False) == CANDIDATE
    assert welcomed("B9") == CANDIDATE
    assert welcomed("B9", place="parent") == LinkPlace(True, place=Place.CHILD)
    assert welcomed("B9", features=(), in_tree=True) == LinkPlace(in_tree=True)


def test_who_is_in_place() -> None:
    net = network()
    node = net.nodes["B1"]
    assert (node.placing.has_link("B2"), node.placing.has_link("B9")) == (True, False)
    peer = node.peers["B2"]
    assert node.placing.is_in_place(peer)
    node.broker.tree.offers.clear()
    assert not node.placing.is_in_place(peer)
    peer.features = (RESTART,)
    assert node.placing.is_in_place(peer)


def test_a_stream_that_contradicts_itself_begins_anew_in_the_same_place() -> None:
    """The session is the same: tables stay, those behind are told, and nobody is a candidate."""
    net = network()
    near = net.client("n", "B1").subscribe("n >= 0")
    far = net.client("f", "B2").subscribe("n >= 0")
    net.advance(1.0)
    node = net.nodes["B1"]
    before, texts = node.peers["B2"], node.broker.subscriptions.texts("B2")
    node.checking.contradicts(before, "a test", net.now)
    net.bring("B1", Tick())
    net.advance(3.0)
    after = node.peers["B2"]
    assert after is not before
    assert (after.session, after.in_tree, after.line is not None) == (1, True, True)
    assert node.broker.tree.place_of("B2") is Place.CHILD
    assert net.nodes["B2"].broker.tree.place_of("B1") is Place.PARENT
    assert node.broker.subscriptions.texts("B2") == texts != {}
    for one in (near, far):
        assert [missed.count for missed in one.told if isinstance(missed, Missed)] == [0]
    assert net.nodes["B2"].counts[CONTRADICTION] == 0
    near.publish("n.1", 1)
    far.publish("f.1", 1)
    net.advance(0.5)
    assert (len(near.got), len(far.got)) == (2, 2)
