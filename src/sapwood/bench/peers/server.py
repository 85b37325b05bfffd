"""Processes that are started to be measured: where they run, what they use, and their end.

Each gets a session of its own, so that whatever it starts ends with it, and a folder that is thrown
away. Ports are asked from the system and are free at that moment.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from sapwood.errors import BenchmarkError

HOST = "127.0.0.1"

_ALSO_LOOKED_IN = ("/usr/sbin", "/usr/local/sbin", "/sbin")
_START_SECONDS_MAX = 100.0
_STOP_SECONDS_MAX = 10.0
_PROCESSES = Path("/proc")
_LINES_SHOWN = 3
_GROUP, _RESIDENT_PAGES = 2, 21
"""Places in what the system tells of a process, counted from its state."""


class Cores(NamedTuple):
    """Where the driver and the brokers run; empty where that cannot be chosen."""

    driver: frozenset[int]
    broker: frozenset[int]


def choose_cores() -> Cores:
    """One core for the driver, another for all brokers; no choice if there is but one."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores(frozenset(), frozenset())
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return Cores(frozenset(), frozenset())
    return Cores(frozenset(usable[:1]), frozenset(usable[1:2]))


@contextmanager
def on_cores(cores: frozenset[int]) -> Iterator[None]:
    """Run on some cores only; what is started meanwhile stays there."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def find_program(name: str) -> str | None:
    """Where a program is; servers are often not in the path of a user."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_ALSO_LOOKED_IN])
    return shutil.which(name, path=path)


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A process, from its start to its end."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        cores: frozenset[int],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.name = Path(command[0]).name
        self._log = directory / "output"
        with self._log.open("wb") as log, on_cores(cores):
            self._process = subprocess.Popen(  # noqa: S603 - programs of the system, own arguments
                list(command),
                cwd=directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._process.pid

    def wait_for_port(self, port: int) -> None:
        """Return when it listens; an error if it ends before, or takes too long."""
        deadline = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise BenchmarkError(f"{self.name} has ended at its start: {self._last_words()}")
            try:
                socket.create_connection((HOST, port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise BenchmarkError(
            f"{self.name} does not listen on port {port} after {_START_SECONDS_MAX:.0f} s: "
            f"{self._last_words()}"
        )

    def processor_seconds(self) -> float | None:
        """Processor time that it and what it started have used; None where nobody tells."""
        if not (_PROCESSES / "self" / "schedstat").exists():
            return None
        used = 0
        for process, _ in self._members():
            for task in process.glob("task/*/schedstat"):
                with suppress(OSError):
                    used += int(task.read_text().split()[0])
        return used / 1e9

    def resident_bytes(self) -> int | None:
        """Memory of it and what it started; None where nobody tells."""
        if not _PROCESSES.exists():
            return None
        pages = sum(int(stat[_RESIDENT_PAGES]) for _, stat in self._members())
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _members(self) -> Iterator[tuple[Path, list[str]]]:
        """The processes of the group, and what the system tells of each, from the state on."""
        for path in _PROCESSES.glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[_GROUP]) == self.pid:
                yield path.parent, fields

    def stop(self) -> None:
        """End it, and all it has started."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS_MAX)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-_LINES_SHOWN:]) or "it said nothing"
