"""A soak: ``python -m sapwood.testing.soaking --brokers 40 --minutes 60 --out DIR``.

A tree of broker processes with journals and traces runs for a long time, while clients publish and
read durably (``killing``). Every few seconds a broker is killed, stopped and started again, or
stands still until its links are taken for lost. Memory, descriptors and disk of all brokers are
looked at all the time: none may grow. In the end everything that was confirmed has to be read.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from sapwood.protocol.tree import Topology
from sapwood.runtime.local.broker_process import BrokerProcess
from sapwood.testing.killing import Killing, KillingError
from sapwood.trace import check, read

IDLE_BYTES_MAX: Final = 80 * 10**6
"""What a broker may take that does nothing."""

GROWTH_MAX: Final = 1.05
"""How much more the median broker may take in the last third than in the second."""

DESCRIPTORS_MORE_MAX: Final = 16
JOURNAL_BYTES: Final = 64 * 2**20
TRACE_BYTES: Final = 4 * 2**20
CAPS: Final = f"""
[durability]
journal_bytes = {JOURNAL_BYTES}

[trace]
keep_bytes = {TRACE_BYTES}
"""
DISK_BYTES_MAX: Final = JOURNAL_BYTES + TRACE_BYTES + 2**20
"""For one broker: the caps, and what is beside them."""

_QUIET_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 20.0
"""Longer than a broker waits for one that says nothing."""
_LOOK_SECONDS: Final = 5.0


class Look(NamedTuple):
    """The brokers at one moment."""

    at: float
    resident: dict[str, int]
    descriptors: dict[str, int]
    disk: int
    """Of the one that takes most."""


class Soaked(NamedTuple):
    """What a soak came to."""

    minutes: float
    idle_bytes: int
    """The most that any broker took before anything was published."""
    looks: list[Look]
    disturbed: dict[str, int]
    confirmed: int
    read: int
    problems: list[str]


class Soak:
    """One soak, below a folder."""

    def __init__(self, brokers: int, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        caps = folder / "caps.toml"
        caps.write_text(CAPS)
        self.killing = Killing(_tree(brokers), folder, seed, [f"--config={caps}"])
        self.looks: list[Look] = []
        self.disturbed = {"killed": 0, "restarted": 0, "paused": 0}
        self._folder = folder

    def run(self, minutes: float) -> Soaked:
        """Let it run, and judge it."""
        network = self.killing.network
        with network:
            self._look()
            idle = max(self.looks[0].resident.values())
            self.killing.play(lambda: self._disturb_for(60.0 * minutes))
            self._look()
        self.killing.write_trace()
        killed = self.killing.killed()
        verdict = check(read(self.killing.clients_trace))
        problems = (
            [] if verdict.is_correct else [f"what was delivered is wrong: {verdict.counts()}"]
        )
        problems += growth(self.looks[1:], idle)
        return Soaked(
            minutes, idle, self.looks, self.disturbed, killed.confirmed, killed.read, problems
        )

    def _disturb_for(self, seconds: float) -> None:
        random, until = self.killing.random, time.monotonic() + seconds
        ways: list[Callable[[BrokerProcess], None]] = [self._kill, self._restart, self._pause]
        while time.monotonic() < until:
            self._look()
            quiet_until = time.monotonic() + random.uniform(0.5, 2.0) * _QUIET_SECONDS
            while time.monotonic() < min(quiet_until, until):
                self.killing.check()
                time.sleep(0.2)
            if time.monotonic() < until:
                broker = self.killing.network[random.choice(self.killing.network.topology.brokers)]
                random.choice(ways)(broker)

    def _kill(self, broker: BrokerProcess) -> None:
        broker.kill()
        broker.start()
        self.disturbed["killed"] += 1

    def _restart(self, broker: BrokerProcess) -> None:
        broker.stop()
        broker.start()
        self.disturbed["restarted"] += 1

    def _pause(self, broker: BrokerProcess) -> None:
        """Let it stand still for as long as a cut that is noticed."""
        broker.pause()
        time.sleep(_PAUSE_SECONDS)
        broker.resume()
        self.disturbed["paused"] += 1

    def _look(self) -> None:
        brokers = self.killing.network.values()
        self.looks.append(
            Look(
                time.time(),
                {one.id: resident(one.pid) for one in brokers},
                {one.id: len(list(Path(f"/proc/{one.pid}/fd").iterdir())) for one in brokers},
                max(self._disk(one.id) for one in brokers),
            )
        )

    def _disk(self, broker: str) -> int:
        folders = [self.killing.data / broker]
        folders += self.killing.brokers_trace.glob(f"*/*/broker={broker}")
        return sum(_size(path) for folder in folders for path in folder.rglob("*"))


def growth(looks: Sequence[Look], idle: int) -> list[str]:
    """What grew, or was too much from the beginning."""
    problems: list[str] = []
    if idle > IDLE_BYTES_MAX:
        problems.append(f"an idle broker takes {idle:,} bytes; at most {IDLE_BYTES_MAX:,}")
    third = len(looks) // 3
    if third:
        before, after = looks[third : 2 * third], looks[-third:]
        was, now = (
            median(v for one in some for v in one.resident.values()) for some in (before, after)
        )
        if now > GROWTH_MAX * was:
            problems.append(f"the median broker grew from {was:,.0f} to {now:,.0f} bytes")
        was, now = (
            max(v for one in some for v in one.descriptors.values()) for some in (before, after)
        )
        if now > was + DESCRIPTORS_MORE_MAX:
            problems.append(f"descriptors grew from {was} to {now}")
    disk = max((one.disk for one in looks), default=0)
    if disk > DISK_BYTES_MAX:
        problems.append(f"a broker takes {disk:,} bytes of disk; at most {DISK_BYTES_MAX:,}")
    return problems


def resident(pid: int) -> int:
    """Memory of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it was removed meanwhile
        return 0


def _tree(count: int) -> Topology:
    """Every broker but the first is below the one with half its number."""
    names = tuple(f"B{number}" for number in range(1, count + 1))
    links = tuple((f"B{number // 2}", f"B{number}") for number in range(2, count + 1))
    return Topology(names, links)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; 1 if something grew or was lost."""
    parser = argparse.ArgumentParser(prog="python -m sapwood.testing.soaking")
    parser.add_argument("--brokers", type=int, default=40, help="how many")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="what is disturbed follows from it")
    parser.add_argument("--out", type=Path, required=True, help="where traces and journals are")
    asked = parser.parse_args(arguments)
    soaked = Soak(asked.brokers, asked.out, asked.seed).run(asked.minutes)
    last = soaked.looks[-1]
    lines = [
        f"{soaked.minutes:g} minutes, {len(last.resident)} brokers, {soaked.disturbed}",
        f"{soaked.confirmed:,} confirmed, {soaked.read:,} read",
        f"resident: {soaked.idle_bytes:,} bytes at most when idle, "
        f"{median(last.resident.values()):,.0f} in the median at the end, "
        f"{max(last.resident.values()):,} at most",
        f"descriptors: {max(last.descriptors.values())} at most; disk of a broker: {last.disk:,}",
        *soaked.problems,
        f"{len(soaked.problems)} problems",
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return 1 if soaked.problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KillingError as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
