"""One run with real processes: changes that are measured, then many in a row, then the verdict.

First links are exchanged with quiet times between, to see what a change does to deliveries; then
links are exchanged and swapped and brokers leave and come back, one after the other. What
subscribers have seen and what the traces of all brokers say must both be right.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.bench.live.changes import MOVES, WEIGHTS, Change, Changes
from sapwood.bench.live.clients import Clients, Sample
from sapwood.bench.live.effort import Effort, Watched
from sapwood.bench.live.measuring import Figures, figures
from sapwood.bench.live.network import LiveNetwork
from sapwood.bench.live.spans import spans_of, timed
from sapwood.bench.live.upgrade import upgrade
from sapwood.bench.registry import Progress
from sapwood.runtime.client import connect
from sapwood.runtime.client.options import DEFAULT_NETWORK
from sapwood.trace import check, read
from sapwood.trace.judge.verdict import VIOLATIONS, Verdict

VISIT_SECONDS: Final = 0.5
"""How often somebody subscribes somewhere for a moment."""

QUIET_SECONDS: Final = 0.3
"""Between two changes that are measured."""

QUIET_LINKS: Final = 40
"""How many times the delay of a link is added to that: no change may take longer."""

FINISH_SECONDS: Final = 120.0
"""How long what is under way may take in the end: the machine may be busy."""


class LiveSize(NamedTuple):
    """How much is done."""

    brokers: int = 8
    rate: float = 2000.0
    """Notifications that are published a second, by all publishers together."""
    measured: int = 300
    """Changes with quiet times between."""
    changes: int = 1000
    """Changes in a row."""
    delay_seconds: float = 0.0
    """Of a link, each way."""


class LiveOutcome(NamedTuple):
    """What came of it."""

    size: LiveSize
    completed: dict[str, int]
    """Changes by kind."""
    refused: dict[str, int]
    returns: int
    """How often a broker that had left has joined again."""
    seconds: float
    published: int
    received: int
    problems: list[str]
    """What subscribers saw that is wrong."""
    judge: str = ""
    """Who has judged the traces."""
    figures: Figures | None = None
    effort: Effort | None = None
    """What it cost while deliveries were timed."""
    counts: dict[str, int] = {}  # noqa: RUF012 - of a value
    """What the checkers say of the traces."""

    @property
    def rate(self) -> float:
        """Notifications that were published a second."""
        return self.published / self.seconds

    @property
    def is_right(self) -> bool:
        """Whether nothing was lost, repeated or out of order."""
        return not self.problems and not any(self.counts[kind] for kind in VIOLATIONS)

    @property
    def for_machines(self) -> dict[str, Any]:
        """All of it, for JSON."""
        found = self._asdict()
        found["size"] = self.size._asdict()
        if self.figures is not None:
            found["figures"] = {
                "lengths": [{**one._asdict(), "ratio": one.ratio} for one in self.figures.lengths],
                "not_crossing": [
                    {**one._asdict(), "ratio": one.ratio} for one in self.figures.not_crossing
                ],
                "together": {
                    **self.figures.together._asdict(),
                    "ratio": self.figures.together.ratio,
                },
                "ratios": self.figures.ratios,
                "throughput": self.figures.throughput,
                "seconds": self.figures.seconds,
            }
        if self.effort is not None:
            found["effort"] = self.effort._asdict()
        return {**found, "rate": self.rate}


def plainly(trace: Path) -> dict[str, int]:
    """What the plain checkers say of a trace."""
    return check(read(trace)).counts()


def on_spark(trace: Path) -> dict[str, int]:
    """What the audit on Spark says of a trace."""
    from sapwood.pipeline.auditing.report import audit_directory  # noqa: PLC0415 - Spark is optional

    report = audit_directory(trace)
    return {name: getattr(report, name) for name in Verdict().counts()}


class Measured(NamedTuple):
    """Changes with quiet times between, and all deliveries meanwhile."""

    changes: list[Change]
    samples: list[Sample]
    until: float
    """When the last quiet time ended."""
    effort: Effort

    def figures(self, trace: Path) -> Figures | None:
        """What changes did to deliveries; when they were under way is in the traces."""
        if not self.changes:
            return None
        return figures(self.samples, timed(self.changes, spans_of(trace)), self.until)


async def change_under_load(
    size: LiveSize, folder: Path, seed: int, progress: Progress, *, with_spark: bool
) -> LiveOutcome:
    """Change the tree of running brokers, and judge what became of the notifications."""
    random = Random(seed)
    progress(f"reconfiguration, live: starting {size.brokers} brokers")
    async with (
        LiveNetwork(size.brokers, folder, seed, size.delay_seconds) as network,
        Clients(network.urls, size.rate, random) as clients,
    ):
        began = time.monotonic()
        changes = Changes(network, clients, random)
        progress(f"reconfiguration, live: {size.measured} changes, measured")
        measured = await _measured(changes, size)
        progress(f"reconfiguration, live: {size.changes} changes in a row")
        clients.receive_visitors(VISIT_SECONDS)
        await changes.run(size.changes, WEIGHTS)
        seconds = time.monotonic() - began
        missing = await clients.finish(FINISH_SECONDS)
        outcome = LiveOutcome(
            size,
            dict(Counter(one.wanted.wish for one in changes.done)),
            dict(changes.refusals),
            changes.returns,
            seconds,
            clients.published,
            clients.received,
            [*clients.problems, *missing],
        )
    progress(f"reconfiguration, live: judging the traces{' on Spark' * with_spark}")
    return outcome._replace(
        judge="the audit on Spark" if with_spark else "the plain checkers",
        figures=measured.figures(network.trace),
        effort=measured.effort if size.measured else None,
        counts=await asyncio.to_thread(on_spark if with_spark else plainly, network.trace),
    )


async def _measured(changes: Changes, size: LiveSize) -> Measured:
    """Carry out changes with quiet times between, and time all deliveries."""
    clients, quiet = changes.clients, QUIET_SECONDS + QUIET_LINKS * size.delay_seconds
    watched = Watched(changes.network.pids)
    clients.time_deliveries(True)
    before = len(changes.done)
    while len(changes.done) < before + size.measured:
        await asyncio.sleep(quiet)
        await changes.one(MOVES)
    await asyncio.sleep(quiet)
    clients.time_deliveries(False)
    return Measured(changes.done[before:], clients.samples(), time.time(), watched.effort())


class Upgraded(NamedTuple):
    """What came of a rolling upgrade."""

    done: list[str]
    published: int
    problems: list[str]
    counts: dict[str, int]


async def upgrade_under_load(size: LiveSize, folder: Path, seed: int) -> Upgraded:
    """Upgrade all brokers of a tree one after the other, and judge what became of everything."""
    async with (
        LiveNetwork(size.brokers, folder, seed, size.delay_seconds) as network,
        Clients(network.urls, size.rate, Random(seed)) as clients,
        connect(network.urls["B1"], id="operator", network=DEFAULT_NETWORK) as operator,
    ):
        done = await upgrade(network, operator)
        missing = await clients.finish(FINISH_SECONDS)
        problems = [*clients.problems, *missing]
    counts = await asyncio.to_thread(plainly, network.trace)
    return Upgraded(done, clients.published, problems, counts)
