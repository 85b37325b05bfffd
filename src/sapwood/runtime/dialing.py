"""Opening a connection: dial, introduce oneself, and take the answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from sapwood.errors import RefusedError, UnreachableError
from sapwood.protocol.link.handshake import (
    PROTOCOL,
    VERSIONS,
    Goodbye,
    Hello,
    LinkMessage,
    Welcome,
)
from sapwood.runtime.address import Address
from sapwood.runtime.connection import Connection
from sapwood.runtime.tls import client_context, explained, silent_end

CONNECT_SECONDS = 5.0
"""How long dialling and the handshake may take."""


class _Caller:
    """Owner of a connection until it has been answered."""

    def __init__(self, take: Callable[[Connection, Welcome], None]) -> None:
        self.answer: asyncio.Future[Welcome] = asyncio.get_running_loop().create_future()
        self._take = take

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Frames of a stream cannot come here: the connection itself refuses them."""

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """The answer, whichever. It is taken at once: frames may come right behind it."""
        if self.answer.done():
            return
        if isinstance(message, Welcome):
            self._welcomed(connection, message)
        elif isinstance(message, Goodbye):
            reason = message.reason or message.code
            self.answer.set_exception(RefusedError(reason, message.code, message.broker))
        else:
            connection.close(Goodbye(PROTOCOL, "a Hello is answered by Welcome or Goodbye"))

    def _welcomed(self, connection: Connection, welcome: Welcome) -> None:
        oldest, newest = VERSIONS
        if not oldest <= welcome.version <= newest:
            reason = f"version {welcome.version} was never offered; {oldest}-{newest} was"
            connection.close(Goodbye(PROTOCOL, reason))
            return
        self._take(connection, welcome)
        self.answer.set_result(welcome)

    def lost(self, connection: Connection, reason: str) -> None:
        """No answer will come."""
        if not self.answer.done():
            self.answer.set_exception(UnreachableError(f"connection lost: {reason}"))


async def dial(
    address: Address,
    hello: Hello,
    take: Callable[[Connection, Welcome], None],
    now: float,
    tls: ssl.SSLContext | None = None,
) -> Welcome:
    """Connect and introduce oneself; `take` gets the connection as soon as it is welcome."""
    loop = asyncio.get_running_loop()
    caller = _Caller(take)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            transport, connection = await loop.create_connection(
                lambda: Connection(caller, now),
                address.host,
                address.port,
                ssl=(tls or client_context()) if address.tls else None,
            )
            connection.say(hello)
            try:
                return await caller.answer
            except BaseException:
                transport.abort()
                raise
    except TimeoutError:
        raise UnreachableError(f"{address} does not answer within {CONNECT_SECONDS} s") from None
    except ssl.SSLError as problem:
        raise explained(problem, address) from None
    except OSError as problem:
        if isinstance(problem, UnreachableError):
            raise UnreachableError(f"{address}: {problem}; {silent_end(address)}") from None
        what = problem.strerror or str(problem)
        raise UnreachableError(
            f"cannot reach {address}: {what}; is a broker listening there?"
        ) from None
