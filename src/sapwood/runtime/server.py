"""A broker process: listening, joining, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvloop

from sapwood.errors import ListenError, RefusedError
from sapwood.runtime.address import Address, parse_address
from sapwood.runtime.joining import Joining
from sapwood.runtime.node import Node
from sapwood.runtime.reception import Reception
from sapwood.runtime.settings import Settings


class Server:
    """One broker with all that belongs to it, on the running event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.node = Node(settings, next_session(settings))
        self.joinings: list[Joining] = []
        self._reception = Reception(self.node)
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def address(self) -> Address | None:
        """Where it really listens."""
        if self._server is None:
            return None
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port)

    async def start(self) -> None:
        """Listen, and begin to join."""
        self.node.start()
        if self.settings.listen:
            await self._listen(parse_address(self.settings.listen))
        for text in self.settings.join:
            joining = Joining(self.node, parse_address(text))
            self.joinings.append(joining)
            self._tasks.append(asyncio.create_task(joining.run()))

    async def joined(self) -> None:
        """Wait for all links; a RefusedError if one will never be."""
        for joining in self.joinings:
            await joining.first

    async def stop(self) -> None:
        """End in an orderly way."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError, RefusedError):
                await task
        if self._server is not None:
            self._server.close()
        self._reception.close()
        await self.node.stop()

    async def _listen(self, address: Address) -> None:
        if not (address.is_local or self.settings.insecure or self.settings.tls.certificate):
            raise ListenError(
                f"{address.host} can be reached from other machines, and there is no TLS; "
                "set tls.certificate and tls.key, or say --insecure"
            )
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._reception.connection, address.host, address.port, backlog=1024
            )
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise ListenError(
                    f"{address} is in use; choose another port with --listen, or stop what uses it"
                ) from None
            what = problem.strerror or str(problem)
            raise ListenError(f"cannot listen on {address}: {what}") from None


def next_session(settings: Settings) -> int:
    """A number that is larger than those of all earlier starts of this broker.

    Kept in the data directory, if there is one. Else the time will do, in milliseconds; it is the
    least number in the first case too, so that a lost directory does no harm.
    """
    now = time.time_ns() // 1_000_000
    if not settings.data:
        return now
    path = Path(settings.data) / "session"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        last = int(path.read_text()) if path.exists() else 0
        session = max(last + 1, now)
        making = path.with_suffix(".tmp")
        making.write_text(f"{session}\n")
        making.replace(path)
    except (OSError, ValueError) as problem:
        raise ListenError(f"the session number cannot be kept in {path}: {problem}") from None
    return session


def run_until_stopped(
    settings: Settings,
    ready: Callable[[Address | None], None],
    joined: Callable[[], None] = lambda: None,
) -> None:
    """Run one broker on an event loop of its own, until SIGTERM or SIGINT.

    `ready` is called when it listens, `joined` when all links to `settings.join` are there.
    """
    uvloop.run(_serve(settings, ready, joined))


async def _serve(
    settings: Settings, ready: Callable[[Address | None], None], joined: Callable[[], None]
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = Server(settings)
    await server.start()
    ready(server.address)
    try:
        refused = asyncio.create_task(server.joined())
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait({refused, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if refused.done():
            refused.result()
            joined()
        await waiting
        refused.cancel()
    finally:
        await server.stop()
