"""Brokers for tests, in this process: on the test's own event loop, or on one in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import uvloop

from sapwood.runtime.config.settings import Settings
from sapwood.runtime.server import Server

Result = TypeVar("Result")

ANY_PORT = "127.0.0.1:0"


def run(coroutine: Coroutine[Any, Any, Result], seconds: float = 60.0) -> Result:
    """Run a test's coroutine, but not for ever."""

    async def limited() -> Result:
        async with asyncio.timeout(seconds):
            return await coroutine

    return uvloop.run(limited())


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def serving(name: str = "B1", **settings: Any) -> AsyncIterator[Server]:
    """A broker on a free port, linked to those it is told to join."""
    server = Server(Settings(**{"id": name, "listen": ANY_PORT, **settings}))
    await server.start()
    try:
        await server.joined()
        yield server
    finally:
        await server.stop()


@contextmanager
def chain_in_background(
    count: int, *, each: Sequence[dict[str, Any]] = (), **settings: Any
) -> Iterator[list[Server]]:
    """Brokers B1 to BN, one linked to the next, on an event loop in a thread.

    `each` has settings of one broker after the other, beside those of all.
    """
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def call(coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)

    async def make(number: int, join: tuple[str, ...]) -> Server:
        own = each[number - 1] if each else {}
        given = {"listen": ANY_PORT, "admin": ANY_PORT, **settings, **own}
        server = Server(Settings(**{"id": f"B{number}", "join": join, **given}))
        await server.start()
        await server.joined()
        return server

    servers: list[Server] = []
    try:
        for number in range(1, count + 1):
            join = (str(servers[-1].address),) if servers else ()
            servers.append(call(make(number, join)))
        yield servers
    finally:
        for server in reversed(servers):
            call(server.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
