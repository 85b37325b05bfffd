"""Listening for connections: where, with which certificate, and what is said if it cannot be."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable

from sapwood.errors import ListenError
from sapwood.protocol.link.line import HANDSHAKE_SECONDS
from sapwood.runtime.address import Address
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.tls import exposure


async def listen(
    accept: Callable[[], asyncio.Protocol],
    address: Address,
    settings: Settings,
    tls: ssl.SSLContext | None,
) -> asyncio.Server:
    """Let connections come in at an address; a ListenError with the remedy if they cannot."""
    problem = exposure(settings, address)
    if problem:
        raise ListenError(f"listen {problem}")
    try:
        return await asyncio.get_running_loop().create_server(
            accept,
            address.host,
            address.port,
            backlog=1024,
            ssl=tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None,
        )
    except OSError as failure:
        if failure.errno == errno.EADDRINUSE:
            raise ListenError(
                f"{address} is in use; choose another port with --listen, or stop what uses it"
            ) from None
        what = failure.strerror or str(failure)
        raise ListenError(f"cannot listen on {address}: {what}") from None
