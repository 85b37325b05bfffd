"""One broker with all that belongs to it: listening, joining, admin endpoint, an orderly end."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from sapwood.errors import ListenError, RefusedError, UnreachableError
from sapwood.runtime.address import Address, parse_address, parse_admin
from sapwood.runtime.admin.rates import Rates
from sapwood.runtime.admin.status import JoinStatus, Status
from sapwood.runtime.admin.status_taker import StatusTaker
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.joining import Joining
from sapwood.runtime.node import Node
from sapwood.runtime.reception import HANDSHAKE_SECONDS, Reception
from sapwood.runtime.session import next_session, note_part, was_part
from sapwood.runtime.tls import client_context, exposure, server_context

if TYPE_CHECKING:
    from sapwood.runtime.admin.endpoint import Admin

LOOK_SECONDS = 1.0
"""How often counts are looked at for their rates."""


class Server:
    """One broker on the running event loop."""

    def __init__(self, settings: Settings, tell: Callable[[str], None] = lambda text: None) -> None:
        self.settings = settings
        self._tell = tell
        self.node = Node(settings, next_session(settings))
        self.joinings: list[Joining] = []
        self.admin: Admin | None = None
        self._rates = Rates()
        self._status = StatusTaker(self.node, self._rates)
        self._reception = Reception(self.node)
        self._tls = server_context(settings.tls)
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def address(self) -> Address | None:
        """Where it really listens."""
        if self._server is None:
            return None
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port, self._tls is not None)

    async def start(self) -> None:
        """Listen, and begin to join."""
        self.node.start()
        try:
            if self.settings.listen:
                await self._listen(parse_address(self.settings.listen))
            if self.settings.admin:
                await self._start_admin(parse_admin(self.settings.admin))
        except BaseException:
            await self.stop()
            raise
        for text in self.settings.join:
            joining = Joining(
                self.node,
                parse_address(text),
                client_context(self.settings.tls),
                tell=self._tell_of_join,
            )
            self.joinings.append(joining)
            self._tasks.append(asyncio.create_task(joining.run()))

    async def joined(self) -> None:
        """Wait for all links; a RefusedError if one will never be."""
        for joining in self.joinings:
            await joining.first

    async def entered(self) -> None:
        """Wait until this broker is part of a network, over whichever link.

        An UnreachableError if nobody can be reached and nobody ever could: see `join_seconds`.
        """
        settings = self.settings
        firsts = [joining.first for joining in self.joinings]
        if not firsts:
            return
        patience = None if was_part(settings) else settings.join_seconds or None
        done, _ = await asyncio.wait(firsts, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            problem = self.joinings[0].last_problem or f"no answer from {self.joinings[0].address}"
            raise UnreachableError(
                f"{problem} (tried for {patience:g} s; join_seconds = 0 tries for ever)"
            )
        if any(first.exception() is None for first in done):
            note_part(settings)

    def status(self) -> Status:
        """What this broker is doing."""
        joins = tuple(
            JoinStatus(
                address=str(joining.address),
                is_linked=joining.is_linked,
                problem="" if joining.is_linked else joining.last_problem,
            )
            for joining in self.joinings
        )
        return self._status.take(self.address, joins)

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
        if self.admin is not None:
            await self.admin.stop()

    async def _listen(self, address: Address) -> None:
        problem = exposure(self.settings, address)
        if problem:
            raise ListenError(f"listen {problem}")
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._reception.connection,
                address.host,
                address.port,
                backlog=1024,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if self._tls else None,
            )
        except OSError as failure:
            if failure.errno == errno.EADDRINUSE:
                raise ListenError(
                    f"{address} is in use; choose another port with --listen, or stop what uses it"
                ) from None
            what = failure.strerror or str(failure)
            raise ListenError(f"cannot listen on {address}: {what}") from None

    def _tell_of_join(self, problem: str) -> None:
        self._tell(f"broker {self.settings.id}: {problem} (trying again)")

    async def _start_admin(self, address: Address) -> None:
        from sapwood.runtime.admin.endpoint import Admin  # noqa: PLC0415 - a web server, if one is wanted

        self.admin = Admin(self.status)
        await self.admin.start(address)
        self._tasks.append(asyncio.create_task(self._look_regularly()))

    async def _look_regularly(self) -> None:
        while True:
            counts = {
                peer.name: (peer.frames_in, peer.frames_out) for peer in self.node.peers.values()
            }
            self._rates.look(counts, self.node.clock.now())
            await asyncio.sleep(LOOK_SECONDS)
