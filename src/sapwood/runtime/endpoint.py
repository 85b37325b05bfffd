"""One end of a TCP connection: it brings to a driver what happens there.

A connection counts from the moment when the transport says that it is made; with TLS that is after
the handshake of TLS, so that one which fails leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from sapwood.protocol.ports import Connected, Disconnected, DriverEvent
from sapwood.runtime.tls import certificate_names

CLOSE_SECONDS: Final = 5.0
"""How long a connection that was ended may take to send what was written."""


class EndpointOwner(Protocol):
    """What an endpoint needs of its driver."""

    def bring(self, event: DriverEvent) -> None:
        """Bring an event to the machine."""

    def receive(self, number: int, data: bytes) -> None:
        """Bring a read to the machine."""

    def add(self, endpoint: Endpoint) -> int:
        """Number a connection that was made."""

    def remove(self, endpoint: Endpoint) -> None:
        """Forget a connection that is gone."""


class Endpoint(asyncio.Protocol):
    """A connection with the number under which the machine knows it."""

    def __init__(self, owner: EndpointOwner, dial: int = 0, silence_hint: str = "") -> None:
        self.number = 0
        """Zero until the connection is made."""
        self.transport: asyncio.Transport | None = None
        self._owner = owner
        self._dial = dial
        self._hint = silence_hint
        """What it may mean that the connection ends before anything came over it."""
        self._is_ended = False
        self._is_lost = False
        self._reason = ""
        self._impatience: asyncio.TimerHandle | None = None

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Number the connection, and tell the machine."""
        made = self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by name
        self.number = self._owner.add(self)
        peer = made.get_extra_info("peername")
        certificate = made.get_extra_info("peercert")
        self._owner.bring(
            Connected(
                self.number,
                self._dial,
                f"{peer[0]}:{peer[1]}" if peer else "?",
                tuple(sorted(certificate_names(certificate))) if certificate else None,
            )
        )

    def data_received(self, data: bytes) -> None:
        """Bring a read to the machine, unless it has ended the connection."""
        if not self._is_ended:
            self._hint = ""
            self._owner.receive(self.number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the machine why the connection is gone; once.

        The driver says it, too, if the loop gives up a connection that was made: uvloop closes it
        without a word when the time to dial is over between the two.
        """
        if self._is_lost:
            return
        self._is_lost = True
        if self._impatience is not None:
            self._impatience.cancel()
        self._is_ended = True
        if not self.number:
            return  # TLS failed before there was a connection
        self._owner.remove(self)
        reason = self._reason
        if not reason:
            reason = str(exc) if exc else "closed by the other side"
            reason += f"; {self._hint}" if self._hint else ""
        self._owner.bring(Disconnected(self.number, reason))

    # For the driver

    def close(self, reason: str) -> None:
        """End the connection when everything written has left, or the patience is over."""
        if self._is_ended or self.transport is None:
            return
        self._is_ended = True
        self._reason = reason
        self.transport.close()
        loop = asyncio.get_running_loop()
        self._impatience = loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def abort(self, reason: str) -> None:
        """End the connection at once."""
        self._is_ended = True
        self._reason = self._reason or reason
        if self.transport is not None:
            self.transport.abort()
