"""Back-pressure: whoever sends to someone who does not keep up gets no more credit for a while.

A destination whose stream is more than half full is *congested*; the credit of every source that
sends to it is withheld until it is down to a quarter. Only those sources wait: one slow neighbour
does not stop the rest. Acknowledgements are always read and need no credit, so nobody waits for
somebody who waits for them.

Slowness is no progress. A neighbour that acknowledges holds its publishers back for as long as it
takes, so a slow link slows them and loses nothing, and the backlog of an outage drains whole. One
that acknowledges nothing holds others back for a stated time only; then its notifications are
given up down to a quarter, which is counted and reported like any loss.

A slow client holds back nobody, unless its policy is ``block``, and then only clients of the same
broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sapwood.protocol.due import past
from sapwood.protocol.link.peer import Peer

BLOCK, DISCONNECT, DROP_OLDEST = "block", "disconnect", "drop_oldest"
SLOW_POLICIES: Final = (DROP_OLDEST, DISCONNECT, BLOCK)


class Flow:
    """Who holds back whom, among the peers of one node."""

    def __init__(self, slow_seconds: float, peers: Mapping[str, Peer]) -> None:
        self._slow_seconds = slow_seconds
        self._peers = peers
        self.congested: dict[str, None] = {}
        """Destinations that do not keep up."""

    def __len__(self) -> int:
        """How many destinations do not keep up."""
        return len(self.congested)

    def is_about(self, peers: Mapping[str, Peer]) -> bool:
        """Whether it is among these peers."""
        return self._peers is peers

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self.congested = {}

    def pushed(self, destination: Peer, source: Peer, now: float) -> None:
        """Something from a source went to a destination that is more than half full."""
        if not destination.channel.connected:
            return  # nobody waits for someone who is away: what does not fit is given up
        if destination is source:
            return  # whoever waited for themselves would wait for ever
        if destination.is_client and (destination.slow_policy != BLOCK or not source.is_client):
            return
        if destination.congested_since is None:
            destination.congested_since = now
            self.congested[destination.name] = None
        destination.holds[source.name] = None
        source.holders[destination.name] = None
        source.channel.withheld = True

    def drained(self, destination: Peer) -> list[Peer]:
        """A destination got rid of something, perhaps enough: those it no longer holds back."""
        channel = destination.channel
        if channel.buffered <= channel.limits.buffer_bytes // 4:
            return self.release(destination)
        return []

    def release(self, destination: Peer) -> list[Peer]:
        """A destination holds nobody back any more; those who may send again."""
        destination.congested_since = None
        self.congested.pop(destination.name, None)
        freed: list[Peer] = []
        for name in destination.holds:
            source = self._peers.get(name)
            if source is None:
                continue
            source.holders.pop(destination.name, None)
            if not source.holders:
                source.channel.withheld = False
                freed.append(source)
        destination.holds.clear()
        return freed

    def forget(self, peer: Peer) -> list[Peer]:
        """Somebody is gone; those who may send again."""
        freed = self.release(peer)
        for name in peer.holders:
            destination = self._peers.get(name)
            if destination is not None:
                destination.holds.pop(peer.name, None)
                if not destination.holds:
                    self.release(destination)  # it was the last one that waited for it
        peer.holders.clear()
        peer.channel.withheld = False
        return freed

    def stuck(self, now: float) -> list[Peer]:
        """Neighbours that hold others back and have made no progress for too long.

        One that has acknowledged all it was sent is not stuck: it gives no credit because somebody
        behind it does not keep up, and whoever is next to that one decides how long to wait.
        """
        return [
            peer
            for peer in map(self._peers.get, self.congested)
            if peer is not None
            and not peer.is_client
            and peer.congested_since is not None
            and peer.channel.sent > peer.channel.acknowledged
            and self._is_slow(peer, peer.congested_since, now)
        ]

    def _is_slow(self, peer: Peer, congested_since: float, now: float) -> bool:
        peer.congested_since = past(congested_since, now)
        peer.progress_at = past(peer.progress_at, now)
        return now - max(peer.congested_since, peer.progress_at) >= self._slow_seconds

    def problems(self, peer: Peer) -> Iterator[str]:
        """What is wrong with what a peer and the others know of each other."""
        name = peer.name
        for held in peer.holds:
            other = self._peers.get(held)
            if other is None or name not in other.holders:
                yield f"{name} holds back {held}, who does not know"
        for holder in peer.holders:
            other = self._peers.get(holder)
            if other is None or name not in other.holds:
                yield f"{name} is held back by {holder}, who does not know"
        is_congested = name in self.congested
        if bool(peer.holds) != is_congested or (peer.congested_since is None) == is_congested:
            yield f"{name} holds back {[*peer.holds]}, congested since {peer.congested_since}"

    def derive(self, now: float) -> None:
        """Believe only what both of two peers know of each other."""
        peers = self._peers
        for name, peer in peers.items():
            peer.holds = {
                held: None for held in peer.holds if held in peers and name in peers[held].holders
            }
        for name, peer in peers.items():
            peer.holders = {
                one: None for one in peer.holders if one in peers and name in peers[one].holds
            }
            if not peer.holds:
                peer.congested_since = None
            elif peer.congested_since is None:
                peer.congested_since = now
        self.congested = {name: None for name, peer in peers.items() if peer.holds}
