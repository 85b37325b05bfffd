"""The streams of clients whose broker has left go on here.

Each of them becomes a client without connection, with the counts, the secret and the frames it had.
What was kept back for the broker that left follows, for those who want it. When the client comes,
it goes on as after any lost connection; it may still take its stream to be with the broker that
left, and shows that by the same secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.protocol.effects import Adopted, Adoptee
from sapwood.protocol.link.channel import StreamCounts
from sapwood.protocol.link.handing import joined
from sapwood.protocol.link.handshake import (
    ADOPTED,
    BROKER,
    COUNT_MAX,
    MOVED,
    Goodbye,
    Hello,
    Resume,
)
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.neighbours import MOVES
from sapwood.protocol.ports import ClientOrder

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def adopt(node: Node, effect: Adopted, now: float) -> None:
    """Go on with the clients of a neighbour, which is gone."""
    for adoptee in effect.clients:
        _take_in(node, adoptee, now)
    names = {adoptee.client: None for adoptee in effect.clients}
    node.counts["adopted"] += len(names)
    leaver = node.peers.get(effect.neighbour)
    if leaver is None:
        return
    node.broker.leaving.note_left(leaver.name, leaver.session, now)
    kept_back = [(run.data, run.frames) for run in leaver.channel.spool.lift()]
    node.carry_out(node.broker.leaving.replay(leaver.name, kept_back, names, now), now)
    node.membership.remove(leaver, _goodbye(node), now, is_told=True)


def _take_in(node: Node, adoptee: Adoptee, now: float) -> None:
    stream = adoptee.stream
    said = Introduction(
        name=adoptee.client,
        session=stream.session,
        is_client=True,
        secret=stream.secret,
        features=stream.features,
        slow_policy=stream.slow_policy or node.config.client.slow_policy,
        streams=stream.streams,
    )
    peer = node.membership.new_peer(said)
    counts = StreamCounts(
        stream.received, stream.acknowledged, stream.sent, stream.missed, stream.given_up
    )
    peer.channel.adopt(counts, joined(adoptee.runs))
    peer.given_up_seen = peer.channel.given_up
    peer.homes = stream.homes
    peer.order = stream.order
    again = stream.claimed_again
    peer.claimed_again = None if again is None else set(again)
    peer.away_since = peer.heard_at = now - max(0.0, min(stream.away_seconds, COUNT_MAX))
    node.peers[peer.name] = peer
    node.client_count += 1
    if node.config.recording:
        node.do(ClientOrder(peer.name, peer.order))


def is_adopted(peer: Peer, resume: Resume) -> bool:
    """Whether a client means the stream that goes on here, though it was with another broker."""
    return (resume.broker, resume.session) in peer.homes


def returned(node: Node, hello: Hello) -> Goodbye | None:
    """What to say to a broker that has left, and may not have heard that its clients are here."""
    is_left = hello.role == BROKER and node.broker.leaving.has_left(hello.id, hello.session)
    return _goodbye(node) if is_left else None


def _goodbye(node: Node) -> Goodbye:
    return Goodbye(ADOPTED, f"the clients are at {node.config.id} now", lost=0)


def awaited(node: Node, hello: Hello) -> Goodbye | None:
    """What to say to a client that is about to be handed over to this broker: wait."""
    leaving = node.broker.leaving.adopting
    if MOVES not in hello.features or not any(
        one.broker in leaving and one.received != COUNT_MAX for one in hello.resume
    ):
        return None
    reason = "the stream is being handed over to this broker; try again"
    return Goodbye(MOVED, reason, node.config.id, addresses=node.config.addresses)
