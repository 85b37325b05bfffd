"""What a live broker looks at from time to time: silence, slowness, age.

Nothing here is done for a single notification; whatever has to be noticed without anything
happening is noticed by the regular look.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from sapwood.protocol.link.handshake import SILENT, SLOW_CONSUMER, Goodbye, Ping
from sapwood.runtime.connection import Connection
from sapwood.protocol.link.peer import Peer
from sapwood.wire.frames import BODY_BYTES_MAX

if TYPE_CHECKING:
    from sapwood.runtime.node import Node

TICK_SECONDS: Final = 0.5
"""How often silence, slowness and age are looked at; more often if someone stands less silence."""

TICK_SECONDS_MIN: Final = 0.05
"""How often at most. Whoever stands less than four times that has no promise to keep."""

EXCESS_MAX: Final = BODY_BYTES_MAX + 2**20
"""Bytes beyond its credit after which a sender is sent away: one message may always be whole."""


class Upkeep:
    """The regular look of one node at all it has to do with."""

    def __init__(self, node: Node) -> None:
        self.seconds = TICK_SECONDS
        """Between two looks."""
        self._node = node
        self._timer: asyncio.TimerHandle | None = None
        for limits in (node.settings.link, node.settings.client):
            self.heed(limits.silence_seconds)

    def heed(self, silence: float) -> None:
        """Look often enough for someone who stands so much silence."""
        if silence:
            self.seconds = max(TICK_SECONDS_MIN, min(self.seconds, silence / 4))

    def start(self) -> None:
        """Look again and again, on the running event loop."""
        self._timer = asyncio.get_running_loop().call_later(self.seconds, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self.start()
        node = self._node
        now = node.clock.now()
        node.tick()
        for connection, peer in node.connected():
            self._look_after(connection, peer, now)
        for peer in list(node.peers.values()):
            if peer.channel.is_overrun:
                node.counts["overruns"] += 1
                node.remove(peer, Goodbye(SLOW_CONSUMER, "too many control messages wait"))
            elif peer.is_client and self._is_past_grace(peer, now):
                node.remove(peer, Goodbye(SILENT))
        for peer in node.flow.overdue(now):
            node.shed(peer, peer.channel.limits.buffer_bytes // 4)
            node.flow.release(peer)
        if node.tracer is not None:
            node.tracer.tick(now)

    def _is_past_grace(self, peer: Peer, now: float) -> bool:
        since = peer.away_since
        return since is not None and now - since > self._node.settings.client.grace_seconds

    def _look_after(self, connection: Connection, peer: Peer, now: float) -> None:
        """Keep a connection alive, or notice that it is dead."""
        if connection.has_heard:
            connection.has_heard = False
            connection.heard_at = now
        settings = self._node.settings
        limits = settings.client if peer.is_client else settings.link
        if now - connection.heard_at > limits.silence_seconds:
            connection.abort(f"silent for {limits.silence_seconds} s")
            return
        if connection.unsent > limits.buffer_bytes + limits.control_bytes + EXCESS_MAX:
            connection.abort("the other side sends, but does not read")
            return
        stands = connection.silence or limits.silence_seconds
        if connection.has_written:
            connection.has_written = False
            connection.wrote_at = now
        elif now - connection.wrote_at > stands / 3:
            connection.say(Ping())
