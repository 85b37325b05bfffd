"""One TCP connection: bytes in, frames out; frames in, bytes out.

Frames between the two ends of the connection are handed over one by one, all others as the bytes
they are, as many as a read brought. What does not follow the format ends the connection, with a
reason for the other side.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, cast

from sapwood.errors import FrameError
from sapwood.protocol.link.handshake import LINK_CODEC, PROTOCOL, Goodbye, LinkMessage
from sapwood.wire.frames import CONTROL, HEADER, HEADER_SIZE, LINK
from sapwood.wire.scan import is_notification, scan, size_of_next

HANDSHAKE_BYTES_MAX = 64 * 1024
"""Longest frame that is taken from someone who has not introduced himself."""

CLOSE_SECONDS = 5.0
"""How long a connection that was ended may take to send what was written."""


class Owner(Protocol):
    """Whoever a connection belongs to."""

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """The other end said something about the connection."""

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Whole frames of the stream came; so many bytes of them need credit."""

    def lost(self, connection: Connection, reason: str) -> None:
        """The connection is gone, whoever ended it."""


class Connection(asyncio.Protocol):
    """A connection and its owner."""

    def __init__(self, owner: Owner, now: float) -> None:
        self.owner = owner
        self.transport: asyncio.Transport | None = None
        self.is_open = False
        """Whether both sides have introduced themselves."""
        self.heard_at = now
        self.wrote_at = now
        self.silence = 0.0
        """Longest time without a frame that the other side stands, in seconds."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.has_heard = False
        self.has_written = False
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._needed = HEADER_SIZE
        self._reason = ""
        self._impatience: asyncio.TimerHandle | None = None

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A connection is there."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by name

    def data_received(self, data: bytes) -> None:
        """A read: hand over what is whole, keep the rest."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        self.has_heard = True
        self.bytes_in += len(data)
        if self._rest:
            self._rest.append(data)
            self._rest_size += len(data)
            if self._rest_size < self._needed:
                return
            data = b"".join(self._rest)
        try:
            if self.is_open and is_notification(data):
                self._rest, self._rest_size = [], 0
                self.owner.received(self, data, 1, len(data))
            else:
                self._read(data)
        except FrameError as problem:
            self.close(Goodbye(PROTOCOL, str(problem)))

    def _read(self, data: bytes) -> None:
        end, frames, has_link, control_bytes = scan(data)
        whole = data
        self._rest, self._rest_size = [], 0
        if end < len(data):
            whole, rest = data[:end], data[end:]
            self._rest, self._rest_size = [rest], len(rest)
            self._needed = size_of_next(rest)
            if not self.is_open and self._needed > HANDSHAKE_BYTES_MAX:
                raise FrameError(f"a frame of {self._needed} bytes before the handshake is done")
        if has_link:
            self._read_mixed(whole)
        elif frames:
            self._hand_over(whole, frames, end - control_bytes)

    def _read_mixed(self, data: bytes) -> None:
        """Frames of the stream, and between them frames of the connection."""
        start, at, frames, size = 0, 0, 0, 0
        while at < len(data) and not self.is_closing:
            kind, body, head = HEADER.unpack_from(data, at)
            following = at + HEADER_SIZE + head + body
            if kind == LINK:
                if frames:
                    self._hand_over(data[start:at], frames, size)
                message = LINK_CODEC.decode(data[at + HEADER_SIZE + head : following])
                self.owner.said(self, message)
                start, frames, size = following, 0, 0
            else:
                frames += 1
                if kind != CONTROL:
                    size += following - at
            at = following
        if frames and not self.is_closing:
            self._hand_over(data[start:at], frames, size)

    def _hand_over(self, data: bytes, frames: int, size: int) -> None:
        if not self.is_open:
            kind = "control" if data[0] == CONTROL else f"type {data[0]}"
            raise FrameError(f"a frame ({kind}) before the handshake is done; begin with Hello")
        self.owner.received(self, data, frames, size)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if self._impatience is not None:
            self._impatience.cancel()
        self.is_open = False
        self.transport = None
        self.owner.lost(self, self._reason or (str(exc) if exc else "closed by the other side"))

    # For the owner

    @property
    def is_closing(self) -> bool:
        """Whether nothing more goes out or comes in."""
        return self.transport is None or self.transport.is_closing()

    @property
    def peer(self) -> str:
        """The address of the other end."""
        address = self.transport.get_extra_info("peername") if self.transport else None
        return f"{address[0]}:{address[1]}" if address else "?"

    @property
    def unsent(self) -> int:
        """Bytes that were written and are still here, since the other side does not read."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    @property
    def certificate(self) -> dict[str, Any] | None:
        """What the other end showed and a trusted authority vouches for; None without TLS."""
        return self.transport.get_extra_info("peercert") if self.transport else None

    def write(self, data: bytes) -> None:
        """Send bytes."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        self.has_written = True
        self.bytes_out += len(data)
        transport.write(data)

    def say(self, message: LinkMessage) -> None:
        """Send something about the connection."""
        self.write(LINK_CODEC.encode(message))

    def close(self, goodbye: Goodbye) -> None:
        """End the connection, with a reason for the other side.

        What was written still goes out, unless the other side does not read for too long.
        """
        if self.is_closing:
            return
        self._reason = self._reason or goodbye.reason or goodbye.code
        self.say(goodbye)
        assert self.transport is not None
        self.transport.close()
        loop = asyncio.get_running_loop()
        self._impatience = loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def abort(self, reason: str) -> None:
        """End the connection at once."""
        self._reason = self._reason or reason
        if self.transport is not None:
            self.transport.abort()
