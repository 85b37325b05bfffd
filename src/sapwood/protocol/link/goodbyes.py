"""What the other side means by the goodbye with which it ends a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.protocol.events import NotificationsMissed
from sapwood.protocol.link.handshake import (
    ADOPTED,
    CONTRADICTION,
    LEAVING,
    OUTSIDE_TREE,
    PROTOCOL,
    SHUTDOWN,
    Goodbye,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.states import LineState
from sapwood.protocol.ports import Abort

if TYPE_CHECKING:
    from sapwood.protocol.node import Node


def told_goodbye(node: Node, line: Line, goodbye: Goodbye, before: LineState, now: float) -> None:
    """The other side ends the connection, and says why; `before`: the state the line had."""
    node.changed = True
    line.ended_at = now
    node.do(Abort(line.number, goodbye.reason or goodbye.code))
    node.admission.forget(line)
    peer = line.peer
    if before is LineState.CALLING:
        node.dialing.refused(line, goodbye, now)
        if goodbye.code == ADOPTED and node.handing is not None:
            node.handing.adopted(now)
    elif peer is None:
        return
    elif goodbye.code in (LEAVING, OUTSIDE_TREE, ADOPTED):
        _forget(node, peer, goodbye, now)
    else:
        if goodbye.code == SHUTDOWN:
            peer.ended_orderly, peer.lost_there = True, goodbye.lost
        elif goodbye.code == CONTRADICTION:
            node.membership.end_stream(peer, now)
        elif goodbye.code == PROTOCOL:
            node.checking.broke(peer, goodbye, now, was_told=True)
        node.membership.lost(line, now, goodbye.reason or goodbye.code)
    node.dialing.tick(now)


def _forget(node: Node, peer: Peer, goodbye: Goodbye, now: float) -> None:
    """A link or client ends for good; what the other side still had may be missing here."""
    is_lossy = goodbye.code == OUTSIDE_TREE or goodbye.lost != 0
    if is_lossy and not peer.is_client and peer.in_tree:
        node.bring(NotificationsMissed(peer.name, max(0, goodbye.lost)), now)
    node.membership.remove(peer, Goodbye(goodbye.code), now)
