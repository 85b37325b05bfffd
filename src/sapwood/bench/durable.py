"""`sapwood bench durable`: a disk spool on one link and a durable subscriber, beside memory.

Two broker processes with a link between them, a process that publishes at one and a process that
reads at the other. What is measured is the time from the first publication to the last one read,
for notifications of about 100 bytes: once with everything in memory and an ordinary subscription,
once with a journal at both brokers and a durable one. Every notification has to be read once.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.errors import BenchmarkError
from sapwood.protocol.tree import Topology
from sapwood.runtime.client import Gap, Offset, connect
from sapwood.runtime.local.local_network import LocalNetwork

PAIR: Final = Topology(("B1", "B2"), (("B1", "B2"),))
COUNT, COUNT_QUICK = 1_000_000, 20_000
NOTIFICATION_BYTES: Final = 100
WANTED: Final = 200_000
"""Notifications a second that are wanted with the journal."""

_PAYLOAD: Final = b"x" * 20
"""With its attributes, publisher and header, a notification has about a hundred bytes."""

_SECONDS_MAX: Final = 600.0
NAME: Final = "bench"


class Figures(NamedTuple):
    """What one way came to."""

    seconds: float
    read: int
    published: int

    @property
    def rate(self) -> float:
        """Notifications a second."""
        return self.published / self.seconds


def run(options: Options, progress: Progress) -> Report:
    """Measure both ways."""
    count = COUNT_QUICK if options.quick else COUNT
    found: dict[str, Figures] = {}
    for spool in ("memory", "disk"):
        progress(f"durable: {count:,} notifications with spool = {spool}")
        found[spool] = measure(spool, count)
    return _report(found)


def measure(spool: str, count: int) -> Figures:
    """Let processes publish and read so many notifications."""
    with tempfile.TemporaryDirectory(prefix="sapwood-durable-") as folder:
        network = LocalNetwork(PAIR, [f"--spool={spool}"], data=Path(folder))
        with network:
            reader = _start("read", network["B2"].url, count, spool)
            assert reader.stdout is not None
            if reader.stdout.readline().strip() != "ready":
                raise BenchmarkError("the reader of bench durable did not begin")
            began = time.perf_counter()
            publisher = _start("publish", network["B1"].url, count, spool)
            said, _ = reader.communicate(timeout=_SECONDS_MAX)
            seconds = time.perf_counter() - began
            publisher.communicate(timeout=_SECONDS_MAX)
            if publisher.returncode or reader.returncode:
                raise BenchmarkError("a process of bench durable failed; see above")
    first, read = said.split()
    return Figures(min(seconds, float(first)), int(read), count)


def _start(role: str, url: str, count: int, spool: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", __name__, role, url, str(count), spool]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own


def main(arguments: Sequence[str]) -> None:
    """What the processes do."""
    role, url, count, spool = arguments
    work = publish(url, int(count)) if role == "publish" else read(url, int(count), spool)
    try:
        import uvloop  # noqa: PLC0415 - an optional part of the installation
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


async def publish(url: str, count: int) -> None:
    """Publish as fast as the broker takes it."""
    async with connect(url, close_seconds=_SECONDS_MAX) as bus:
        for number in range(count):
            await bus.publish({"group": number & 7}, _PAYLOAD)


async def read(url: str, count: int, spool: str) -> None:
    """Read so many; say how long the last came behind the first, and how many there were."""
    async with connect(url) as bus:
        got = _read_durably(bus, count) if spool == "disk" else _read(bus, count)
        began, number = await got
        sys.stdout.write(f"{time.perf_counter() - began} {number}\n")


async def _read(bus: Any, count: int) -> tuple[float, int]:
    async with bus.subscribe("group >= 0", buffer=100_000) as found:
        _say_ready()
        number, began = 0, 0.0
        while number < count:
            items = await found.read(10_000)
            began = began or time.perf_counter()
            if any(isinstance(item, Gap) for item in items):
                raise BenchmarkError("something was lost on the way")
            number += len(items)
        return began, number


async def _read_durably(bus: Any, count: int) -> tuple[float, int]:
    durable = bus.durable(NAME)
    state = await durable.open("group >= 0")
    _say_ready()
    at, began = Offset(state.epoch, 0), 0.0
    while at.position < count:
        page = await durable.read(at, committed=at.position, size=2**20, wait=30.0)
        began = began or time.perf_counter()
        if page.first != at:
            raise BenchmarkError("something was lost on the way")
        at = page.next
    return began, at.position


def _say_ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def _report(found: dict[str, Figures]) -> Report:
    lines = [
        Line(
            spool,
            (f"{one.rate:,.0f}", f"{one.seconds:.2f}", f"{one.read:,} of {one.published:,}"),
            Style.FIGURE,
        )
        for spool, one in found.items()
    ]
    is_right = all(one.read == one.published for one in found.values())
    rate = found["disk"].rate
    return Report(
        figures={name: {**one._asdict(), "rate": one.rate} for name, one in found.items()},
        tables=[
            Table(
                f"Notifications of about {NOTIFICATION_BYTES} bytes over one link",
                ("a second", "seconds", "read"),
                lines,
            )
        ],
        notes=[
            "memory: spools in memory, an ordinary subscription;",
            "disk: a journal at both brokers, a durable subscription; fsync every 50 ms or 1 MiB.",
        ],
        conclusion=f"Every notification was read once; {rate:,.0f} a second with the journal, "
        f"{WANTED:,} are wanted."
        if is_right
        else "Some notification was lost or came twice.",
        is_right=is_right,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
