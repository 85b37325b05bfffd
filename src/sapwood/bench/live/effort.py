"""How busy the machine is while deliveries are timed, with the run and with everything else.

How long a delivery takes says something about brokers only while processors are free: on a machine
that is busy everything waits for its turn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_IDLE: Final = (3, 4)
"""Places of the idle times among those of a processor."""
_OWN: Final = (13, 14)
"""Places of the times of a process, user and system."""


class Effort(NamedTuple):
    """How many processors were busy, on average."""

    processors: int
    """How many there are."""
    brokers: float
    clients: float
    """This process: all clients, and the proxies of long links."""
    machine: float
    """Everything that ran, what is above included; zero where the system does not tell."""


class _Used(NamedTuple):
    at: float
    brokers: float
    clients: float
    machine: float


class Watched:
    """Looks at processes from now on."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._first = self._look()

    def effort(self) -> Effort:
        """What was used since then."""
        first, last = self._first, self._look()
        seconds = max(last.at - first.at, 1e-9)
        return Effort(
            os.cpu_count() or 1,
            (last.brokers - first.brokers) / seconds,
            (last.clients - first.clients) / seconds,
            (last.machine - first.machine) / seconds,
        )

    def _look(self) -> _Used:
        return _Used(
            time.monotonic(),
            sum(_process_seconds(pid) for pid in self._pids),
            time.process_time(),
            _machine_seconds(),
        )


def _process_seconds(pid: int) -> float:
    """Processor time of a process; zero where the system does not tell."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()  # its name may hold anything
    return sum(int(fields[place - 2]) for place in _OWN) / os.sysconf("SC_CLK_TCK")


def _machine_seconds() -> float:
    """Processor time of everything since the start of the machine, where the system tells it."""
    try:
        first = (_PROC / "stat").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    times = [int(one) for one in first.split()[1:9]]
    busy = sum(one for place, one in enumerate(times) if place not in _IDLE)
    return busy / os.sysconf("SC_CLK_TCK")
