"""`sapwood bench sim`: how many message hops per second the simulator makes, beside SimPy.

The same tree, the same interests and the same publications, hop by hop: Sapwood with its real
brokers, SimPy with brokers that only look up a table. CPU time of one core; rounds interleaved,
the best of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from random import Random
from typing import Any, NamedTuple

from sapwood.bench.process import call_fresh
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.bench.simpy_model import Model, Publication, Tables
from sapwood.filters.filter import Filter
from sapwood.filters.values import Value
from sapwood.matching.workload import Workload
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.network import Network
from sapwood.sim.topology import random_tree

HOPS_TARGET = 150_000
"""Message hops per second to reach, on classes."""

MEGABYTES_TARGET = 4000
"""Memory that the large network may take at most."""

_DELAY = 0.01


class Size(NamedTuple):
    """How much is simulated."""

    brokers: int
    classes: int
    subscriptions: int
    publications: int
    rounds: int


_LARGE = {"brokers": 1000, "subscriptions": 100_000, "classes": 1000}
_THOROUGH = Size(100, 1000, 2000, 60_000, 3)
_QUICK = Size(30, 100, 200, 2_000, 2)


class Load(NamedTuple):
    """What is published, over which tree, to which interests."""

    topology: Topology
    interests: list[tuple[str, Filter]]
    publications: list[tuple[float, str, dict[str, Value]]]


Measure = Callable[[Load, Size], tuple[int, float]]


def run(options: Options, progress: Progress) -> Report:
    """Measure both simulators, on classes and on content."""
    size = _QUICK if options.quick else _THOROUGH
    load = class_load(size, options.seed)
    rates: dict[str, list[float]] = {}
    hops: dict[str, int] = {}
    for turn in range(size.rounds):
        progress(f"sim: round {turn + 1} of {size.rounds}")
        for name, measure in _contestants():
            hops[name], seconds = measure(load, size)
            rates.setdefault(name, []).append(hops[name] / seconds)
    progress("sim: content-based workload")
    content_hops, content_seconds = measure_sapwood(content_load(size, options.seed), size)
    best = {name: max(values) for name, values in rates.items()}
    large = [] if options.quick else _measure_large(options.seed, progress)
    return _report(best, hops, content_hops / content_seconds, size, large)


def _measure_large(seed: int, progress: Progress) -> list[dict[str, Any]]:
    """The large network under two algorithms, each in a process of its own."""
    found = []
    for algorithm in ("identity", "covering"):
        progress(f"sim: 1,000 brokers, 100,000 subscriptions, {algorithm} (some minutes)")
        plan = {**_LARGE, "seed": seed, "algorithm": algorithm}
        found.append(call_fresh("sapwood.bench.sim_large:measure", plan))
    return found


def class_load(size: Size, seed: int) -> Load:
    """Interests in classes, and publications of classes, all drawn evenly."""
    random = Random(f"bench sim {seed}")
    topology = random_tree(size.brokers, random)
    interests = [
        (random.choice(topology.brokers), Filter(f"class = {random.randrange(size.classes)}"))
        for _ in range(size.subscriptions)
    ]
    publications: list[tuple[float, str, dict[str, Value]]] = [
        (number / 1000, random.choice(topology.brokers), {"class": random.randrange(size.classes)})
        for number in range(size.publications)
    ]
    return Load(topology, interests, publications)


def content_load(size: Size, seed: int) -> Load:
    """The matching benchmark's filters and events: hardly two events are alike."""
    random = Random(f"bench sim content {seed}")
    topology = random_tree(size.brokers, random)
    workload = Workload("plain", seed)
    interests = [
        (random.choice(topology.brokers), filter) for filter in workload.filters(size.subscriptions)
    ]
    publications = [
        (number / 1000, random.choice(topology.brokers), event)
        for number, event in enumerate(workload.events(size.publications // 10))
    ]
    return Load(topology, interests, publications)


def build(load: Load) -> Network:
    """The network with all interests settled, one client per subscription and per broker."""
    network = Network(Random(1))
    routing = peer_to_peer(load.topology.links, "identity")
    for name in load.topology.brokers:
        network.add_broker(name)
        network.connect(f"P-{name}.1", name)
    for left, right in load.topology.links:
        network.add_link(left, right, lambda random: _DELAY, routing)
    for number, (broker, filter) in enumerate(load.interests):
        session = f"S-{number}.1"
        network.connect(session, broker)
        network.subscribe(session, filter.id, str(filter), settle=False)
    network.kernel.run()
    return network


def measure_sapwood(load: Load, size: Size) -> tuple[int, float]:
    """Hops and CPU seconds of all publications in Sapwood's simulator."""
    network = build(load)
    start_at = network.kernel.now
    before = hops_of(network)
    publications = iter(load.publications)

    def publish(broker: str, attributes: dict[str, Value]) -> None:
        network.publish(f"P-{broker}.1", attributes)
        schedule()

    def schedule() -> None:
        following = next(publications, None)
        if following is not None:
            at, broker, attributes = following
            network.kernel.at(start_at + at, publish, broker, attributes)

    begin = time.process_time()
    schedule()
    network.kernel.run()
    return hops_of(network) - before, time.process_time() - begin


def hops_of(network: Network) -> int:
    """Notifications that went over a link so far."""
    return sum(direction.notifications for direction in network.directions.values())


def tables_of(load: Load) -> Tables:
    """Per broker and class the neighbours behind which somebody is interested."""
    tables: dict[str, dict[int, dict[str, None]]] = {name: {} for name in load.topology.brokers}
    for broker, filter in load.interests:
        number = int(str(filter).rpartition(" ")[2])
        for other, towards in load.topology.parents(broker).items():
            tables[other].setdefault(number, {})[towards] = None
    return {
        broker: {number: tuple(towards) for number, towards in table.items()}
        for broker, table in tables.items()
    }


def _measure_simpy(load: Load, style: str) -> tuple[int, float]:
    model = Model(tables_of(load), lambda: _DELAY)
    publications: list[Publication] = [
        (at, broker, int(attributes["class"])) for at, broker, attributes in load.publications
    ]
    begin = time.process_time()
    getattr(model, style)(publications)
    return model.hops, time.process_time() - begin


def measure_simpy_callbacks(load: Load, size: Size) -> tuple[int, float]:
    """Hops and CPU seconds in SimPy, a callback per hop."""
    return _measure_simpy(load, "run_callbacks")


def measure_simpy_processes(load: Load, size: Size) -> tuple[int, float]:
    """Hops and CPU seconds in SimPy, a process per hop."""
    return _measure_simpy(load, "run_processes")


def _contestants() -> list[tuple[str, Measure]]:
    contestants: list[tuple[str, Measure]] = [("Sapwood", measure_sapwood)]
    if find_spec("simpy") is not None:
        contestants += [
            ("SimPy, callbacks", measure_simpy_callbacks),
            ("SimPy, processes", measure_simpy_processes),
        ]
    return contestants


def _large_table(large: list[dict[str, Any]]) -> list[Table]:
    if not large:
        return []
    lines = [
        Line(
            one["algorithm"],
            (
                f"{one['entries']:,}",
                f"{one['control_hops']:,}",
                f"{one['cpu_seconds']:,}",
                f"{one['megabytes']:,}",
            ),
        )
        for one in large
    ]
    lines.append(Line("to reach", ("", "", "", f"{MEGABYTES_TARGET:,}"), Style.TARGET))
    columns = ("entries", "control hops", "CPU s", "MB")
    return [Table("1,000 brokers, 100,000 subscriptions, 1,000 classes", columns, lines)]


def _report(
    best: dict[str, float],
    hops: dict[str, int],
    content: float,
    size: Size,
    large: list[dict[str, Any]],
) -> Report:
    own = best["Sapwood"]
    lines = [
        Line(
            name,
            (f"{hops[name]:,}", f"{rate:,.0f}", f"{own / rate:.2f}"),
            Style.OWN if name == "Sapwood" else Style.FIGURE,
        )
        for name, rate in best.items()
    ]
    lines.append(Line("Sapwood, content-based", ("", f"{content:,.0f}", "")))
    lines.append(Line("to reach", ("", f"{HOPS_TARGET:,}", ""), Style.TARGET))
    title = f"{size.brokers} brokers, {size.classes} classes, {size.subscriptions} subscriptions"
    notes = []
    if len(best) == 1:
        notes.append("SimPy is not installed: pip install simpy to compare with it.")
    is_right = len({hops[name] for name in best}) == 1
    return Report(
        figures={
            "hops": hops,
            "hops_per_second": {name: round(rate) for name, rate in best.items()},
            "content_hops_per_second": round(content),
            "target": HOPS_TARGET,
            "large": large,
        },
        tables=[Table(title, ("hops", "hops/s", "Sapwood / this"), lines), *_large_table(large)],
        notes=notes,
        conclusion=f"Sapwood simulates {own:,.0f} message hops per second with its real brokers."
        if is_right
        else "The simulators do not agree on the number of hops.",
        is_right=is_right,
    )
