"""What a client publishes: collected into batches, counted until the broker has accepted it.

Publications leave when the session is flushed, all in one write. Whoever publishes faster than the
network accepts waits for room.

A stream to a broker may end with the broker. Publications that were never handed to a connection
then go to the next broker. Those that were, and were not acknowledged, may or may not have
arrived: repeating them could deliver them twice, so they are counted as *unconfirmed* instead.
Only a broker that says goodbye because it shuts down has not looked at them: then they go to the
next broker too. And one that keeps a journal says how far it has written them down: behind that it
has taken none, and gets them once more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import Final, NamedTuple

from sapwood.errors import ParameterError
from sapwood.filters.values import Value
from sapwood.protocol.link.channel import Channel
from sapwood.wire.frames import encode_head, encode_notification
from sapwood.wire.scan import skip

BATCH_BYTES: Final = 64 * 1024
"""Publications that are sent in one piece, if there are as many."""


class Batch(NamedTuple):
    """Publications with consecutive numbers, as one run of the stream."""

    data: bytes
    first: int
    """Sequence number of the first of them."""
    last: int
    last_frame: int
    """Number of the last one as a frame of the stream."""


class Publishing:
    """The publications of one session, from the call to the acknowledgement."""

    def __init__(self, name: str, room_bytes: int) -> None:
        self.unconfirmed = 0
        """Publications of which nobody knows whether a broker that was lost had accepted them."""
        self.refused = 0
        """Publications that a broker did not accept."""
        self.sequence = 0
        """Number of the last publication."""
        self.accepted = 0
        """Number of the last publication that a broker has acknowledged."""
        self._name = name
        self._room_bytes = room_bytes
        self._frames: list[bytes] = []
        self._frames_bytes = 0
        self._in_flight: deque[Batch] = deque()
        self._in_flight_bytes = 0
        self._handed = 0
        """Number of the last frame of the stream that a connection was given."""

    # Taking publications

    @property
    def is_full(self) -> bool:
        """Whether publishers have to wait."""
        return self._frames_bytes + self._in_flight_bytes >= self._room_bytes

    @property
    def is_ample(self) -> bool:
        """Whether it is time to send, even if more is being published, or to wait."""
        return self._frames_bytes >= BATCH_BYTES or self.is_full

    @property
    def waiting(self) -> int:
        """How many publications were never handed to a connection."""
        unhanded = sum(batch.last - self._last_handed(batch) for batch in self._in_flight)
        return len(self._frames) + unhanded

    def add(
        self, attributes: Mapping[str, Value], payload: bytes, now: float, expires_in: float | None
    ) -> int:
        """Take a publication; its sequence number. The attributes were checked."""
        expires_at = 0.0 if expires_in is None else now + _checked(expires_in)
        head = encode_head(self._name, attributes)
        frame = encode_notification(head, self.sequence + 1, now, payload, expires_at)
        self.sequence += 1
        self._frames.append(frame)
        self._frames_bytes += len(frame)
        return self.sequence

    def derive(self) -> None:
        """Count again how much waits: a wrong number could make publishers wait for ever."""
        self._frames_bytes = sum(map(len, self._frames))
        self._in_flight_bytes = sum(len(batch.data) for batch in self._in_flight)

    # The stream

    def move_into(self, channel: Channel) -> None:
        """Hand what was collected to the stream, as one run."""
        if self._frames:
            data = b"".join(self._frames)
            first = self.sequence - len(self._frames) + 1
            channel.push(data, len(self._frames))
            self._in_flight.append(Batch(data, first, self.sequence, channel.last))
            self._in_flight_bytes += len(data)
            self._frames, self._frames_bytes = [], 0

    def handed_over(self, channel: Channel) -> None:
        """Note what of the stream was handed to a connection."""
        self._handed = max(self._handed, channel.sent)

    def acknowledge(self, frames: int) -> bool:
        """The broker has accepted so many frames of the stream; whether that is news."""
        before = self.accepted
        in_flight = self._in_flight
        while in_flight and in_flight[0].last_frame <= frames:
            batch = in_flight.popleft()
            self._in_flight_bytes -= len(batch.data)
            self.accepted = batch.last
        if in_flight:
            batch = in_flight[0]
            self.accepted = max(self.accepted, batch.last - (batch.last_frame - frames))
        return self.accepted > before

    def call_back(self, frames: int) -> None:
        """The broker ends and has not looked at more than so many frames of the stream.

        The others count as never handed over. Those it has looked at are accepted when it said so
        (`acknowledge`), and not here: whoever waits would not hear of it.
        """
        self._handed = frames

    def _last_handed(self, batch: Batch) -> int:
        """The number of the last publication before those of a batch that were not handed over."""
        handed = batch.last - max(0, batch.last_frame - self._handed)
        return max(batch.first - 1, handed)

    def begin_anew(self, channel: Channel, kept: int | None = None) -> list[tuple[int, int]]:
        """Put what was never handed over into the next stream: the old one ended with its broker.

        If the broker says which publication is the last that it has `kept`, those up to that are
        accepted, and it has never taken the others.

        Returns the first and last numbers of the publications that are unconfirmed now.
        """
        lost: list[tuple[int, int]] = []
        again: list[Batch] = []
        if kept is not None:
            self.accepted = max(self.accepted, min(kept, self.sequence))
        for batch in self._in_flight:
            handed, first = self._last_handed(batch), max(batch.first, self.accepted + 1)
            if kept is not None:
                handed = max(batch.first - 1, min(batch.last, self.accepted))
            if first <= handed:
                self.unconfirmed += handed - first + 1
                lost.append((first, handed))
                self.accepted = handed
            if handed < batch.last:
                data = skip(batch.data, handed + 1 - batch.first)
                again.append(Batch(data, handed + 1, batch.last, 0))
        self._in_flight = deque()
        self._handed = 0
        for batch in again:
            channel.push(batch.data, batch.last - batch.first + 1)
            self._in_flight.append(batch._replace(last_frame=channel.last))
        self._in_flight_bytes = sum(len(batch.data) for batch in again)
        return lost


def _checked(expires_in: float) -> float:
    if not (isfinite(expires_in) and expires_in > 0):
        raise ParameterError(f"is {expires_in}; it is a number of seconds above zero", "expires_in")
    return expires_in
