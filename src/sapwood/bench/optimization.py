"""`sapwood bench optimization`: what the tree costs, by every way to choose it (S56).

The set-up of the thesis' chapter 5, run message by message: brokers exchange real links, and costs
are read off the hops that notifications make. Each way gets the same networks, jobs and
publications, by seed. The static tree and the references with global knowledge need no messages:
what they cost follows from the publications (`sapwood.sim.optimizing.replay`).

The thorough size has fewer ticks than printed, and publications in larger batches; `PRINTED` is the
printed size. With less traffic than printed, caches are smaller, so that what they remember reaches
as far back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from sapwood.analysis.delivery import lower_bound, printed_lower_bound
from sapwood.analysis.delivery.cost import Delivery
from sapwood.analysis.overlay import (
    anneal,
    associativity_by_history,
    associativity_by_subscriptions,
    maximum_interest_tree,
    minimum_spanning_tree,
    tree_cost,
)
from sapwood.analysis.overlay.situation import places_of
from sapwood.bench.registry import Options, Progress
from sapwood.bench.report import Line, Report, Style, Table
from sapwood.sim.optimizing.replay import replayed_cost, situation_at
from sapwood.sim.optimizing.setup import Course, SetupParameters, draw_course
from sapwood.sim.optimizing.ways import OWN, START_TICK, way_named
from sapwood.sim.optimizing.world import MEASURE_TICKS, Outcome, World
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

STATIC: Final = "static"


class Size(NamedTuple):
    """How much is measured."""

    parameters: SetupParameters
    seeds: int
    traffic: float
    """Which part of the printed traffic there is."""
    steps: int
    """Of annealing."""
    ways: tuple[str, ...]


PRINTED: Final = Size(SetupParameters(), 8, 1.0, 400_000, ("lmst", "lmit", "ci", "ci-stable", *OWN))
THOROUGH: Final = PRINTED._replace(
    parameters=SetupParameters(ticks=14_000, batch_ticks=50.0), steps=200_000
)
QUICK: Final = Size(
    SetupParameters(
        brokers=30,
        jobs=15,
        subscribers=6,
        ticks=2500,
        publication_interval=10.0,
        underlay=SMALL_UNDERLAY,
    ),
    2,
    0.5,
    20_000,
    ("lmst", "ci", *OWN),
)

SITUATIONS: Final[dict[str, dict[str, Any]]] = {
    "jobs move": {},
    "jobs stay": {"reassignment_interval": math.inf},
    "all anew": {"reassignment_interval": math.inf, "changes": "middle"},
}
"""What differs from the set-up, by name."""


class Run(NamedTuple):
    """One way on one course, beside the static tree."""

    way: str
    seed: int
    outcome: Outcome
    static: tuple[float, ...]
    """What the static tree would have cost, by reading."""
    annealed: float
    """What the best tree found for the end would have cost, by tick in the mean."""
    replayed: float
    """What the last tree costs by tick, for the jobs and the prices of the end, in the mean."""

    def share(self, begin: float) -> float:
        """The cost from a tick on, in parts of that of the static tree."""
        first = int(begin // MEASURE_TICKS)
        return sum(one.cost for one in self.outcome.measured[first:]) / sum(self.static[first:])

    def shares(self) -> list[float]:
        """The same for each reading."""
        pairs = zip(self.outcome.measured, self.static, strict=True)
        return [one.cost / static for one, static in pairs]

    def ticks_to_follow(self, change: float, near: float = 1.1) -> float:
        """Ticks after a change until the cost stays near the level of the end."""
        shares, first = self.shares(), int(change // MEASURE_TICKS)
        level = near * fmean(shares[-4:])
        late = [at for at in range(first, len(shares)) if fmean(shares[at : at + 2]) > level]
        return MEASURE_TICKS * (late[-1] + 1 - first if late else 0)


def parameters_for(size: Size, name: str) -> SetupParameters:
    """The set-up of a situation."""
    changes = dict(SITUATIONS[name])
    if changes.get("changes") == "middle":
        changes["changes"] = (size.parameters.ticks // 2,)
    return msgspec.structs.replace(size.parameters, **changes)


def measure(size: Size, course: Course, ways: Sequence[str]) -> list[Run]:
    """All ways on one course."""
    ticks = course.parameters.ticks
    static = tuple(
        replayed_cost(course, course.tree.links, end - MEASURE_TICKS, end)
        for end in range(MEASURE_TICKS, ticks + 1, MEASURE_TICKS)
    )
    around = situation_at(course, ticks - 1)
    start = places_of(around.prices, course.tree.links)
    random = np.random.default_rng(course.seed)
    best = anneal(around, start, random, steps=size.steps, degree_max=16).cost
    runs = []
    for way in ways:
        outcome = World(course, way_named(way, size.traffic)).run()
        last = tree_cost(around, places_of(around.prices, outcome.links))
        runs.append(Run(way, course.seed, outcome, static, best, last))
    return runs


def references(course: Course) -> dict[str, float]:
    """Trees with global knowledge, and bounds, for the end of a course; static tree = 1."""
    around = situation_at(course, course.parameters.ticks - 1)
    static = tree_cost(around, places_of(around.prices, course.tree.links))
    rate = 1 / course.parameters.publication_interval
    deliveries = [
        Delivery(stay.places, rate) for stay in course.jobs_at(course.parameters.ticks - 1)
    ]
    history = associativity_by_history(around)
    subscriptions = associativity_by_subscriptions(around)
    return {
        "minimum spanning tree": tree_cost(around, minimum_spanning_tree(around)) / static,
        "interest tree, by history": tree_cost(around, maximum_interest_tree(around, history))
        / static,
        "interest tree, by subscriptions": tree_cost(
            around, maximum_interest_tree(around, subscriptions)
        )
        / static,
        "printed lower bound": printed_lower_bound(around.prices, deliveries) / static,
        "lower bound": lower_bound(around.prices, deliveries) / static,
    }


class Summary(NamedTuple):
    """One way in one situation, over all seeds."""

    runs: int
    share: float
    """Cost in the last quarter, in parts of the static tree's."""
    error: float
    """Its standard error."""
    worst: float
    changes: float
    """Changes of the tree in 1,000 ticks, in the last quarter."""
    annealed: float
    """Cost of the last tree, in parts of the best one found with global knowledge."""
    follows: float
    """Ticks until the cost stays within 10 % of its last level, after the start or the change."""
    degree_max: int
    overhead: float
    """Messages of the optimization in parts of the links that notifications pass."""


NOT_OPTIMIZING: Final = ("Subscribe", "Unsubscribe")


def summary(runs: Sequence[Run], change: float) -> Summary:
    """What the runs of one way came to."""
    last = 0.75 * runs[0].outcome.measured[-1].until
    shares = [one.share(last) for one in runs]
    sent = sum(
        count
        for one in runs
        for measured in one.outcome.measured
        for kind, count in measured.control.items()
        if kind not in NOT_OPTIMIZING
    )
    hops = sum(MEASURE_TICKS * each.hops for one in runs for each in one.outcome.measured)
    return Summary(
        runs=len(runs),
        share=fmean(shares),
        error=stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else 0.0,
        worst=max(shares),
        changes=fmean(one.outcome.changes(last) for one in runs),
        annealed=fmean(one.replayed / one.annealed for one in runs),
        follows=fmean(one.ticks_to_follow(change) for one in runs),
        degree_max=max(one.outcome.measured[-1].degree_max for one in runs),
        overhead=sent / hops,
    )


def table(name: str, found: dict[str, Summary]) -> Table:
    """One situation."""
    columns = ("cost", "worst", "changes", "annealed", "follows", "degree", "messages")
    lines = [
        Line(
            way,
            (
                f"{one.share:.3f} ± {one.error:.3f}",
                f"{one.worst:.3f}",
                f"{one.changes:.1f}",
                f"{one.annealed:.2f}",
                f"{one.follows:,.0f}",
                f"{one.degree_max}",
                f"{one.overhead:.1%}",
            ),
            Style.OWN if way in OWN else Style.FIGURE,
        )
        for way, one in found.items()
    ]
    return Table(f"S56, {name}: static tree = 1", columns, lines)


def run(options: Options, progress: Progress) -> Report:
    """Measure every way in every situation."""
    size = QUICK if options.quick else THOROUGH
    seeds = range(options.seed, options.seed + size.seeds)
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    wrong: list[str] = []
    curves: dict[str, list[Run]] = {}
    for name in SITUATIONS:
        parameters = parameters_for(size, name)
        change = parameters.changes[0] if parameters.changes else START_TICK
        runs: dict[str, list[Run]] = {way: [] for way in size.ways}
        beside: list[dict[str, float]] = []
        for seed in seeds:
            progress(f"optimization: {name}, seed {seed}")
            course = draw_course(parameters, seed)
            for one in measure(size, course, size.ways):
                runs[one.way].append(one)
                wrong += [f"{one.way}, seed {seed}: {what}" for what in one.outcome.problems]
            beside.append(references(course))
        found = {way: summary(of, change) for way, of in runs.items()}
        figures[name] = {
            **{way: one._asdict() for way, one in found.items()},
            **{kind: fmean(one[kind] for one in beside) for kind in beside[0]},
        }
        tables += [table(name, found), _reference_table(name, figures[name], list(beside[0]))]
        curves[name] = [one for of in runs.values() for one in of]
    if options.figure:
        from sapwood.bench.optimization_figure import draw  # noqa: PLC0415 - pulls in matplotlib

        draw(curves, Path(options.figure))
    return Report(
        figures=figures,
        tables=tables,
        notes=[
            f"Means of {size.seeds} seeds from {options.seed} on; "
            f"{size.parameters.brokers} brokers, {size.parameters.ticks} ticks, "
            f"{size.traffic:.0%} of the printed traffic. Cost and changes (in 1,000 ticks): last",
            "quarter. Annealed: the last tree beside the best found with global knowledge, at most",
            "16 links a broker. Follows: ticks to within 10 % of the last level. Messages: all but",
            "notifications and (un)subscriptions, in parts of the links that notifications pass.",
        ],
        conclusion="The links were a tree at the end of every run that did not end in a change."
        if not wrong
        else f"Wrong: {', '.join(wrong[:3])}.",
        is_right=not wrong,
    )


def _reference_table(name: str, found: dict[str, Any], kinds: list[str]) -> Table:
    lines = [Line(kind, (f"{found[kind]:.3f}",), Style.TARGET) for kind in kinds]
    return Table(f"S56, {name}: with global knowledge", ("cost",), lines)
