"""Whether what is kept among peers and lines is a peer or a line at all, and under its own name.

What is wrong with a stream is found by comparing (``consistency``), and what follows from others is
derived again. Both need things that can be compared, and the broker has to be told of the right
ones: under a wrong name somebody else would seem to have gone, and whoever seems to be of the other
kind would be told what only that kind understands. So before anything is compared or told, all of
it is sorted out. The key under which a peer is kept and the broker say who it is; what else is of
no use is put back to what it was when the peer came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sapwood.protocol.fitting import misfits
from sapwood.protocol.link.agreeing import client_by_features, introduction_of, is_same_kind
from sapwood.protocol.link.handing import HandingOver
from sapwood.protocol.link.handshake import COUNT_MAX
from sapwood.protocol.link.line import LINE_KINDS, Line
from sapwood.protocol.link.peer import PEER_KINDS, STREAM_FIELDS, Introduction, Peer
from sapwood.protocol.link.states import LineState
from sapwood.protocol.link.stopping import Stopping

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

_KINDS: Final = (False, True)

NOBODYS: Final = -1
"""A connection that there is not."""


def has_strangers(node: Node) -> bool:
    """Whether somebody is kept under another name, or as somebody else than the broker knows.

    Or with other limits than are set: clients would be sent away for good by them. Quick: it is
    asked with every tick, before the broker or anybody else is told anything.
    """
    own = {is_client: node.membership.channel_limits(is_client=is_client) for is_client in _KINDS}
    return any(
        peer.name != name
        or not is_same_kind(node, name, peer)
        or not _can_be_agreed(node, peer)
        or peer.channel.limits != own[peer.is_client]
        for name, peer in node.peers.items()
    )


def drop_strays(node: Node) -> list[Line]:
    """Forget what is kept among peers and lines and is neither; lines that nobody has any more."""
    strays: list[tuple[dict[Any, Any], type, type]] = [
        (node.peers, str, Peer),
        (node.lines, int, Line),
    ]
    for kept, named, kind in strays:
        for key in [
            key for key, one in kept.items() if type(key) is not named or type(one) is not kind
        ]:
            del kept[key]
    if not _are_counts(node.counts):
        node.counts = Counter()
    if node.stopping is not None and type(node.stopping) is not Stopping:
        node.stopping = None
    if node.handing is not None and type(node.handing) is not HandingOver:
        node.handing = None
    return [*_drop_strangers(node)]


def _are_counts(counts: object) -> bool:
    """Whether these can be told to others."""
    if type(counts) is not Counter or {*map(type, counts.values())} - {int}:
        return False
    return all(0 <= count <= COUNT_MAX for count in counts.values())


def _drop_strangers(node: Node) -> Iterator[Line]:
    """Forget a peer under a name that is not its own, if that is not how the broker knows it."""
    peers = node.peers
    for name, peer in list(peers.items()):
        own = peer.name if type(peer.name) is str else ""
        if own == name or (peers.get(own) is not peer and _knows(node, name)):
            continue
        del peers[name]
        if own not in peers and _knows(node, own):
            peers[own] = peer
        elif peers.get(own) is not peer and type(peer.line) is Line:
            yield peer.line


def _knows(node: Node, name: str) -> bool:
    return name in node.broker.neighbours or name in node.broker.clients


def refit_peer(node: Node, name: str, peer: Peer) -> tuple[bool, bool]:
    """Let a peer be what the broker knows of it where it makes no sense.

    Whether anything did not, and whether its stream has to begin anew because of that.
    """
    wrong = {*misfits(peer, PEER_KINDS)}
    if name != peer.name:
        wrong.add("name")
    if not is_same_kind(node, name, peer):
        wrong.add("is_client")
    if not _can_be_agreed(node, peer):
        wrong.add("features")
    if wrong:
        fresh = _as_known(node, name, peer)
        for field in wrong:
            setattr(peer, field, getattr(fresh, field))
    is_over = bool(wrong & STREAM_FIELDS)
    peer.is_over = peer.is_over or is_over
    limits = node.membership.channel_limits(is_client=peer.is_client)
    if peer.channel.limits != limits:
        peer.channel.limits = limits
        wrong.add("limits")
    return bool(wrong), is_over


def _as_known(node: Node, name: str, peer: Peer) -> Peer:
    """A peer as it would be if it came now; nobody can show the secret that it is given."""
    neighbour = node.broker.neighbours.get(name)
    if neighbour is not None:
        said = introduction_of(name, neighbour)
    else:
        is_client = name in node.broker.clients or _seems_client(peer)
        said = Introduction(name=name, session=0, is_client=is_client, secret=node.draw_secret())
    return node.membership.new_peer(said)


def _can_be_agreed(node: Node, peer: Peer) -> bool:
    """Whether both sides of a link may have agreed on what a peer can do: this one can do it, too.

    Otherwise one side waits for ever for what the other does not send, such as beacons.
    """
    features: object = peer.features
    own = node.config.features(is_client=peer.is_client is True)
    return type(features) is tuple and all(one in own for one in features)


def _seems_client(peer: Peer) -> bool:
    """Whether a peer of whom the broker knows nothing is taken for a client."""
    by_features = client_by_features(peer)
    return peer.is_client is True if by_features is None else by_features


def number_of(node: Node, line: Line) -> int:
    """The connection of a line: under which it is kept, whatever it says itself."""
    known = node.lines.get(line.number)
    if known is line or known is None:
        return line.number
    return next((number for number, one in node.lines.items() if one is line), NOBODYS)


def refit_line(number: int, line: Line, now: float) -> bool:
    """Let a line be one that can be ended, if it makes no sense; whether it does not."""
    wrong = misfits(line, LINE_KINDS)
    if line.number != number:
        wrong.append("number")
    if line.peer is not None and type(line.peer) is not Peer:
        wrong.append("peer")
    fresh = Line(number, LineState.OPEN, now)
    for field in wrong:
        setattr(line, field, getattr(fresh, field))
    return bool(wrong)
