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
from sapwood.protocol.link.handshake import (
    CHECKS,
    CONTRADICTION,
    OUTSIDE_TREE,
    RENEGOTIATE,
    Goodbye,
)
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.neighbours import EDGES, MOVES, REFRESH, RESTART, Neighbour
from sapwood.protocol.stabilize.beacon import BEACONS

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def is_candidate(node: Node, peer: Peer) -> bool:
    """Whether a link is none of the tree, and beacons may make it one: it has no stream to keep.

    One that a change under way may bring into the tree has.
    """
    if peer.is_client or BEACONS not in peer.features or peer.in_tree:
        return False
    return not node.broker.turning.needs(peer.name)


def is_same_kind(node: Node, name: str, peer: Peer) -> bool:
    """Whether the broker does not take a peer for a neighbour if it is a client, or vice versa.

    If it knows neither, what the peer can do tells them apart: nobody would ask a client that is
    taken for a broker, nor hear it, and it would never notice.
    """
    is_client: object = peer.is_client
    clients, neighbours = node.broker.clients, node.broker.neighbours
    if type(is_client) is not bool or name in (neighbours if is_client else clients):
        return False
    return name in clients or name in neighbours or client_by_features(peer) in (None, is_client)


def client_by_features(peer: Peer) -> bool | None:
    """Whether a peer can do what only clients can, or only brokers; None if that says nothing."""
    features: object = peer.features
    if type(features) is not tuple or not features:
        return None
    if any(one in features for one in (RESTART, BEACONS, EDGES)):
        return False
    return True if all(one in (CHECKS, REFRESH, MOVES) for one in features) else None


def link_problems(node: Node, name: str, peer: Peer) -> Iterator[str]:
    """What is known of a peer here, and not the same to the broker."""
    neighbour, is_away = node.broker.neighbours.get(name), peer.line is None
    if not is_away and peer.channel.is_held is not _is_held(neighbour):
        yield f"{name} is {'' if peer.channel.is_held else 'not '}held, to the broker it is"
    if peer.channel.is_barred and name not in node.broker.leaving.adopting:
        yield f"the stream to {name} has stopped, and nobody wants that"
    if neighbour is None:
        return
    if neighbour.in_tree != peer.in_tree:
        yield f"{name} is {'' if peer.in_tree else 'not '}in the tree, to the broker it is"
    if neighbour.features != peer.features:
        yield f"{name} can {peer.features}, to the broker {neighbour.features}"
    if neighbour.is_connected is is_away or (is_away and not neighbour.is_away):
        yield f"{name} is {'away' if is_away else 'here'}, and the broker does not know"
    if is_away and is_candidate(node, peer):
        yield f"{name} is away, and is not in the tree"


def agree(node: Node, name: str, peer: Peer, now: float) -> None:
    """Let a link be what the broker takes it for, and the broker know whether it has a line."""
    neighbour = node.broker.neighbours.get(name)
    if neighbour is not None and neighbour.features != peer.features:
        _negotiate_anew(node, peer, now)
        return
    if neighbour is not None:
        peer.in_tree = neighbour.in_tree
        if peer.line is not None and not neighbour.is_connected:
            node.bring(NeighbourBack(name, in_place=BEACONS not in peer.features), now)
        elif peer.line is None and (neighbour.is_connected or not neighbour.is_away):
            node.bring(NeighbourAway(name), now)
        if peer.line is None and is_candidate(node, peer):
            node.membership.remove(peer, Goodbye(OUTSIDE_TREE), now)
            return
    let_go(node, name, peer)
    is_held = _is_held(neighbour)
    if peer.channel.is_held is not is_held:
        peer.channel.is_held = is_held
        node.touch(peer)


def let_go(node: Node, name: str, peer: Peer) -> None:
    """Let a stream go on that has stopped, if nobody wants that."""
    if peer.channel.is_barred and name not in node.broker.leaving.adopting:
        peer.channel.lift()
        node.touch(peer)


def _negotiate_anew(node: Node, peer: Peer, now: float) -> None:
    """What was agreed in the handshake is known in two ways, so nobody knows what it was.

    The broker takes over what is known here, and the next handshake says what is right.
    """
    node.counts[CONTRADICTION] += 1
    node.membership.call_roll(now)
    if peer.line is not None:
        node.close(peer.line, Goodbye(RENEGOTIATE, "what both sides can do is not known"), now)


def introduction_of(name: str, neighbour: Neighbour) -> Introduction:
    """What a neighbour has said about itself, as far as the broker knows."""
    return Introduction(
        name=name,
        session=neighbour.session,
        in_tree=neighbour.in_tree,
        addresses=neighbour.addresses,
        features=neighbour.features,
        refresh_seconds=neighbour.refresh_seconds,
        routing=neighbour.receives,
    )


def revive(node: Node, name: str, neighbour: Neighbour, now: float) -> None:
    """The broker knows a neighbour of whom nothing is left here.

    A link of the tree stays one: the neighbour is away, and its next stream begins with a report
    that anything may be missing. One that nobody here has ever heard of is a ghost; but that may
    have been forgotten, too.
    """
    if not neighbour.in_tree or not node.membership.has_had(name):
        if neighbour.in_tree:
            node.checking.suspect(now)
        node.bring(LinkDown(name), now)
        return
    peer = node.peers[name] = node.membership.new_peer(introduction_of(name, neighbour))
    peer.is_over = True
    peer.away_since = peer.heard_at = now
    node.bring(NeighbourAway(name), now)


def _is_held(neighbour: Neighbour | None) -> bool:
    """Whether the stream of a peer is to carry nothing; that of a client never is."""
    return neighbour is not None and neighbour.is_held
