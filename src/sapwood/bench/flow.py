"""`sapwood bench flow`: how much the flow simulator counts in a second, beside the exact one.

Three questions: message hops per second on the evaluation of hybrid routing (S004), seconds for the
thesis' Experiment 4 under CI, and whether what it costs grows with the number of brokers, and not
faster. Time is CPU time of one core, without compiling; the best of a few rounds counts. The exact
simulator runs smaller networks of the same kind in the same rounds: it moves every message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import process_time
from typing import Any, Final, NamedTuple

import msgspec

from sapwood.analysis.traffic import Rates, rooted_tree, uniform_rates
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.edge_routing.evaluation import Evaluation, Second, Setup
from sapwood.sim.flow import edges, topology, traffic
from sapwood.sim.optimizing.setup import Course, SetupParameters, draw_course
from sapwood.sim.optimizing.ways import run_way
from sapwood.sim.topology import random_tree
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

HOPS_TARGET: Final = 50e6
"""Message hops per second to reach on S004."""

SECONDS_TARGET: Final = 30.0
"""Of CPU time that Experiment 4 may take at most, a run."""

LINEAR_MAX: Final = 3.0
"""How much more a broker may cost in the largest network than in one of a thousand."""

PEAK: Final = ((0.0, 20_000.0),)
"""As many subscriptions a minute as S004 has at its peak, all the time."""

FIXED: Final = EdgeRoutingSettings(choice="fixed", telling=("simple",), unit="messages")


EXACT: Final = "exact simulator, a part"
SAME: Final = "flow simulator, the same part"


class Size(NamedTuple):
    """How much is measured."""

    rounds: int
    seconds: int
    """Of S004."""
    exact_seconds: int
    exact_depth: int
    parameters: SetupParameters
    exact: SetupParameters
    exact_traffic: float
    brokers: tuple[int, ...]


THOROUGH: Final = Size(
    rounds=3,
    seconds=2200,
    exact_seconds=20,
    exact_depth=6,
    parameters=SetupParameters(ticks=50_000),
    exact=SetupParameters(ticks=2000, publication_interval=25.0),
    exact_traffic=0.2,
    brokers=(100, 1000, 10_000, 100_000),
)
_FEW: Final = SetupParameters(
    brokers=20, jobs=8, subscribers=5, ticks=1500, publication_interval=20.0,
    underlay=SMALL_UNDERLAY,
)  # fmt: skip
QUICK: Final = Size(
    rounds=1,
    seconds=200,
    exact_seconds=5,
    exact_depth=3,
    parameters=_FEW,
    exact=_FEW,
    exact_traffic=0.25,
    brokers=(100, 1000),
)


class Timed(NamedTuple):
    """Something that was done, and the CPU time it took."""

    done: float
    seconds: float

    @property
    def rate(self) -> float:
        """By second."""
        return self.done / max(self.seconds, 1e-9)


def timed(work: Callable[[], float], rounds: int) -> Timed:
    """The best of some rounds."""
    best = Timed(0.0, float("inf"))
    for _ in range(rounds):
        begin = process_time()
        done = work()
        seconds = process_time() - begin
        best = min(best, Timed(done, seconds), key=lambda one: one.seconds)
    return best


# S004


def flow_hops(setup: Setup) -> int:
    """Messages that the flow simulator counts in the network that a set-up describes."""
    return edges(setup).hops


def settled_hops(seconds: Sequence[Second]) -> float:
    """Messages of all seconds but the first, of which the exact simulator counts a half."""
    return float(sum(one.carried for one in seconds[1:]))


def hop_figures(size: Size, seed: int, progress: Progress) -> dict[str, Timed]:
    """Message hops and CPU time: S004 with each routing, and the exact simulator beside."""
    full = Setup(seconds=size.seconds, seed=seed)
    setups = {
        "self-optimizing": full,
        "simple": full._replace(settings=FIXED),
        "flooding": full._replace(settings=FIXED, start=FLOODING),
    }
    edges(full._replace(seconds=11))  # compiled before it is timed
    found = {}
    for name, setup in setups.items():
        progress(f"flow: S004, {name}")
        found[name] = timed(partial(flow_hops, setup), size.rounds)
    progress("flow: S004 at its peak, the exact simulator beside")
    small = Setup(
        ramp=PEAK, depth=size.exact_depth, seconds=size.exact_seconds, scale=20.0, seed=seed
    )
    found[EXACT] = timed(lambda: settled_hops(Evaluation(small).run()), 1)
    found[SAME] = timed(lambda: settled_hops(edges(small).seconds), size.rounds)
    return found


def hop_table(found: dict[str, Timed]) -> Table:
    """Message hops by second."""
    own = "self-optimizing"
    lines = [
        Line(
            name,
            (f"{one.done:,.0f}", f"{one.seconds:.2f}", f"{one.rate / 1e6:,.2f}"),
            Style.OWN if name == own else Style.FIGURE,
        )
        for name, one in found.items()
    ]
    lines.append(Line("wanted", ("", "", f"{HOPS_TARGET / 1e6:,.0f}"), Style.TARGET))
    return Table("S004: message hops", ("hops", "CPU s", "million hops/s"), lines)


# Experiment 4


def flow_cost(course: Course, way: str, part: float) -> float:
    """What notifications cost by tick, over the whole course."""
    return topology(course, way, part).outcome.cost()


def tree_figures(size: Size, seed: int, progress: Progress) -> dict[str, Any]:
    """CPU seconds of one run of Experiment 4 by way, and both simulators on a smaller course."""
    course = draw_course(size.parameters, seed)
    short = draw_course(msgspec.structs.replace(size.exact, ticks=1250), seed)
    topology(short, "ci", size.exact_traffic)  # compiled before it is timed
    traffic_part = 1.0 if size.parameters.publication_interval == 5.0 else size.exact_traffic
    found: dict[str, Any] = {"ticks": size.parameters.ticks, "ways": {}}
    for way in ("static", "lmst", "lmit", "ci", "ci-stable", "adaptive"):
        progress(f"flow: Experiment 4, {way}")
        one = timed(partial(flow_cost, course, way, traffic_part), 1)
        found["ways"][way] = {"seconds": one.seconds, "cost": one.done}
    progress("flow: a smaller course, by both simulators")
    part = draw_course(size.exact, seed)
    traffic_part = size.exact_traffic
    exact = timed(lambda: run_way("ci", part, traffic_part).cost(), 1)
    flow = timed(partial(flow_cost, part, "ci", traffic_part), size.rounds)
    found["beside"] = {
        "ticks": size.exact.ticks,
        "exact_seconds": exact.seconds,
        "exact_cost": exact.done,
        "flow_seconds": flow.seconds,
        "flow_cost": flow.done,
    }
    return found


def tree_tables(found: dict[str, Any]) -> list[Table]:
    """Seconds by way, and both simulators."""
    ways = [
        Line(
            way,
            (f"{one['seconds']:.2f}", f"{one['cost']:,.0f}"),
            Style.OWN if way == "ci" else Style.FIGURE,
        )
        for way, one in found["ways"].items()
    ]
    ways.append(Line("wanted of ci", (f"{SECONDS_TARGET:.0f}", ""), Style.TARGET))
    beside = found["beside"]
    both = [
        Line("exact", (f"{beside['exact_seconds']:.2f}", f"{beside['exact_cost']:,.0f}")),
        Line("flow", (f"{beside['flow_seconds']:.3f}", f"{beside['flow_cost']:,.0f}"), Style.OWN),
    ]
    columns = ("CPU s", "cost by tick")
    return [
        Table(f"Experiment 4: {found['ticks']:,} ticks", columns, ways),
        Table(f"CI, {beside['ticks']:,} ticks, by both simulators", columns, both),
    ]


# Scale


def traffic_hops(clients: Rates, seed: int) -> int:
    """Messages of ten seconds under identity-based routing."""
    return traffic(clients, "identity", seconds=10.0, seed=seed).hops


def scale_figures(size: Size, seed: int, progress: Progress) -> list[dict[str, float]]:
    """The traffic of ever larger networks with the same clients at each broker."""
    found = []
    warm = uniform_rates(
        rooted_tree([("A", "B")]), subscriptions=1, lifetime=1.0, publication_rate=1.0, classes=1
    )
    traffic(warm, "identity", seconds=1.0, seed=seed)  # compiled before it is timed
    for brokers in size.brokers:
        progress(f"flow: {brokers:,} brokers")
        tree = rooted_tree(random_tree(brokers, Random(f"flow {seed}")).links)
        clients = uniform_rates(
            tree, subscriptions=brokers, lifetime=60.0, publication_rate=brokers / 2, classes=100,
            clients_at_leaves=False,
        )  # fmt: skip
        one = timed(partial(traffic_hops, clients, seed), size.rounds)
        found.append({"brokers": brokers, "hops": one.done, "seconds": one.seconds})
    return found


def scale_table(found: list[dict[str, float]]) -> Table:
    """What a broker costs, by the number of brokers."""
    lines = [
        Line(
            f"{one['brokers']:,}",
            (
                f"{one['hops']:,.0f}",
                f"{one['seconds']:.3f}",
                f"{1e6 * one['seconds'] / one['brokers']:.1f}",
            ),
        )
        for one in found
    ]
    return Table("identity, 100 classes, 10 s", ("hops", "CPU s", "µs a broker"), lines)


def growth(found: list[dict[str, float]]) -> float:
    """How much more a broker costs in the largest network than in one of a thousand, or so."""
    by_broker = [one["seconds"] / one["brokers"] for one in found]
    return by_broker[-1] / by_broker[min(1, len(by_broker) - 1)]


def run(options: Options, progress: Progress) -> Report:
    """Measure everything."""
    size = QUICK if options.quick else THOROUGH
    hops = hop_figures(size, options.seed, progress)
    trees = tree_figures(size, options.seed, progress)
    scale = scale_figures(size, options.seed, progress)
    rate, seconds = hops["self-optimizing"].rate, trees["ways"]["ci"]["seconds"]
    grown = growth(scale)
    reached = rate >= HOPS_TARGET and seconds <= SECONDS_TARGET and grown <= LINEAR_MAX
    figures = {
        "hops": {name: {**one._asdict(), "rate": one.rate} for name, one in hops.items()},
        "trees": trees,
        "scale": scale,
        "growth": grown,
        "targets_reached": reached,
    }
    same = hops[SAME].done / hops[EXACT].done
    return Report(
        figures=figures,
        tables=[hop_table(hops), *tree_tables(trees), scale_table(scale)],
        notes=[
            "Hops of a row are those that the network it describes carries; each is a run by",
            f"itself. In the same part of S004 flow counts {same:.3f} of the exact simulator's",
            "hops: both draw their clients by themselves.",
        ],
        conclusion=f"{rate / 1e6:,.0f} million hops/s, CI in {seconds:.1f} s, a broker costs "
        f"{grown:.2f} times as much in the largest network.",
        is_right=options.quick or reached,
    )
