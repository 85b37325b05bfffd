"""Whether a broker takes part: what ``/readyz`` answers, and what a supervisor is told.

A broker that is up is not always one to send clients to: after a restart it waits until it knows
again where everything goes, while it ends it takes nothing any more, and one that was told to join
others is alone until it has. The reasons name nobody, since anybody may ask for them; who is
missing is in ``/status``.
"""

from __future__ import annotations

from sapwood.protocol.faults import FAULTS
from sapwood.protocol.node import Node


def why_not_ready(node: Node) -> str:
    """Why a broker does not take part, in a line; empty if it does."""
    try:
        return _obstacle(node)
    except FAULTS:
        return "the state of this broker is wrong, and about to be mended"


def _obstacle(node: Node) -> str:
    if node.ending.is_begun:
        return "stopping: it takes nothing any more"
    if node.broker.is_restoring:
        return "restoring: it was restarted and waits for the neighbours it had"
    if node.config.joins and not _is_linked(node):
        return "alone: it is linked to none of the brokers it is to join, nor to others"
    return ""


def _is_linked(node: Node) -> bool:
    """Whether it is part of a tree of several: over any link, whichever side has dialled."""
    return any(
        peer.line is not None and peer.in_tree for peer in node.peers.values() if not peer.is_client
    )
