"""What is known of a link here and what the broker knows of the neighbour at its other end.

Events tell the broker of connections, and its effects say which links are part of the tree and
which are to carry nothing. After a fault in memory the two may know different things. Then the
broker is believed about the tree, and the lines are about who is here. A link of the tree stays
one, whatever has become of its stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sapwood.protocol.events import LinkDown, NeighbourAway, NeighbourBack
from sapwood.protocol.link.handshake import OUTSIDE_TREE, Goodbye
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.neighbours import Neighbour
from sapwood.protocol.stabilize.beacon import BEACONS

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def is_candidate(peer: Peer) -> bool:
    """Whether a link is none of the tree, and beacons may make it one: it has no stream to keep."""
    return not peer.is_client and BEACONS in peer.features and not peer.in_tree


def link_problems(node: Node, name: str, peer: Peer) -> Iterator[str]:
    """What is known of a peer here, and not the same to the broker."""
    neighbour, is_away = node.broker.neighbours.get(name), peer.line is None
    if not is_away and peer.channel.is_held is not _is_held(neighbour):
        yield f"{name} is {'' if peer.channel.is_held else 'not '}held, to the broker it is"
    if neighbour is None:
        return
    if neighbour.in_tree != peer.in_tree:
        yield f"{name} is {'' if peer.in_tree else 'not '}in the tree, to the broker it is"
    if neighbour.features != peer.features:
        yield f"{name} can {peer.features}, to the broker {neighbour.features}"
    if neighbour.is_connected is is_away or (is_away and not neighbour.is_away):
        yield f"{name} is {'away' if is_away else 'here'}, and the broker does not know"
    if is_away and is_candidate(peer):
        yield f"{name} is away, and is not in the tree"


def agree(node: Node, name: str, peer: Peer, now: float) -> None:
    """Let a link be what the broker takes it for, and the broker know whether it has a line."""
    neighbour = node.broker.neighbours.get(name)
    if neighbour is not None:
        peer.in_tree, peer.features = neighbour.in_tree, neighbour.features
        if peer.line is not None and not neighbour.is_connected:
            node.bring(NeighbourBack(name, in_place=BEACONS not in peer.features), now)
        elif peer.line is None and (neighbour.is_connected or not neighbour.is_away):
            node.bring(NeighbourAway(name), now)
        if peer.line is None and is_candidate(peer):
            node.membership.remove(peer, Goodbye(OUTSIDE_TREE), now)
            return
    is_held = _is_held(neighbour)
    if peer.channel.is_held is not is_held:
        peer.channel.is_held = is_held
        node.touch(peer)


def revive(node: Node, name: str, neighbour: Neighbour, now: float) -> None:
    """The broker knows a neighbour of whom nothing is left here.

    A link of the tree stays one: the neighbour is away, and its next stream begins with a report
    that anything may be missing.
    """
    if not neighbour.in_tree:
        node.bring(LinkDown(name), now)
        return
    said = Introduction(
        name=name,
        session=neighbour.session,
        addresses=neighbour.addresses,
        features=neighbour.features,
        refresh_seconds=neighbour.refresh_seconds,
        routing=neighbour.receives,
    )
    peer = node.peers[name] = node.membership.new_peer(said)
    peer.is_over = True
    peer.away_since = peer.heard_at = now
    node.bring(NeighbourAway(name), now)


def _is_held(neighbour: Neighbour | None) -> bool:
    """Whether the stream of a peer is to carry nothing; that of a client never is."""
    return neighbour is not None and neighbour.is_held
