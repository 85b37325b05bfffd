"""`sapwood bench network`: Sapwood beside the brokers people use, under the same driver.

Peers are optional: what is not installed is named, and left out. Instead of them, another release
of Sapwood can be measured beside this one: that tells what a change costs. All brokers of a
workload run at the same time and have their turns one after the other, so that a slow minute of the
machine hits all alike. After each round every message is looked for at every subscriber: a rate
counts only if all of them arrived, each once, in order, as they were published.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from sapwood.bench.measuring import percentile
from sapwood.bench.network_load import (
    Workload,
    fan_out,
    many_topics,
    many_topics_all_different,
    one_to_one,
    quotes,
)
from sapwood.bench.network_memory import Memory, measure_memory
from sapwood.bench.network_outcome import (
    LATENCY,
    OWN,
    P50,
    P99,
    PROCESSOR,
    RATE,
    TRACED,
    TRACING,
    Outcome,
    medians,
)
from sapwood.bench.network_report import Findings, report
from sapwood.bench.network_round import Contender
from sapwood.bench.network_trace import kept
from sapwood.bench.peers.activemq import ActiveMQ
from sapwood.bench.peers.mosquitto import Mosquitto
from sapwood.bench.peers.nats import Nats
from sapwood.bench.peers.peer import Network, Peer
from sapwood.bench.peers.rabbitmq import RabbitMQ
from sapwood.bench.peers.sapwood import Sapwood
from sapwood.bench.peers.server import choose_cores, on_cores
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Report
from sapwood.errors import BenchmarkError

LATENCY_RATE = 2000.0
"""Messages a second at which latencies are taken."""


class Size(NamedTuple):
    """How thoroughly things are measured."""

    rounds: int
    seconds: float
    """About how long one round takes."""
    latencies: int
    """Messages of a round whose latency is taken."""
    filters: tuple[int, ...]
    chains: tuple[int, ...]
    clients: int
    """How many idle ones the memory is measured with."""
    subscriptions: int


_THOROUGH = Size(5, 0.3, 4000, (1000, 10_000), (2, 3), 1000, 10_000)
_QUICK = Size(1, 0.05, 400, (1000,), (2,), 50, 500)

_ROUNDS_BESIDE_BEFORE = 15
"""Small differences need more rounds."""

_BY_TOPIC: tuple[Peer, ...] = (Sapwood(), Mosquitto(), Nats())
_BY_CONTENT: tuple[Peer, ...] = (Sapwood(), RabbitMQ(), ActiveMQ())
_TRACING: tuple[Peer, ...] = (Sapwood(), Sapwood(traced=True))


class Group(NamedTuple):
    """Workloads for which the same brokers run."""

    peers: tuple[Peer, ...]
    workloads: list[Workload]
    brokers: int = 1


def run(options: Options, progress: Progress) -> Report:
    """Measure all workloads, beside all peers that are there."""
    size = _QUICK if options.quick else _THOROUGH
    if options.filters:
        size = size._replace(filters=options.filters)
    if options.before and not options.quick:
        size = size._replace(rounds=_ROUNDS_BESIDE_BEFORE)
    return Benchmark(size, progress).run(groups(size, options.before))


def groups(size: Size, before: str = "") -> list[Group]:
    """What is measured, in order; beside the sources of another release, or beside all peers."""
    by_topic, by_content = _BY_TOPIC, _BY_CONTENT
    if before:
        by_topic = by_content = (Sapwood(), Sapwood(sources=before))
    single = [
        one_to_one("W1", "one to one"),
        one_to_one("W1u", "one by one", is_batched=False),
        fan_out(),
        many_topics(),
        many_topics_all_different(),
        one_to_one(LATENCY, f"at {LATENCY_RATE:,.0f}/s", is_batched=False),
    ]
    chains = [
        Group(by_topic, [one_to_one(f"W4/{length}", f"chain of {length}")], length)
        for length in size.chains
    ]
    content = Group(by_content, [quotes(filters) for filters in size.filters])
    tracing = Group(_TRACING, [one_to_one(TRACING, "one to one")])
    return [Group(by_topic, single), *chains, content, tracing]


class Benchmark:
    """One run of the benchmark."""

    def __init__(self, size: Size, progress: Progress) -> None:
        self._size = size
        self._progress = progress
        self._cores = choose_cores()
        self._notes: list[str] = []
        self._failures: list[str] = []
        self._traced_messages = 0

    def run(self, groups: Sequence[Group]) -> Report:
        """Measure all groups, and the memory of Sapwood."""
        outcomes: list[Outcome] = []
        with tempfile.TemporaryDirectory() as folder, on_cores(self._cores.driver):
            for number, group in enumerate(groups):
                with self._running(group, Path(folder) / str(number)) as networks:
                    for workload in group.workloads:
                        outcomes.append(self._measure(workload, networks))
            traced = kept(Path(folder), self._traced_messages) if self._traced_messages else None
            memory = self._memory(Path(folder) / "memory")
        return report(
            Findings(
                outcomes, memory, traced, self._notes, self._failures, bool(self._cores.broker)
            )
        )

    def _memory(self, folder: Path) -> Memory | None:
        self._progress("network: memory")
        size = self._size
        try:
            return measure_memory(folder, self._cores, size.clients, size.subscriptions)
        except (BenchmarkError, OSError) as problem:
            self._failures.append(f"memory: {problem}")
            return None

    @contextmanager
    def _running(self, group: Group, folder: Path) -> Iterator[dict[str, Network]]:
        """The brokers of a group, while they are measured."""
        with ExitStack() as stack:
            networks: dict[str, Network] = {}
            for peer in group.peers:
                if missing := peer.missing():
                    self._note(f"Left out, since it is not installed: {missing}.")
                    continue
                self._progress(f"network: starting {peer.name}")
                try:
                    network = peer.start(group.brokers, folder / peer.name, self._cores)
                except (BenchmarkError, OSError) as problem:
                    self._failed(peer.name, f"{peer.name}: {problem}")
                    continue
                stack.callback(network.stop)
                networks[peer.name] = network
            yield networks

    def _measure(self, workload: Workload, networks: dict[str, Network]) -> Outcome:
        """All brokers under one workload, in turns."""
        rounds: dict[str, list[dict[str, float]]] = {}
        with ExitStack() as stack:
            turns: dict[str, Turn] = {}
            for name, network in networks.items():
                self._progress(f"network: {workload.name}, {name} gets ready")
                try:
                    contender = Contender(name, network, workload)
                    stack.callback(contender.close)
                    turns[name] = Turn(contender, self._size)
                except (BenchmarkError, OSError) as problem:
                    self._failed(name, f"{workload.name}: {problem}")
            for number in range(self._size.rounds):
                self._progress(f"network: {workload.name}, round {number + 1}")
                for name, turn in list(turns.items()):
                    try:
                        rounds.setdefault(name, []).append(turn.take())
                    except (BenchmarkError, OSError) as problem:
                        self._failed(name, f"{workload.name}: {problem}")
                        del turns[name]
            if TRACED in turns:
                self._traced_messages += turns[TRACED].published
        compared = P50 if workload.name == LATENCY else RATE
        return Outcome(
            workload.name,
            workload.about,
            {name: medians(rounds[name]) for name in turns},
            {name: [each[compared] for each in rounds[name]] for name in turns},
        )

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _failed(self, name: str, text: str) -> None:
        """What a peer does wrong is a note, what Sapwood does wrong a failure."""
        if name in {OWN, TRACED}:
            self._failures.append(text)
        else:
            self._note(f"Left out: {text}.")


class Turn:
    """One broker's turn in each round of a workload."""

    def __init__(self, contender: Contender, size: Size) -> None:
        self._contender = contender
        self._is_latency = contender.workload.name == LATENCY
        self._count = size.latencies if self._is_latency else contender.fitting_count(size.seconds)

    @property
    def published(self) -> int:
        """How many messages were published so far."""
        return self._contender.published

    def take(self) -> dict[str, float]:
        """The figures of one round."""
        if self._is_latency:
            found = self._contender.latencies(self._count, LATENCY_RATE)
            return {P50: percentile(found, 0.5), P99: percentile(found, 0.99)}
        rate, processor_ns = self._contender.round(self._count)
        figures = {RATE: rate}
        if processor_ns is not None:
            figures[PROCESSOR] = processor_ns
        return figures
