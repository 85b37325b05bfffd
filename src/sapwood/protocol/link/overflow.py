"""What happens to a destination that does not keep up: notifications are given up, or it goes.

The oldest notifications for it are given up, counted and reported. A client may have asked to be
sent away instead. A neighbour that holds others back and makes no progress loses enough of them
that the others can go on (``flow``). And whoever sends here may say that it has done the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.protocol.events import NotificationsMissed
from sapwood.protocol.link.flow import DISCONNECT
from sapwood.protocol.link.handshake import (
    BUSY,
    COUNT_MAX,
    PROTOCOL,
    SLOW_CONSUMER,
    GivenUp,
    Goodbye,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.ports import Unsent
from sapwood.wire.frames import BODY_BYTES_MAX

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

EXCESS_MAX: Final = BODY_BYTES_MAX + 2**20
"""Bytes beyond its credit after which a sender is sent away: one message may always be whole."""


PARTIAL_BYTES_MAX: Final = 128 * 2**20
"""What parts of frames of all lines may take together; looked at with every tick."""

PARTIAL: Final = "too many frames are under way to this broker; try again"


class Overflow:
    """The destinations of a node that do not keep up."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.condemned: list[Peer] = []
        """Clients that are to be sent away when the event is done."""

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self.condemned = []

    def gave_up(self, peer: Peer, runs: list[FrameRun], now: float) -> None:
        """A destination's buffer was full, and the oldest notifications in it were given up."""
        node = self._node
        self.count(peer)
        node.rows.dropped(peer, runs, now)
        if peer.is_client and peer.slow_policy == DISCONNECT and not peer.is_condemned:
            peer.is_condemned = node.changed = True
            node.counts["slow_clients_disconnected"] += 1
            self.condemned.append(peer)

    def count(self, peer: Peer) -> None:
        """Count what had to be given up for a peer.

        Numbers that cannot be are not counted: others are told the sum, and could not read it.
        """
        given_up, seen = peer.channel.given_up, peer.given_up_seen
        if 0 <= seen <= given_up <= COUNT_MAX:
            self._node.counts["given_up"] += given_up - seen
        peer.given_up_seen = given_up

    def given_up_there(self, line: Line, message: GivenUp, now: float) -> None:
        """The other end has given frames up that were for this side.

        A client never does: publishers wait where it has no room. If its stream says so, the stream
        is wrong, and what was in it was published by somebody who has to know.
        """
        node, peer = self._node, line.peer
        if peer is None:
            return
        if not peer.channel.can_miss(message.count):
            reason = f"{message.count} frames given up, more than there can be"
            node.close(line, Goodbye(PROTOCOL, reason), now)
        elif peer.is_client:
            node.checking.contradicts(peer, "a client gives up nothing that it publishes", now)
        else:
            peer.channel.miss(message.count)
            if node.durability is not None:
                node.durability.missed(peer, message.count)
            node.owe_ack(peer, now)
            node.bring(NotificationsMissed(peer.name, message.count), now)

    def unsent(self, event: Unsent, now: float) -> None:
        """Bytes wait for somebody who does not read."""
        node = self._node
        line = node.lines.get(event.connection)
        if line is None or line.peer is None:
            return
        limits = node.config.limits(is_client=line.peer.is_client)
        if event.size > limits.buffer_bytes + limits.control_bytes + EXCESS_MAX:
            node.abort(line, "the other side sends, but does not read", now)

    def send_away(self, now: float) -> None:
        """Send those away that had asked for it."""
        condemned, self.condemned = self.condemned, []
        goodbye = Goodbye(SLOW_CONSUMER, "the client does not keep up with what it subscribed")
        for peer in condemned:
            if peer.channel.is_sound:
                self._node.membership.remove(peer, goodbye, now)
            else:
                self._node.checking.contradicts(peer, "this side of the stream was spoilt", now)

    def _end_partial(self, now: float) -> None:
        """End lines that have sent large parts of frames, if all of them take too much memory."""
        partial = [line for line in self._node.lines.values() if line.rest]
        size = sum(line.rest_size for line in partial)
        if size <= PARTIAL_BYTES_MAX:
            return
        for line in sorted(partial, key=lambda line: (-line.rest_size, line.number)):
            self._node.close(line, Goodbye(BUSY, PARTIAL), now)
            size -= line.rest_size
            if size <= PARTIAL_BYTES_MAX:
                return

    def tick(self, now: float) -> None:
        """Give up notifications for neighbours that hold others back and make no progress."""
        node = self._node
        self._end_partial(now)
        for peer in node.flow.stuck(now):
            given_up = peer.channel.shed(peer.channel.limits.buffer_bytes // 4)
            self.count(peer)
            node.rows.dropped(peer, given_up, now)
            for freed in node.flow.release(peer):
                node.acknowledge(freed, now)
