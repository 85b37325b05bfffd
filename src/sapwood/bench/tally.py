"""`sapwood bench tally`: what it costs to count traffic, where notifications are read.

Two brokers read the same notifications in turns: one counts nothing, the other counts for swaps and
for the routing of edges, as live brokers do. The workloads are W1, W3 and W5 of `bench network`; a
read has as many notifications as a long read of a socket. Only what the broker does with a read is
timed, without sockets: of what a whole broker does it is a part, so counting is less of that.
"""

from __future__ import annotations

from statistics import median, stdev
from time import perf_counter_ns
from typing import Final, NamedTuple

from sapwood.bench.network_load import Workload, many_topics, one_to_one, quotes
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.protocol.broker import Broker
from sapwood.protocol.config import BrokerConfig
from sapwood.protocol.effects import Forward
from sapwood.protocol.events import ControlReceived, FramesReceived, LinkUp, Tick
from sapwood.protocol.messages import Subscribe
from sapwood.protocol.neighbours import EDGES
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.protocol.optimize.messages import SWAPS
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.wire.frames import encode_head, encode_notification

SHARE_MAX: Final = 0.01
"""What counting may cost at the most."""

READ: Final = 512
"""Notifications in a read."""

WARM: Final = 8
"""Reads before anything is timed."""

RATE: Final = 200_000.0
"""Notifications a second, by which time passes for the brokers."""

FROM, TO = "left", "right"
"""Neighbours: what comes from one of them goes to the other."""


class Size(NamedTuple):
    """How much is measured."""

    rounds: int
    reads: int
    """In a round, by each of the two."""
    filters: int


QUICK: Final = Size(20, 4, 1000)
THOROUGH: Final = Size(400, 8, 10_000)


class Measured(NamedTuple):
    """What one workload came to."""

    plain: float
    """Nanoseconds per notification, without counting."""
    share: float
    """Which share counting adds, the median of all rounds."""
    error: float
    """Its standard error."""
    counted: int
    published: int


def measure(workload: Workload, size: Size) -> Measured:
    """Both in turns, each round beginning with the other one; every read is a new one."""
    plain, counting = _Reader(workload, counts=False), _Reader(workload, counts=True)
    for number in range(WARM):  # what is compiled, or remembered from the first on
        for reader in (plain, counting):
            reader.check(read_of(workload, number))
    shares, each = [], []
    for number in range(size.rounds):
        first = WARM + number * size.reads
        reads = [read_of(workload, first + at) for at in range(size.reads)]
        order = (plain, counting) if number % 2 else (counting, plain)
        took = {reader: reader.time(reads) for reader in order}
        shares.append(took[counting] / took[plain] - 1)
        each.append(took[plain] / (READ * size.reads))
    error = stdev(shares) / len(shares) ** 0.5
    return Measured(median(each), median(shares), error, counting.counted(), counting.taken)


def read_of(workload: Workload, number: int) -> bytes:
    """What one read brings: so many notifications, from where the last one ended."""
    frames = []
    for at in range(number * READ, (number + 1) * READ):
        message = workload.message(at)
        head = encode_head("publisher.1", message.attributes)
        frames.append(encode_notification(head, at + 1, 0.0, message.payload))
    return b"".join(frames)


class _Reader:
    """A broker between two neighbours, and how long its reads take."""

    def __init__(self, workload: Workload, *, counts: bool) -> None:
        config = BrokerConfig(id="middle")
        if counts:
            config = BrokerConfig(
                id="middle",
                optimization=OptimizationSettings(mode="observe"),
                edges=EdgeRoutingSettings(choice="observe"),
            )
        self.broker = Broker(config)
        self.taken = 0
        for name in (FROM, TO):
            self.broker.handle(LinkUp(name, features=(SWAPS, EDGES)), 0.0)
        for number, interest in enumerate(workload.interests):
            told = ControlReceived(TO, Subscribe(f"s{number}", interest.filter))
            self.broker.handle(told, 0.0)
        self.broker.handle(Tick(), 0.0)

    def check(self, data: bytes) -> None:
        """One read; all of it goes on to the other neighbour."""
        effects = self.broker.handle(FramesReceived(FROM, data), self.taken / RATE)
        self.taken += READ
        assert sum(one.count for one in effects if isinstance(one, Forward)) == READ

    def time(self, reads: list[bytes]) -> float:
        """Nanoseconds of some reads, and of the tick that follows."""
        begun = perf_counter_ns()
        for data in reads:
            self.broker.handle(FramesReceived(FROM, data), self.taken / RATE)
            self.taken += READ
        self.broker.handle(Tick(), self.taken / RATE)
        return perf_counter_ns() - begun

    def counted(self) -> int:
        """How many were counted; a tick after the next period takes all there is."""
        self.broker.handle(Tick(), self.taken / RATE + 2 * OptimizationSettings().period_seconds)
        return sum(
            cell[0]
            for bucket in self.broker.swapping.traffic.buckets
            for cell in bucket.sets.values()
        )


def run(options: Options, progress: Progress) -> Report:
    """Measure what counting adds."""
    size = QUICK if options.quick else THOROUGH
    workloads = [one_to_one("W1", "one to one"), many_topics(), quotes(size.filters)]
    found: dict[str, Measured] = {}
    for workload in workloads:
        progress(f"tally: {workload.name}")
        found[workload.name] = measure(workload, size)
    lines = [
        Line(
            name,
            (f"{one.plain:.0f} ns", f"{one.share:+.2%} ± {one.error:.2%}"),
            Style.OWN,
        )
        for name, one in found.items()
    ]
    lines.append(Line("at most", ("", f"{SHARE_MAX:.0%}"), Style.TARGET))
    is_right = all(one.counted == one.published for one in found.values())
    within = [name for name, one in found.items() if one.share <= SHARE_MAX + 2 * one.error]
    return Report(
        figures={name: one._asdict() for name, one in found.items()},
        tables=[Table("Counting traffic", ("a notification", "counting adds"), lines)],
        notes=[
            f"Median of {size.rounds} rounds, in turns, of {size.reads * READ:,} notifications in "
            f"reads of {READ}; without sockets.",
        ],
        conclusion=f"Within 1 %, give or take two standard errors: {', '.join(within) or 'none'}."
        if is_right
        else "Not all that was published was counted.",
        is_right=is_right,
    )
