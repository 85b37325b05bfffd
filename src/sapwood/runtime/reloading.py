"""SIGHUP: a running broker reads its configuration, its accounts and its certificates again.

Everything is read and checked before anything changes; if something is wrong, the broker says what
and goes on as it was. What can only be set at the start is named, and waits for the next one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from sapwood.errors import SapwoodError
from sapwood.protocol.accounts import Accounts
from sapwood.runtime.config.accounts import read_accounts
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.tls import client_context, server_context

if TYPE_CHECKING:
    from sapwood.runtime.server import Server

AT_ONCE: Final = ("token", "accounts", "account", "secret", "client", "tls")
"""Settings that a reload changes. Whether TLS is used at all is not among them."""

Load = Callable[[], Settings]


class Reloaded(NamedTuple):
    """All that a reload brings, checked."""

    settings: Settings
    accounts: Accounts | None
    dials_with: ssl.SSLContext
    later: tuple[str, ...]
    """Keys that differ and wait for the next start."""


class Reloading:
    """Reads everything again for one broker, whenever it is asked to."""

    def __init__(
        self,
        server: Server,
        load: Load,
        tell: Callable[[str], None],
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._server = server
        self._load = load
        self._tell = tell
        self._around = around
        """Entered for each reload: a supervisor wants to know (``supervisor``)."""
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[bool]] = set()

    def begin(self) -> None:
        """Reload beside everything else: files may be slow."""
        task = asyncio.get_running_loop().create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reload(self) -> bool:
        """Reload; whether something new is in force."""
        async with self._lock:
            with self._around():
                return await self._reload()

    async def _reload(self) -> bool:
        name = self._server.settings.id
        try:
            found = await asyncio.to_thread(self._read)
        except SapwoodError as problem:
            self._tell(f"broker {name}: reload changed nothing: {problem}")
            return False
        self._server.reload(found.settings, found.accounts, found.dials_with)
        later = f"; only a restart changes {', '.join(found.later)}" if found.later else ""
        self._tell(f"broker {name}: reloaded{later}")
        return True

    def _read(self) -> Reloaded:
        current, wanted = self._server.settings, self._load()
        accounts = read_accounts(wanted.accounts)
        client_context.cache_clear()
        server_context(wanted.tls)
        dials_with = client_context(wanted.tls)
        at_once: dict[str, Any] = {name: getattr(wanted, name) for name in AT_ONCE}
        if bool(current.tls.certificate) != bool(wanted.tls.certificate):
            at_once["tls"] = current.tls
        settings = msgspec.structs.replace(current, **at_once)
        later = tuple(
            name
            for name in Settings.__struct_fields__
            if getattr(settings, name) != getattr(wanted, name)
        )
        return Reloaded(settings, accounts, dials_with, later)
