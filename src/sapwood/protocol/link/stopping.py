"""An orderly end: nothing that neighbours and clients could keep is lost by it.

From the first moment on nothing is taken any more: what comes is neither looked at nor
acknowledged, so whoever sent it keeps it for the next session, or for another broker. What was
taken is sent out, as long as there is time. Then everybody gets a goodbye that says how much of
theirs could not be sent; that is not known if they were still to be told that something is missing.

A broker at the edge of the tree leaves it; one in the middle may be back soon, so its neighbours
keep its place. Neighbours that it had before its last restart, and that are not back, count: what
they keep for it is not known to anybody else, and whoever comes back through this broker must find
those behind it, or they must know that something may be missing. A broker with a journal comes back
to what it keeps, so it never leaves by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.protocol.due import is_due
from sapwood.protocol.link.handshake import LEAVING, SHUTDOWN, Goodbye
from sapwood.protocol.link.keepalive import LINGER_SECONDS
from sapwood.protocol.ports import Close

if TYPE_CHECKING:
    from sapwood.protocol.link.handing import HandingOver
    from sapwood.protocol.node import Node


class Stopping:
    """The last seconds of a node."""

    def __init__(self, node: Node, now: float, handing: HandingOver | None = None) -> None:
        self._node = node
        self._handing = handing
        """How clients were handed over before this, if they were."""
        self._until = now + node.config.leave_seconds
        self._has_said_goodbye = False
        self._linger_until = self._until
        """Until when the others may end their lines, after the goodbye."""
        self._is_over = False
        for peer in list(node.peers.values()):
            if self.has_moved(peer.name):
                node.membership.hand_off(peer, now)
            else:
                node.acknowledge(peer, now)

    def has_moved(self, name: str) -> bool:
        """Whether a client's stream goes on at a neighbour."""
        handing = self._handing
        return handing is not None and handing.has_handed_over and name in handing.clients

    def _has_handed_over(self) -> bool:
        """Whether all clients go on at a neighbour, so that nobody needs this broker any more."""
        return self._handing is not None and self._handing.has_handed_over

    @property
    def next_at(self) -> float | None:
        """When to stop waiting."""
        return None if self._is_over else min(self._until, self._linger_until)

    def look(self, now: float) -> bool:
        """See how far it is; True when it is over, once."""
        node = self._node
        if self._is_over:
            return False
        is_late = is_due(self._until, now, node.config.leave_seconds)
        if not self._has_said_goodbye and (is_late or self._is_drained()):
            self._has_said_goodbye = True
            self._linger_until = now + LINGER_SECONDS
            self._say_goodbye(now)
        is_late = is_late or (
            self._has_said_goodbye and is_due(self._linger_until, now, LINGER_SECONDS)
        )
        if self._has_said_goodbye and (is_late or not node.lines):
            for line in list(node.lines.values()):
                node.do(Close(line.number, "the broker is shutting down"))
            self._is_over = True
        return self._is_over

    def _is_drained(self) -> bool:
        """Whether those who are connected have all that is theirs, and what was taken is kept."""
        kept = self._node.durability
        if kept is not None and kept.journal.is_dirty:
            kept.journal.sync()
            return False
        return not any(
            peer.channel.connected and not peer.channel.is_idle
            for peer in self._node.peers.values()
        )

    def _say_goodbye(self, now: float) -> None:
        node = self._node
        peers = list(node.peers.values())
        in_tree = {peer.name for peer in peers if not peer.is_client and peer.in_tree}
        absent = set(node.broker.restoration.expected()) - in_tree
        is_edge = len(in_tree | absent) <= 1 and node.durability is None
        is_leaving = self._has_handed_over() or is_edge
        for peer in peers:
            lost = peer.channel.notifications_waiting
            if node.broker.owes_report(peer.name) or (is_leaving and absent):
                lost = -1
            if peer.is_client:
                reason = f"broker {node.config.id} is shutting down"
                node.membership.remove(peer, Goodbye(SHUTDOWN, reason, lost=lost), now)
            elif peer.line is not None:
                code = LEAVING if is_leaving else SHUTDOWN
                goodbye = Goodbye(code, f"broker {node.config.id} shuts down", lost=lost)
                node.close(peer.line, goodbye, now)
        for line in list(node.lines.values()):
            node.close(line, Goodbye(SHUTDOWN, f"broker {node.config.id} shuts down"), now)
