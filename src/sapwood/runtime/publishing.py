"""What a client publishes: collected into batches, counted until the broker has accepted it.

Publications leave at the end of the turn of the event loop in which they were made, all in one
write; a program that publishes one and waits loses nothing by that. Whoever publishes faster than
the network takes waits for room.

A stream to a broker may end with the broker. Publications that were never handed to a connection
then go to the next broker. Those that were, and were not acknowledged, may or may not have
arrived: repeating them could deliver them twice, so they are counted as *unconfirmed* instead.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import Final, NamedTuple

from sapwood.errors import NetworkError, ParameterError, RefusedError, UnconfirmedError
from sapwood.filters.values import Value
from sapwood.protocol.link.channel import Channel
from sapwood.wire.frames import encode_head, encode_notification

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
        self._waiters: dict[int, list[asyncio.Future[None]]] = {}
        """By sequence number, which only grows: whoever waits, waits for the last one so far."""

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
        unhanded = sum(
            batch.last - batch.first + 1
            for batch in self._in_flight
            if batch.last_frame > self._handed
        )
        return len(self._frames) + unhanded

    def add(self, attributes: Mapping[str, Value], payload: bytes, expires_in: float | None) -> int:
        """Take a publication; its sequence number. The attributes were checked."""
        now = time.time()
        expires_at = 0.0 if expires_in is None else now + _checked(expires_in)
        head = encode_head(self._name, attributes)
        frame = encode_notification(head, self.sequence + 1, now, payload, expires_at)
        self.sequence += 1
        self._frames.append(frame)
        self._frames_bytes += len(frame)
        return self.sequence

    def accepted_later(self, sequence: int) -> asyncio.Future[None]:
        """Done when a broker has accepted a publication, or with the reason why not.

        Everybody who waits has a future of his own: one that is cancelled disturbs no other.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if sequence <= self.accepted:
            future.set_result(None)
        else:
            self._waiters.setdefault(sequence, []).append(future)
        return future

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
        """Something of the stream was handed to a connection."""
        self._handed = max(self._handed, channel.sent)

    def acknowledged(self, frames: int) -> None:
        """The broker has taken so many frames of the stream over."""
        in_flight = self._in_flight
        while in_flight and in_flight[0].last_frame <= frames:
            batch = in_flight.popleft()
            self._in_flight_bytes -= len(batch.data)
            self.accepted = batch.last
        if in_flight:
            batch = in_flight[0]
            self.accepted = max(self.accepted, batch.last - (batch.last_frame - frames))
        self._tell_accepted()

    def _tell_accepted(self) -> None:
        waiters = self._waiters
        while waiters:
            sequence = next(iter(waiters))
            if sequence > self.accepted:
                return
            for future in waiters.pop(sequence):
                if not future.done():
                    future.set_result(None)

    def begin_anew(self, channel: Channel) -> None:
        """The stream ended with its broker: what was never handed over goes into the next one."""
        kept: list[Batch] = []
        for batch in self._in_flight:
            if batch.last_frame > self._handed:
                kept.append(batch)
                continue
            lost = range(max(batch.first, self.accepted + 1), batch.last + 1)
            self.unconfirmed += len(lost)
            self._fail(lost, UnconfirmedError("the broker was lost before it answered"))
            self.accepted = batch.last
        self._in_flight = deque()
        self._handed = 0
        for batch in kept:
            channel.push(batch.data, batch.last - batch.first + 1)
            self._in_flight.append(batch._replace(last_frame=channel.last))
        self._in_flight_bytes = sum(len(batch.data) for batch in kept)

    def _fail(self, sequences: range, problem: NetworkError) -> None:
        """Tell those who wait for some publications that it is not known what became of them."""
        for sequence in [number for number in self._waiters if number in sequences]:
            for future in self._waiters.pop(sequence):
                if not future.done():
                    future.set_exception(problem)

    def refuse(self, sequence: int, reason: str) -> None:
        """A broker did not accept a publication."""
        self.refused += 1
        self._fail(range(sequence, sequence + 1), RefusedError(reason))

    def fail(self, problem: NetworkError) -> None:
        """Nothing more will be accepted."""
        self._fail(range(1, self.sequence + 1), problem)


def _checked(expires_in: float) -> float:
    if not (isfinite(expires_in) and expires_in > 0):
        raise ParameterError(f"is {expires_in}; it is a number of seconds above zero", "expires_in")
    return expires_in
