"""Telling whoever supervises the process how far it is, in the way of ``sd_notify(3)``.

systemd (and whatever imitates it) names a datagram socket in ``NOTIFY_SOCKET``. A broker says
there when it takes part, when it reloads and when it ends, and with ``WATCHDOG_USEC`` again and
again that its event loop turns. Where nobody asks for that, nothing is done; and nothing that goes
wrong here is of any consequence for the broker: it never waits, and what cannot be said is left
unsaid.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Final

ALONE_SECONDS: Final = 30.0
"""How long a broker that tries to join for ever is *starting* at most. It serves its own clients
meanwhile, and a machine whose hub does not answer must be able to finish its start."""

TURN_SECONDS: Final = 0.25
"""How often it is looked at whether something has to be said."""

_UNSENT_MAX: Final = 16


class _Phase(Enum):
    STARTING = 0
    READY = 1
    STOPPING = 2


class Supervisor:
    """The supervisor of this process, if it has one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._interval = _watchdog_seconds(environment) / 2
        self._phase = _Phase.STARTING
        self._status = ""
        """What was said last about taking part."""
        self._unsent: deque[bytes] = deque(maxlen=_UNSENT_MAX)
        """What did not fit into the socket yet, in order."""

    async def attend(
        self, why_not_ready: Callable[[], str], patience_seconds: float = math.inf
    ) -> None:
        """Say from now on what there is to say; until this is cancelled.

        The process is ready once `why_not_ready` says nothing, or when the patience is over.
        """
        if self._address is None:
            return
        given_up_at = time.monotonic() + patience_seconds
        alive_at = -math.inf
        while True:
            now = time.monotonic()
            self._look(why_not_ready(), is_overdue=now >= given_up_at)
            if now >= alive_at:
                alive_at = now + self._interval
                if self._interval < math.inf:
                    self._say("WATCHDOG=1")
            self._send()
            await asyncio.sleep(min(TURN_SECONDS, max(alive_at - time.monotonic(), 0.0)))

    def stopping(self) -> None:
        """The process begins to end."""
        self._phase = _Phase.STOPPING
        self._say("STOPPING=1", "STATUS=shuts down")
        self._send()

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Around reading the configuration again; one after the other."""
        if self._phase is _Phase.READY:
            self._say("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            self._send()
        try:
            yield
        finally:
            if self._phase is _Phase.READY:
                self._say("READY=1")
                self._send()

    def _look(self, reason: str, *, is_overdue: bool) -> None:
        """Say whether the process is ready, and what is missing, when that changes."""
        if self._phase is _Phase.STOPPING:
            return
        status = f"STATUS={reason or 'takes part'}"
        if self._phase is _Phase.STARTING and (not reason or is_overdue):
            self._phase, self._status = _Phase.READY, status
            self._say("READY=1", status)
        elif status != self._status:
            self._status = status
            self._say(status)

    def _say(self, *lines: str) -> None:
        if self._address is not None:
            self._unsent.append("\n".join(lines).encode())

    def _send(self) -> None:
        """Send what there is, as far as it can be sent without waiting."""
        if self._address is None or not self._unsent:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
                door.setblocking(False)
                while self._unsent:
                    door.sendto(self._unsent[0], self._address)
                    self._unsent.popleft()
        except BlockingIOError:
            return  # the supervisor is behind: at the next turn
        except OSError:
            self._unsent.clear()  # nobody is there


def _address(text: str) -> str | None:
    """The address of a socket in the file system, or with an @ of an abstract one; else none."""
    if text.startswith("@") and len(text) > 1:
        return f"\0{text[1:]}"
    return text if text.startswith("/") else None


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """Within which time a sign of life is wanted; infinite if none is."""
    is_meant = environment.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
    try:
        wanted = int(environment.get("WATCHDOG_USEC", ""))
    except ValueError:
        return math.inf
    return wanted / 1e6 if is_meant and wanted > 0 else math.inf
