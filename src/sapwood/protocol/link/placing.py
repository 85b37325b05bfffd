"""Where in the tree the link to a broker is when a connection is there, from what both ends know.

Both say in the handshake which links of the tree they have, and who is the parent of whom. This
holds for a stream that goes on, for one that is begun anew after a contradiction, and after a
restart. Who becomes part of the tree later is decided by beacons (`sapwood.protocol.stabilize`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.protocol.link.handshake import CLIENT, Hello, Welcome, common_features
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.places import Place

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


class LinkPlace(NamedTuple):
    """What a link to a broker is, when a connection is there."""

    in_tree: bool
    is_held: bool = False
    """Whether it is not to carry anything yet, though it is part of the tree."""
    place: Place = Place.NONE
    """Where the other broker is, if that is certain."""

    @property
    def is_carrying(self) -> bool:
        """Whether it carries notifications at once."""
        return self.in_tree and not self.is_held


class Placing:
    """Finds the places of a node's links."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def place(self, hello: Hello, *, is_alone: bool = True) -> LinkPlace:
        """What the link to a broker that says hello is.

        It is part of the tree if both know it as such, and carries at once if it is where it was:
        one end is the other's parent, and knows nothing else since. If one of them has forgotten
        everything, the other is believed: a child has no other way to the root, and whoever has had
        no parent yet has no other one. All other links are candidates, and the beacons decide.
        Without beacons a broker that is in the tree by no other way gets into it.
        """
        node = self._node
        own = node.config.features(is_client=hello.role == CLIENT)
        if BEACONS not in common_features(hello.features, own):
            return LinkPlace(is_alone)
        ours = node.broker.tree.place_of(hello.id)
        theirs = _place(hello.tree.get(node.config.id, "")).seen_from_there
        is_known_here = self.has_link(hello.id)
        is_known_there = node.config.id in hello.tree
        if is_known_here and is_known_there:
            is_same = ours is theirs is not Place.NONE
            return LinkPlace(True, not is_same, ours if is_same else Place.NONE)
        if is_known_here and (ours is Place.PARENT or (ours is Place.CHILD and hello.is_open)):
            return LinkPlace(True, place=ours)
        if is_known_there and self.may_be(theirs):
            return LinkPlace(True, place=theirs)
        return LinkPlace(in_tree=False)

    def place_again(self, hello: Hello, now: float) -> LinkPlace:
        """The same for a stream that goes on.

        On the ring of a change one end may have completed it and the other not: who is whose
        parent differs until what is under way has come, so the link has to carry.
        """
        place = self.place(hello)
        is_known = self.has_link(hello.id) and self._node.config.id in hello.tree
        if place.is_held and is_known and self._node.broker.turning.trusts(hello.id, now):
            return LinkPlace(in_tree=True)
        return place

    def may_be(self, place: Place) -> bool:
        """Whether a broker may be what it says it is, though nothing is known of it here."""
        return place is Place.CHILD or (place is Place.PARENT and self._node.broker.tree.is_open)

    def welcomed(self, welcome: Welcome) -> LinkPlace:
        """What the link to a broker is that says welcome, if this side still sees it so."""
        if BEACONS not in welcome.features:
            return LinkPlace(welcome.in_tree)
        place = _place(welcome.place).seen_from_there
        is_known = self.has_link(welcome.id)
        if not welcome.in_tree or not (is_known or self.may_be(place)):
            return LinkPlace(in_tree=False)
        if is_known and self._node.broker.tree.place_of(welcome.id) is not place:
            return LinkPlace(True, is_held=True)
        return LinkPlace(True, welcome.is_held, place)

    def has_link(self, name: str) -> bool:
        """Whether a broker is known as a neighbour in the tree, or expected as one."""
        broker = self._node.broker
        return broker.neighbours.is_in_tree(name) or name in broker.restoration.expected()

    def is_in_place(self, peer: Peer) -> bool:
        """Whether a neighbour is where it was, as far as this side knows."""
        if BEACONS not in peer.features:
            return True
        return bool(self._node.broker.tree.place_of(peer.name))


_PLACES: Final = {place.value: place for place in Place}


def _place(text: str) -> Place:
    """What another broker says; nothing if it is no place."""
    return _PLACES.get(text, Place.NONE)


def known_place(peer: Peer) -> LinkPlace:
    """What a link is that a broker may have forgotten: with beacons, those decide about it."""
    return LinkPlace(peer.in_tree, is_held=peer.in_tree and BEACONS in peer.features)
