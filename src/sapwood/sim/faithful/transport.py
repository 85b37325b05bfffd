"""Simulated connections: bytes under way between two hosts, in both directions.

A `Route` is one direction between two hosts and outlives connections: its delay, its bandwidth,
whether bytes move on it and whether it can be dialled. A connection is a pair of `End`s. Each end
keeps the bytes that are under way to it, in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sapwood.sim.faithful.host import Host

SOCKET_BYTES: Final = 64 * 1024
"""What the operating systems of both ends hold of one direction; what is more waits in the
process that writes."""

SEGMENT_SECONDS: Final = 0.05
"""Over a route with limited bandwidth bytes arrive in pieces of so much time."""


class Route:
    """One direction between two hosts."""

    __slots__ = (
        "bytes_per_second",
        "delay_max",
        "delay_min",
        "ends",
        "is_frozen",
        "is_reachable",
        "is_refused",
        "sample",
    )

    def __init__(self, delay_min: float, delay_max: float) -> None:
        self.delay_min = delay_min
        self.delay_max = delay_max
        self.bytes_per_second = 0.0
        """Of each connection; zero for no limit."""
        self.sample: Callable[[Random], float] | None = None
        """Draws the delay in another way than evenly between the two."""
        self.is_frozen = False
        """Whether bytes stay under way, and nobody is told."""
        self.is_reachable = True
        """Whether the target can be dialled over this route at all, as through its firewall."""
        self.is_refused = False
        """Whether the target refuses connections for the time being."""
        self.ends: list[End] = []
        """Of the connections there are: the ends to which this route leads."""

    def delay(self, random: Random) -> float:
        """How long something sent now is under way."""
        if self.sample is not None:
            return self.sample(random)
        return self.delay_min + (self.delay_max - self.delay_min) * random.random()


class End:
    """One end of a connection, with the bytes under way to it."""

    __slots__ = (
        "due",
        "ends_at",
        "free_at",
        "fuse",
        "host",
        "is_cut",
        "is_open",
        "is_silent",
        "last_arrival",
        "number",
        "other",
        "received",
        "route",
        "segments",
        "since",
        "size",
    )

    other: End

    def __init__(self, host: Host, number: int, route: Route, since: float) -> None:
        self.host = host
        self.number = number
        self.route = route
        """From the other host to this one."""
        self.since = since
        """When the machine here is told of the connection."""
        self.is_open = True
        """Whether the machine here has not been told that the connection is gone."""
        self.is_cut = False
        """Whether nothing moves any more, whether anybody knows it or not."""
        self.is_silent = False
        """Whether the other host went without a word: nobody here is told before it writes."""
        self.segments: deque[tuple[float, bytes]] = deque()
        """What is under way to this end, with the time at which it is here."""
        self.size = 0
        """How many bytes are under way."""
        self.received = 0
        """How many bytes were brought to the machine so far."""
        self.free_at = since
        """When the last byte written so far has left the other host."""
        self.last_arrival = since
        self.ends_at: float | None = None
        """When the other side's end of the stream is here, behind all bytes."""
        self.due: float | None = None
        """When something is looked for next, if that has been scheduled."""
        self.fuse: int | None = None
        """After how many more bytes for this end the connection breaks."""

    def __repr__(self) -> str:
        return f"<end {self.number} at {self.host.name} from {self.other.host.name}>"

    @property
    def unsent(self) -> int:
        """Bytes written here that the operating systems do not hold yet."""
        return max(0, self.other.size - SOCKET_BYTES)

    def send(self, data: bytes, now: float, random: Random) -> None:
        """Bytes leave the other host for this end."""
        route, rate = self.route, self.route.bytes_per_second
        self.size += len(data)
        if not rate:
            self.free_at = max(now, self.free_at)
            self._add(data, self.free_at + route.delay(random))
            return
        step = max(1, int(rate * SEGMENT_SECONDS))
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            self.free_at = max(now, self.free_at) + len(piece) / rate
            self._add(piece, self.free_at + route.delay(random))

    def _add(self, data: bytes, arrival: float) -> None:
        self.last_arrival = max(arrival, self.last_arrival)
        self.segments.append((self.last_arrival, data))

    @property
    def next_arrival(self) -> float | None:
        """When the next byte, or the end of the stream, is here."""
        return self.segments[0][0] if self.segments else self.ends_at

    def take(self, now: float) -> bytes:
        """All bytes that are here."""
        segments = self.segments
        if not segments or segments[0][0] > now:
            return b""
        data = segments.popleft()[1]
        if segments and segments[0][0] <= now:
            parts = [data]
            while segments and segments[0][0] <= now:
                parts.append(segments.popleft()[1])
            data = b"".join(parts)
        self.size -= len(data)
        return data

    def put_back(self, data: bytes, arrival: float) -> None:
        """Bytes that were taken arrive a little later than it seemed."""
        self.segments.appendleft((arrival, data))
        self.last_arrival = max(arrival, self.last_arrival)
        self.size += len(data)

    def drop(self) -> None:
        """What is under way to this end is lost."""
        self.segments.clear()
        self.size = 0
        self.ends_at = None
        self.due = None
