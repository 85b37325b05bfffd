"""Settings that change while a node is running: accounts above all.

Whoever is here by an account that is gone, or whose id belongs to another one now, is sent away at
once; so is a client that subscribes to more than it may from now on, because nothing else would
tell it. All others go on and notice nothing: a secret that was replaced is asked for when they
connect again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sapwood.protocol.link.handshake import BAD_CREDENTIALS, Goodbye
from sapwood.protocol.node_config import RELOADABLE
from sapwood.protocol.ports import Reload

if TYPE_CHECKING:
    from sapwood.protocol.link.peer import Peer
    from sapwood.protocol.node import Node


def reload(node: Node, event: Reload, now: float) -> None:
    """Go on with other settings, as far as they can change; send away whom they do not allow."""
    changed = {name: getattr(event.config, name) for name in RELOADABLE}
    node.config = msgspec.structs.replace(node.config, **changed)
    node.broker.reload(node.config.broker())
    for peer in list(node.peers.values()):
        peer.channel.limit(node.membership.channel_limits(is_client=peer.is_client))
        reason = _objection(node, peer)
        if reason:
            node.counts["refused"] += 1
            node.membership.remove(peer, Goodbye(BAD_CREDENTIALS, reason), now)


def _objection(node: Node, peer: Peer) -> str:
    """Why somebody may not be here any more; empty if they may."""
    accounts = node.config.accounts
    if accounts is None:
        return ""
    if peer.is_client:
        return node.broker.overreach(peer.name)
    is_dialled = any(target.peer == peer.name for target in node.dialing.targets)
    if is_dialled or accounts.owner("broker", peer.name) is not None:
        return ""
    return f"no account owns the broker id {peer.name!r} any more"
