"""One broker with all that belongs to it: listening, joining, trace, admin endpoint, its end.

The node decides (``sapwood.protocol.node``), the driver moves bytes; here are files, certificates
and the life of the process.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import JournalError, RefusedError, UnreachableError
from sapwood.protocol.accounts import Accounts
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import (
    Append,
    ClientOrder,
    Fetch,
    Fetched,
    Joined,
    JoinFailed,
    Note,
    Reload,
    Remember,
    RememberBook,
    Restart,
    Row,
    Stop,
    Stopped,
    Sync,
    Synced,
    Trim,
    VerifySecret,
)
from sapwood.runtime.address import Address, parse_address, parse_admin
from sapwood.runtime.admin.rates import Rates
from sapwood.runtime.admin.readiness import why_not_ready
from sapwood.runtime.admin.status import Status
from sapwood.runtime.admin.status_taker import StatusTaker
from sapwood.runtime.clock import Clock
from sapwood.runtime.config.accounts import read_accounts
from sapwood.runtime.config.node import node_config
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.data_directory import DataDirectory
from sapwood.runtime.driver import Driver
from sapwood.runtime.listening import listen
from sapwood.runtime.logs import Write
from sapwood.runtime.recorders import make_journal, make_log, make_tracer
from sapwood.runtime.tls import (
    admin_uses_tls,
    client_context,
    renew,
    server_context,
)
from sapwood.runtime.tracing import TICK_SECONDS as TRACE_SECONDS
from sapwood.runtime.tracing import Tracer
from sapwood.runtime.verifying import Verifier
from sapwood.trace.columns.frames import Frames

if TYPE_CHECKING:
    from sapwood.runtime.admin.endpoint import Admin

LOOK_SECONDS: Final = 1.0
"""How often counts are looked at for their rates."""

_PATIENCE_SECONDS: Final = 1.0
"""How long the end may take longer than the node wants."""


class Server:
    """One broker on the running event loop."""

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[str], None] = lambda text: None,
        spoil: Callable[[Node, Mapping[str, str]], list[str]] | None = None,
        write: Write = lambda line: None,
    ) -> None:
        self.settings = settings
        self.admin: Admin | None = None
        self.clock = Clock()
        self._tell = tell
        self.log = make_log(settings, write)
        self._spoil = spoil if settings.admin_faults else None
        self.accounts = read_accounts(settings.accounts)
        self._data = DataDirectory(settings, lambda text: tell(f"broker {settings.id}: {text}"))
        session = self._data.next_session()
        told = (lambda at: self._bring(Synced(at)), lambda *page: self._bring(Fetched(*page)))
        self._journal = make_journal(settings, *told, self._journal_failed)
        self.failure: JournalError | None = None
        """Why this broker cannot go on, if so."""
        self.node = self._new_node(session)
        self._tls = server_context(settings.tls)
        self.driver = Driver(self.node, self.clock, self._do, client_context(settings.tls))
        self.verifier = Verifier(self.driver.bring)
        self.tracer = make_tracer(settings, session)
        self._first: dict[str, asyncio.Future[None]] = {}
        """By address to join: done with the first link, or with the reason why there is none."""
        self._stopped = asyncio.Event()
        self._rates = Rates()
        self._status = StatusTaker(self.node, settings, self._rates, self.tracer)
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._effects: dict[type, Callable[[Any], None]] = {
            Row: self._record,
            ClientOrder: self._note_order,
            Joined: self._note_joined,
            JoinFailed: self._note_failed,
            Remember: self._data.note_neighbours,
            RememberBook: self._data.note_book,
            Stopped: lambda effect: self._stopped.set(),
            Restart: self._restart,
            Note: lambda note: self.log.note(note.level, note.event, note.fields),
            VerifySecret: self.verifier.verify,
        }
        if self._journal is not None:
            self._effects |= dict.fromkeys((Append, Sync, Fetch, Trim), self._journal.do)

    @property
    def address(self) -> Address | None:
        """Where it really listens."""
        if self._server is None:
            return None
        host, port = self._server.sockets[0].getsockname()[:2]
        return Address(host, port, self._tls is not None)

    async def start(self) -> None:
        """Listen, and begin to join."""
        loop = self._loop = asyncio.get_running_loop()
        if self._journal is not None:
            self._journal.start()
        self._first = {text: loop.create_future() for text in self.settings.join}
        if self.tracer is not None:
            self.tracer.start(self.clock.now())
            self._tasks.append(asyncio.create_task(self._trace_regularly(self.tracer)))
        try:
            if self.settings.listen:
                address = parse_address(self.settings.listen)
                self._server = await listen(self.driver.accept, address, self.settings, self._tls)
            if self.settings.admin:
                await self._start_admin(parse_admin(self.settings.admin))
        except BaseException:
            await self.stop()
            raise
        self.driver.start()

    async def joined(self) -> None:
        """Wait for all links; a RefusedError if one will never be."""
        for first in self._first.values():
            await asyncio.shield(first)

    async def entered(self) -> None:
        """Wait until this broker is part of a network, over whichever link.

        An UnreachableError if nobody can be reached and nobody ever could: see `join_seconds`.
        """
        if not self._first:
            return
        patience = None if self.node.config.joins_for_ever else self.settings.join_seconds
        done, _ = await asyncio.wait(
            self._first.values(), timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            target = self.node.dialing.targets[0]
            problem = target.problem or f"no answer from {target.address}"
            raise UnreachableError(
                f"{problem} (tried for {patience:g} s; join_seconds = 0 tries for ever)"
            )
        if any(first.exception() is None for first in done):
            self._data.note_part()

    def status(self) -> Status:
        """What this broker is doing."""
        return self._status.take(self.address, self.clock.now())

    async def ended(self) -> None:
        """Wait until the node has said everything: it was stopped, or asked to leave.

        A JournalError if it cannot go on because of its journal.
        """
        await self._stopped.wait()
        if self.failure is not None:
            raise self.failure

    async def stop(self) -> None:
        """End in an orderly way."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        for first in self._first.values():
            if not first.cancel():
                first.exception()  # perhaps nobody waited for it
        self.driver.bring(Stop())
        seconds = self.settings.leave_seconds + _PATIENCE_SECONDS
        if self.node.handing is not None:  # a client that comes back is told where it goes on
            seconds += self.settings.hand_over_seconds
        elif self._server is not None:
            self._server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        if self._server is not None:
            self._server.close()
        await self.driver.close()
        self.verifier.close()
        if self._journal is not None:
            await asyncio.to_thread(self._journal.close)
        if self.tracer is not None:
            await asyncio.to_thread(self.tracer.close, self.clock.now())
        if self.admin is not None:
            await self.admin.stop()

    def reload(self, new: Settings, accounts: Accounts | None, tls: ssl.SSLContext) -> None:
        """Go on with other settings (``reloading``), all of which were checked."""
        for context in (self._tls, None if self.admin is None else self.admin.tls):
            if context is not None:
                renew(context, new.tls)
        self.settings, self.accounts, self.driver.tls = new, accounts, tls
        self._status = StatusTaker(self.node, new, self._rates, self.tracer)
        self.driver.bring(Reload(self._config(self.node.config.session)))

    # What the node asks for

    def _do(self, effect: object) -> None:
        self._effects[type(effect)](effect)

    def _restart(self, effect: Restart) -> None:
        """Begin a new session in this process: the state of the old one was impossible."""
        self._tell(f"broker {self.settings.id}: begins a new session: {effect.reason}")
        self.log.note("error", "new session", {"reason": effect.reason})
        if self._journal is not None:
            self._journal.close()
        self.node = self._new_node(self._data.next_session())
        self._status = StatusTaker(self.node, self.settings, self._rates, self.tracer)
        self.driver.replace(self.node)
        if self._journal is not None:
            self._journal.start()

    def _config(self, session: int) -> NodeConfig:
        data = self._data
        kept = (data.neighbours, data.was_part, data.former, data.book)
        return node_config(self.settings, session, *kept, self.accounts)

    def _new_node(self, session: int) -> Node:
        journal = () if self._journal is None else self._journal.open()
        return Node(self._config(session), Random(), secrets.token_hex, journal=journal)

    def _bring(self, event: Synced | Fetched) -> None:
        """Called from the thread of the journal."""
        with suppress(RuntimeError):  # the loop is closed: nobody is told any more
            self._loop.call_soon_threadsafe(self.driver.bring, event)

    def _journal_failed(self, reason: str) -> None:
        """Accepted means kept: a broker that cannot write does not go on. From that thread, too."""
        self.failure = JournalError(f"broker {self.settings.id}: {reason}; make room, and start it")
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopped.set)

    def _record(self, row: Row) -> None:
        if self.tracer is not None:
            frames = Frames(row.data, row.first, row.end)
            self.tracer.record(row.at, row.kind, row.fields, frames, row.size)

    def _note_order(self, effect: ClientOrder) -> None:
        if self.tracer is not None:
            self.tracer.client(effect.client, effect.order)

    def _note_joined(self, effect: Joined) -> None:
        first = self._first.get(effect.address)
        if first is not None and not first.done():
            first.set_result(None)

    def _note_failed(self, effect: JoinFailed) -> None:
        first = self._first.get(effect.address)
        if effect.is_final and first is not None and not first.done():
            first.set_exception(RefusedError(effect.reason, effect.code))
        else:
            self._tell(f"broker {self.settings.id}: {effect.reason} (trying again)")

    # Watching

    async def _start_admin(self, address: Address) -> None:
        from sapwood.runtime.admin.door import Door  # noqa: PLC0415 - a web server, if one is wanted
        from sapwood.runtime.admin.durables import durables  # noqa: PLC0415 - the same
        from sapwood.runtime.admin.endpoint import Admin  # noqa: PLC0415 - the same

        spoil = self._spoil
        self.admin = Admin(
            self.status,
            None if spoil is None else lambda asked: spoil(self.node, asked),
            Door(self.settings.id, lambda: self.accounts, self.verifier, self.settings.admin_hosts),
            lambda: why_not_ready(self.node),
            durables(lambda: self.node, self.clock.now, self.driver.bring),
        )
        tls = self.settings.tls if admin_uses_tls(self.settings, address) else None
        await self.admin.start(address, tls)
        self._tasks.append(asyncio.create_task(self._look_regularly()))

    # Regularly

    async def _look_regularly(self) -> None:
        while True:
            counts = {
                peer.name: (peer.frames_in, peer.frames_out) for peer in self.node.peers.values()
            }
            self._rates.look(counts, self.clock.now())
            await asyncio.sleep(LOOK_SECONDS)

    async def _trace_regularly(self, tracer: Tracer) -> None:
        while True:
            await asyncio.sleep(TRACE_SECONDS)
            tracer.tick(self.clock.now())
