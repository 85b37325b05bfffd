"""Credit: how far ahead everybody may send, and who has to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.protocol.link.peer import Peer

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

WINDOW_BYTES_MIN: Final = 4096
"""Bytes that everybody may send ahead, however many there are."""


class Credit:
    """What the peers of a node may send."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def window(self, *, is_client: bool) -> int:
        """How many bytes someone may send ahead.

        All together no more than half of a link's buffer: when a neighbour does not keep up, those
        who send to it are held back at half, and what is under way then must still fit. The more
        there are, the less each may send ahead.
        """
        config = self._node.config
        share = config.link.buffer_bytes // 2 // (len(self._node.peers) + 1)
        limit = config.client.window_bytes if is_client else config.link.window_bytes
        return limit if limit <= share else max(share, min(limit, WINDOW_BYTES_MIN))

    def initial(self, *, is_client: bool) -> int:
        """How many bytes of notifications may come over a new line.

        None before the tables are restored: until then nobody knows where they have to go. The
        other side keeps them.
        """
        return 0 if self._node.broker.is_restoring else self.window(is_client=is_client)

    def is_withheld(self, peer: Peer) -> bool:
        """Whether a peer is to get no credit for now."""
        broker = self._node.broker
        return bool(peer.holders) or broker.is_restoring or broker.turning.holds(peer.name)

    def withhold(self, peer: Peer, now: float) -> None:
        """See again whether a peer is to get credit."""
        is_withheld = self.is_withheld(peer)
        if peer.channel.withheld is not is_withheld:
            peer.channel.withheld = is_withheld
            self._node.acknowledge(peer, now)
