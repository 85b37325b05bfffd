"""The driver: moves bytes that were encoded before, and keeps what arrives, against the clock.

One process with non-blocking sockets and `poll` plays the publisher and all subscribers, the same
for every broker. It looks at lengths only, so that what it costs is what the system costs. Reading
what came, message by message, is for after the clock has stopped.

The publisher is never more than a window ahead of the slowest subscriber: brokers that would queue,
drop or disconnect instead of slowing a publisher down are spared that.
"""

from __future__ import annotations

import gc
import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter, perf_counter_ns
from typing import NamedTuple

from sapwood.bench.network_load import Message
from sapwood.bench.peers.peer import Client
from sapwood.errors import BenchmarkError

WRITE_BYTES = 1 << 16
"""A publisher that batches writes so much at once."""

READ_BYTES = 1 << 18
WINDOW_MESSAGES = 16_384

_STALLED_SECONDS = 20.0
_SINGLES = 32
"""Messages written one by one before the driver looks whether something has arrived."""
_ROOM_TO_SPARE = 1 << 20
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class Piece(NamedTuple):
    """What is written at once, and how many messages are in it."""

    data: memoryview
    messages: int


def in_pieces(encoded: Sequence[bytes], *, is_batched: bool) -> list[Piece]:
    """Encoded messages as they are written: as many as make a write, or one by one."""
    if not is_batched:
        return [Piece(memoryview(data), 1) for data in encoded]
    pieces: list[Piece] = []
    gathered: list[bytes] = []
    size = 0
    for data in encoded:
        gathered.append(data)
        size += len(data)
        if size >= WRITE_BYTES:
            pieces.append(Piece(memoryview(b"".join(gathered)), len(gathered)))
            gathered, size = [], 0
    if gathered:
        pieces.append(Piece(memoryview(b"".join(gathered)), len(gathered)))
    return pieces


class Receiver:
    """One subscriber: all that arrives at it in a round, and how far that has got."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.size = 0
        self.messages = 0
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        self._begun = 0
        self._each = 1

    def prepare(self, message: Message, count: int) -> None:
        """Make room for messages like one; of what came before, only what is not whole is kept."""
        self.client.socket.setblocking(False)
        begun = self.client.unread()
        self._begun = self.size = len(begun)
        self._each = self.client.delivery_bytes(message)
        self.messages = 0
        room = count * (self._each or 1024) + _ROOM_TO_SPARE
        if len(self._buffer) < room:
            self._buffer = bytearray(room)
            self._view = memoryview(self._buffer)
        self._buffer[: self.size] = begun

    def receive(self) -> None:
        """Take what is there."""
        at = self.size
        try:
            got = self.client.socket.recv_into(self._view[at : at + READ_BYTES])
        except BlockingIOError:
            return
        if not got:
            raise BenchmarkError(f"{self.client.name} was disconnected, or got far too much")
        self.size = size = at + got
        if self.client.delimiter:
            self.messages += self._buffer.count(self.client.delimiter, at, size)
        else:
            self.messages = (size - self._begun) // self._each
        self.client.arrived(self.messages)

    def payloads(self) -> list[bytes]:
        """All that came, read."""
        payloads, _ = self.client.read(bytes(self._view[: self.size]))
        return payloads

    def finish(self) -> None:
        """The round is over: let the client know what came."""
        self.client.finish(bytes(self._view[: self.size]))


class Sender:
    """The publisher of a round."""

    def __init__(self, client: Client, pieces: Sequence[Piece], *, at_once: int) -> None:
        client.socket.setblocking(False)
        self.client = client
        self.sent = 0
        """Messages that were sent as a whole."""
        self._pieces = pieces
        self._at_once = at_once
        self._number = 0
        self._offset = 0

    @property
    def is_done(self) -> bool:
        """Whether everything was sent."""
        return self._number >= len(self._pieces)

    def send(self, messages_max: int) -> bool:
        """Send some pieces; whether the socket is full."""
        client = self.client
        for piece in self._pieces[self._number : self._number + self._at_once]:
            data = piece.data[self._offset :] if self._offset else piece.data
            if self.sent >= messages_max or client.sendable() < len(data):
                return False
            try:
                size = client.socket.send(data)
            except BlockingIOError:
                return True
            client.sent(size)
            if size < len(data):
                self._offset += size
                return True
            self._offset = 0
            self._number += 1
            self.sent += piece.messages
        return False

    def hear(self) -> None:
        """Take what the broker says to the publisher."""
        try:
            data = self.client.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise BenchmarkError(f"{self.client.name} was disconnected")
        self.client.told(data)


@contextmanager
def undisturbed() -> Iterator[None]:
    """No collection of garbage while something is measured."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def transfer(
    publisher: Client, pieces: Sequence[Piece], receivers: Sequence[Receiver], *, is_batched: bool
) -> float:
    """Publish, until all has arrived at everyone; how many seconds that took."""
    count = sum(piece.messages for piece in pieces)
    sender = Sender(publisher, pieces, at_once=1 if is_batched else _SINGLES)
    by_file = {receiver.client.socket.fileno(): receiver for receiver in receivers}
    own = publisher.socket.fileno()
    poller = _poller([*by_file, own])
    with undisturbed():
        start = last = perf_counter()
        least = 0
        while least < count:
            before = sender.sent
            is_full = not sender.is_done and sender.send(least + WINDOW_MESSAGES)
            poller.modify(own, _READABLE | select.POLLOUT if is_full else _READABLE)
            found = poller.poll(0 if sender.sent > before else 1000)
            for file, flags in found:
                if file != own:
                    by_file[file].receive()
                elif flags & _READABLE:
                    sender.hear()
            least = min(receiver.messages for receiver in receivers)
            now = perf_counter()
            if found or sender.sent > before:
                last = now
            elif now - last > _STALLED_SECONDS:
                raise BenchmarkError(f"{sender.sent} of {count} sent, {least} arrived, no more")
        return perf_counter() - start


def latencies(
    publisher: Client, encoded: Sequence[bytes], receiver: Receiver, rate: float
) -> list[float]:
    """Publish at a steady rate, whatever arrives; microseconds until each message is there.

    The driver does not sleep meanwhile, so that waking up is not measured.
    """
    sender = Sender(publisher, in_pieces(encoded, is_batched=False), at_once=1)
    own, other = publisher.socket.fileno(), receiver.client.socket.fileno()
    poller = _poller([own, other])
    interval = 1e9 / rate
    sent_at: list[int] = []
    found: list[float] = []
    with undisturbed():
        start = last = perf_counter_ns()
        while len(found) < len(encoded):
            now = perf_counter_ns()
            if not sender.is_done and now >= start + len(sent_at) * interval:
                sent_at.append(now)
                sender.send(len(encoded))
            for file, _ in poller.poll(0):
                if file == own:
                    sender.hear()
                    continue
                receiver.receive()
                last = perf_counter_ns()
                arrived = sent_at[len(found) : receiver.messages]
                found += [(last - at) / 1000 for at in arrived]
            if now - last > _STALLED_SECONDS * 1e9:
                raise BenchmarkError(f"{len(found)} of {len(encoded)} arrived, no more")
    return found


def wait_for(receivers: Sequence[Receiver], seconds: float) -> bool:
    """Receive for some seconds, or until something comes; whether something came."""
    by_file = {receiver.client.socket.fileno(): receiver for receiver in receivers}
    found = _poller(list(by_file)).poll(seconds * 1000)
    for file, _ in found:
        by_file[file].receive()
    return bool(found)


def _poller(files: Sequence[int]) -> select.poll:
    poller = select.poll()
    for file in files:
        poller.register(file, _READABLE)
    return poller
