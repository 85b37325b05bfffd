"""Back-pressure: whoever sends to someone who does not keep up gets no more credit for a while.

A destination whose stream is more than half full is *congested*; the credit of every source that
sends to it is withheld until it is down to a quarter. Only those sources wait: one slow neighbour
does not stop the rest. Acknowledgements are always read and need no credit, so nobody waits for
somebody who waits for him. A neighbour may hold others back for a stated time only; then its
notifications are given up down to a quarter, which is counted and reported like any loss.

A slow client holds back nobody, unless its policy is ``block``, and then only clients of the same
broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.protocol.link.peer import Peer

BLOCK, DISCONNECT, DROP_OLDEST = "block", "disconnect", "drop_oldest"
SLOW_POLICIES = (DROP_OLDEST, DISCONNECT, BLOCK)


class Flow:
    """Who holds back whom."""

    def __init__(self, slow_seconds: float) -> None:
        self._slow_seconds = slow_seconds
        self._congested: dict[Peer, None] = {}

    def __len__(self) -> int:
        """How many destinations do not keep up."""
        return len(self._congested)

    def pushed(self, destination: Peer, source: Peer, now: float) -> None:
        """Something from a source went to a destination that is more than half full."""
        if not destination.channel.connected:
            return  # nobody waits for someone who is away: what does not fit is given up
        if destination is source:
            return  # whoever waited for himself would wait for ever
        if destination.is_client and (destination.slow_policy != BLOCK or not source.is_client):
            return
        if destination.congested_since is None:
            destination.congested_since = now
            self._congested[destination] = None
        destination.holds[source] = None
        source.holders[destination] = None
        source.channel.withheld = True

    def drained(self, destination: Peer) -> None:
        """A destination got rid of something: perhaps enough."""
        channel = destination.channel
        if channel.buffered <= channel.limits.buffer_bytes // 4:
            self.release(destination)

    def release(self, destination: Peer) -> None:
        """A destination holds nobody back any more."""
        destination.congested_since = None
        self._congested.pop(destination, None)
        for source in destination.holds:
            source.holders.pop(destination, None)
            if not source.holders:
                source.channel.withheld = False
                source.acknowledge()
        destination.holds.clear()

    def forget(self, peer: Peer) -> None:
        """Somebody is gone."""
        self.release(peer)
        for destination in peer.holders:
            destination.holds.pop(peer, None)
        peer.holders.clear()
        peer.channel.withheld = False

    def overdue(self, now: float) -> Iterable[Peer]:
        """Neighbours that have held others back for too long."""
        return [
            peer
            for peer in self._congested
            if not peer.is_client
            and peer.congested_since is not None
            and now - peer.congested_since >= self._slow_seconds
        ]
