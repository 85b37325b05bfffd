"""The process of a broker: an event loop, signals, and what the operator is told."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import uvloop

from sapwood.compiled.state import why_numba
from sapwood.fastpath.scanning import scan_long
from sapwood.fastpath.warm import exercise
from sapwood.matching import preload
from sapwood.protocol.node import Node
from sapwood.runtime.admin.readiness import why_not_ready
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.heap import keep_freed_memory
from sapwood.runtime.logs import to_stderr
from sapwood.runtime.reloading import Load, Reloading
from sapwood.runtime.server import Server
from sapwood.runtime.supervisor import ALONE_SECONDS, Supervisor
from sapwood.wire.scan import use_for_long_reads

Tell = Callable[[str], None]
Spoil = Callable[[Node, Mapping[str, str]], list[str]]

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_PATIENCE_SECONDS: Final = 3.0
_FORCED: Final = 130
"""Exit status of a process that was not given the time to end in an orderly way."""


def run_broker(
    settings: Settings,
    tell: Tell,
    *,
    stop_with_stdin: bool = False,
    spoil: Spoil | None = None,
    load: Load | None = None,
) -> None:
    """Run one broker on an event loop of its own, until SIGTERM or SIGINT.

    A second signal ends the process at once. With `stop_with_stdin` it also stops when its
    standard input ends, so that it does not outlive the program that started it. `spoil` corrupts
    its state on request, where the settings allow that. `load` reads its settings again at SIGHUP;
    without it, that signal changes accounts and certificates only.
    """
    keep_freed_memory(os.environ)
    _warm(settings, tell)
    server = Server(settings, tell, spoil, to_stderr)
    uvloop.run(_serve(server, tell, load or (lambda: settings), stop_with_stdin))


def _warm(settings: Settings, tell: Tell) -> None:
    """Load what is compiled before the first notification comes, and compile what is not."""
    text = (
        f"broker {settings.id} prepares the matching engine; "
        "the first start after an upgrade compiles it, later ones do not"
    )
    patience = threading.Timer(_PATIENCE_SECONDS, tell, [text])
    patience.daemon = True
    patience.start()
    preload(exercise)
    use_for_long_reads(scan_long)
    patience.cancel()
    reason = why_numba()
    if reason:
        tell(f"broker {settings.id} runs its kernels with Numba, not as machine code: {reason}")


async def _serve(server: Server, tell: Tell, load: Load, stop_with_stdin: bool) -> None:
    stopped = asyncio.Event()
    _stop_on_signals(stopped, tell)
    supervisor = Supervisor(os.environ)
    reloading = Reloading(server, load, tell, supervisor.reloading)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloading.begin)
    if stop_with_stdin:
        _stop_with_stdin(stopped)
    await server.start()
    patience = ALONE_SECONDS if server.node.config.joins_for_ever else math.inf
    attending = asyncio.create_task(supervisor.attend(lambda: why_not_ready(server.node), patience))
    try:
        tell(f"broker {server.settings.id} {_places(server)}")
        await _run(server, stopped, tell)
    finally:
        supervisor.stopping()
        await server.stop()
        attending.cancel()


async def _run(server: Server, stopped: asyncio.Event, tell: Tell) -> None:
    joined = asyncio.create_task(_join(server))
    waiting = asyncio.create_task(_end(server, stopped))
    try:
        await asyncio.wait({joined, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if joined.done():
            joined.result()
            tell(f"broker {server.settings.id} is part of the network")
        await waiting
        tell(f"broker {server.settings.id} shuts down")
    finally:
        for task in (joined, waiting):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


async def _end(server: Server, stopped: asyncio.Event) -> None:
    """Wait until the process is to end, or the broker has left the network."""
    ways = [asyncio.create_task(stopped.wait()), asyncio.create_task(server.ended())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()


async def _join(server: Server) -> None:
    await server.entered()
    await server.joined()


def _places(server: Server) -> str:
    """Where a broker can be found."""
    where = "only dials" if server.address is None else f"listens on {server.address}"
    admin = server.admin.url if server.admin is not None else ""
    return f"{where}, admin on {admin}" if admin else where


def _stop_on_signals(stopped: asyncio.Event, tell: Tell) -> None:
    def stop() -> None:
        if stopped.is_set():
            tell("stopped at once")
            os._exit(_FORCED)
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)


def _stop_with_stdin(stopped: asyncio.Event) -> None:
    """Let a thread wait for the end of the standard input: it may be a pipe, a file or nothing."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        with suppress(OSError):
            while os.read(sys.stdin.fileno(), 4096):
                pass
        with suppress(RuntimeError):  # the loop is closed: it has stopped already
            loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=wait, name="stdin", daemon=True).start()
