"""What an operator reads in the log of a broker: who came, went and was refused, and what was lost.

A note is an effect like any other, so the same node tells the same story in a simulation and live;
how it is written down, and how much of it, is the driver's affair (``sapwood.runtime.logs``).
Clients come and go often: what is normal about them is for those who look closely (*debug*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import past
from sapwood.protocol.effects import Record
from sapwood.protocol.link.handshake import Goodbye, Hello
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.ports import Level, Note

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

_LEVELS: Final[dict[str, Level]] = {"missed": "warning", "reconfigured": "info", "fault": "error"}
"""Rows of a trace that an operator wants to know of, too."""


def note(node: Node, level: Level, event: str, **fields: object) -> None:
    """Let the driver write something into the log, if there is one."""
    if node.config.noting:
        node.do(Note(level, event, fields))


def came(node: Node, peer: Peer, address: str) -> None:
    """A neighbour or client is here, with a new stream."""
    level: Level = "debug" if peer.is_client else "info"
    fields = {} if peer.is_client else {"session": peer.session, "in_tree": peer.in_tree}
    note(node, level, f"{_kind(peer)} connected", peer=peer.name, address=address, **fields)


def came_back(node: Node, peer: Peer, address: str, now: float) -> None:
    """A neighbour or client goes on with its stream."""
    level: Level = "debug" if peer.is_client else "info"
    seconds = 0.0 if peer.away_since is None else round(now - past(peer.away_since, now), 3)
    note(
        node, level, f"{_kind(peer)} is back", peer=peer.name, address=address, away_seconds=seconds
    )


def lost(node: Node, peer: Peer, reason: str) -> None:
    """The connection to a neighbour or client is gone; its stream is kept."""
    level: Level = "debug" if peer.is_client else "warning"
    note(node, level, f"{_kind(peer)} lost", peer=peer.name, reason=reason)


def gone(node: Node, peer: Peer, goodbye: Goodbye, abandoned: int) -> None:
    """A neighbour or client is gone for good, and what was kept for it with it."""
    level: Level = "warning" if abandoned else "debug" if peer.is_client else "info"
    reason = goodbye.reason or goodbye.code
    note(node, level, f"{_kind(peer)} gone", peer=peer.name, reason=reason, abandoned=abandoned)


def refused(node: Node, address: str, hello: Hello, goodbye: Goodbye) -> None:
    """Somebody was not let in."""
    note(
        node,
        "warning",
        "refused",
        peer=hello.id,
        role=hello.role,
        address=address,
        code=goodbye.code,
        reason=goodbye.reason,
    )


def tree_changed(node: Node) -> None:
    """Other links are part of the tree, or another neighbour is the parent."""
    neighbours = ", ".join(sorted(node.broker.neighbours.tree()))
    tree = node.broker.tree
    note(node, "info", "tree", root=tree.root, parent=tree.parent, neighbours=neighbours)


def recorded(node: Node, record: Record) -> None:
    """The broker asks for a row of the trace: some of them are for the log, too."""
    level = _LEVELS.get(record.kind)
    if level is not None:
        note(node, level, record.kind, **record.fields)


def _kind(peer: Peer) -> str:
    return "client" if peer.is_client else "link"
