"""What passes through a node, as it tells others: in surveys, and to its operator.

A hub has to see how its sites are doing, and most of them have no admin endpoint that it could
reach. So a broker says in every survey how much it does, what waits and what was lost; the figures
are those of the last regular tick.

How long notifications take from their publisher to here is taken from a sample of reads, by the
time in the envelope and the clock on the wall: it is right as far as the two clocks agree.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import past
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.handshake import COUNT_MAX
from sapwood.protocol.messages import LoadReport
from sapwood.wire.frames import HEADER, HEADER_SIZE, NOTIFICATION_TYPES, published_at

if TYPE_CHECKING:
    from sapwood.protocol.link.peer import Peer
    from sapwood.protocol.node import Node

SAMPLED_READS: Final = 64
"""Of so many reads with notifications the first notification of one is looked at."""

LATENCY_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0)
"""Seconds up to which the buckets of latencies go; one more has what took longer."""


SECONDS_MIN: Final = 0.001
"""Time that passes at least between two looks."""


class Metering:
    """Counts of one node, and what they were when somebody last looked."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Begin to count, or anew where a fault made that impossible."""
        self.latencies = [0] * (len(LATENCY_BOUNDS) + 1)
        """How many notifications took how long, by bucket."""
        self.latency_seconds = 0.0
        """What they took together."""
        self.unsampled = SAMPLED_READS
        """Reads until the next one that is looked at."""
        self._looked_at = float("-inf")
        self._before = (0, 0)

    def came(self, peer: Peer, data: bytes, frames: int, wall: float) -> None:
        """Frames came from somebody, by the clock on the wall."""
        peer.frames_in += frames
        peer.bytes_in += len(data)
        try:
            self.unsampled -= 1
            if not 0 < self.unsampled <= SAMPLED_READS:
                self._sample(data, wall)
        except FAULTS:
            self._begin()

    def _sample(self, data: bytes, wall: float) -> None:
        """Take the latency of the first notification of a read."""
        self.unsampled = SAMPLED_READS
        kind, _, head = HEADER.unpack_from(data)
        said = published_at(data, HEADER_SIZE + head) if kind in NOTIFICATION_TYPES else None
        if said is None:
            return
        seconds = max(0.0, wall - said)
        self.latencies[bisect_left(LATENCY_BOUNDS, seconds)] += 1
        self.latency_seconds += seconds

    def look(self, node: Node, now: float) -> LoadReport | None:
        """How a node is doing now, rates since the last look; None while its state is wrong.

        That is found out, and mended, by those who need it.
        """
        try:
            return self._look(node, now)
        except FAULTS:
            self._begin()
            return None

    def _look(self, node: Node, now: float) -> LoadReport:
        frames_in = frames_out = queued = slow = 0
        for peer in node.peers.values():
            frames_in += peer.frames_in
            frames_out += peer.frames_out
            queued += peer.channel.buffered
            slow += peer.is_client and peer.channel.buffered > peer.channel.limits.buffer_bytes // 2
        seconds = max(now - past(self._looked_at, now), SECONDS_MIN)
        counts = (frames_in, frames_out)
        rates = [max(0, one - was) / seconds for one, was in zip(counts, self._before, strict=True)]
        self._looked_at, self._before = now, counts
        given_up = node.counts["given_up"] + node.counts["abandoned"]
        faults = sum(node.broker.faults.values())
        if not all(0 <= one <= COUNT_MAX for one in (queued, given_up, faults)):
            raise ValueError("numbers that nobody could read")
        return LoadReport(
            frames_in=round(rates[0], 1),
            frames_out=round(rates[1], 1),
            queued_bytes=queued,
            given_up=given_up,
            slow=slow,
            faults=faults,
        )
