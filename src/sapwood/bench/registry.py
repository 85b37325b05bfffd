"""All benchmarks by name. A new one is a module with a `run`, and a line here.

The modules are imported when their benchmark runs: they pull in what they measure.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from sapwood.bench.report import Report

Progress = Callable[[str], None]
"""Tells the person who waits what is being done now."""


class Options(NamedTuple):
    """What a benchmark is asked for; each takes of it what concerns it."""

    quick: bool = False
    seed: int = 1
    filters: tuple[int, ...] = ()
    """How many filters to measure with; the benchmark's own choice if there are none."""
    before: str = ""
    """The sources of another release, to be measured beside this one instead of other brokers."""
    live: int = 0
    """How many changes of the tree processes of this machine carry out; zero for the simulator."""
    figure: str = ""
    """Where a figure is drawn, by a benchmark that has one; empty: nowhere."""


class Benchmark(NamedTuple):
    """What a benchmark is about, and the module that has its `run`."""

    about: str
    module: str

    def run(self, options: Options, progress: Progress) -> Report:
        """Measure."""
        runner: Callable[[Options, Progress], Report]
        runner = importlib.import_module(self.module).run
        return runner(options, progress)


BENCHMARKS: dict[str, Benchmark] = {
    "durable": Benchmark(
        "a disk spool on one link and a durable subscriber, beside memory",
        "sapwood.bench.durable",
    ),
    "flow": Benchmark(
        "message hops per second of the flow simulator, beside the exact one",
        "sapwood.bench.flow",
    ),
    "matching": Benchmark(
        "the matching engine beside a naive scan and the counting algorithm",
        "sapwood.bench.matching",
    ),
    "network": Benchmark(
        "live brokers beside mosquitto, NATS, RabbitMQ and ActiveMQ",
        "sapwood.bench.network",
    ),
    "optimization": Benchmark(
        "what the tree costs, by every way to choose it, beside references",
        "sapwood.bench.optimization",
    ),
    "pipeline": Benchmark(
        "the audit on Spark beside DuckDB and Polars, and studies",
        "sapwood.bench.pipeline",
    ),
    "reconfiguration": Benchmark(
        "what it costs to change the tree under load, by every method",
        "sapwood.bench.reconfiguration",
    ),
    "routing": Benchmark(
        "messages and table entries of every routing algorithm",
        "sapwood.bench.routing",
    ),
    "sim": Benchmark(
        "message hops per second of the simulator, beside SimPy",
        "sapwood.bench.sim",
    ),
    "stabilization": Benchmark(
        "time until tables and tree are right again after a fault, beside the bounds",
        "sapwood.bench.stabilization",
    ),
    "tally": Benchmark(
        "what counting traffic for optimization costs, where it is read",
        "sapwood.bench.tally",
    ),
}
