"""What the papers name in a sentence, each tried in small: no figure of theirs is behind these.

- Imperfect merging with a bounded excess (thesis, line 614): filters told to a neighbour may match
  more than is wanted, up to a share of it; fewer entries, more notifications, nothing lost.
- Several trees at once and the choice among them (thesis 9263; 003, footnote): each job goes over
  the tree that is cheapest for it, each tree is improved for its jobs.
- Clusters of hierarchical brokers that are joined peer-to-peer (004, line 32): by formula and flow.
- The maximum instead of the mean as objective (thesis 8927).

Brokers that know all subscriptions (003, line 442) are the line "without tables" of `swap-bytes`
and the method `swap-filtering`; zones with demands of their own (thesis 3402) are `zones`; reverse
path forwarding (thesis 1938) is `cycles`; c-adaptivity (thesis 786) is reported by `T5.F8`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np

from sapwood.analysis.delivery.cost import Delivery
from sapwood.analysis.overlay import anneal
from sapwood.analysis.overlay.situation import Tree, places_of, situation, tree_cost
from sapwood.analysis.traffic import complete_tree, predict, uniform_rates
from sapwood.analysis.traffic.flows import UP
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, flooded_edges
from sapwood.experiments.claims import Claim, above, if_printed_size, judged, within_interval
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.protocol.tree import Topology
from sapwood.sim.flow import traffic
from sapwood.sim.optimizing.setup import Course, SetupParameters, draw_course
from sapwood.sim.topology.shapes import random_tree
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

Interval = tuple[int, int]
"""The first and the last of the values that a filter matches."""

# Imperfect merging

VALUES: Final = 10_000
EXCESSES: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)


def merged(wanted: Sequence[Interval], excess: float) -> list[Interval]:
    """Intervals that together match all that is wanted, and at most a share of excess beyond it.

    Neighbours are merged, those with the smallest gap first, as long as what is matched in vain
    stays below that share of what is wanted; without excess it is perfect merging.

    >>> merged([(0, 9), (5, 19), (22, 29)], 0.0), merged([(0, 9), (5, 19), (22, 29)], 0.1)
    ([(0, 19), (22, 29)], [(0, 29)])
    """
    found: list[Interval] = []
    for first, last in sorted(wanted):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    room = excess * sum(last - first + 1 for first, last in found)
    gaps = sorted(
        (after[0] - before[1] - 1, at) for at, (before, after) in enumerate(pairwise(found))
    )
    closed = set()
    for gap, at in gaps:
        if gap > room:
            break
        room -= gap
        closed.add(at)
    joined: list[Interval] = []
    for at, one in enumerate(found):
        if at - 1 in closed:
            joined[-1] = (joined[-1][0], one[1])
        else:
            joined.append(one)
    return joined


def _matching(intervals: Sequence[Interval]) -> Any:
    """By value: whether an interval has it."""
    matches = np.zeros(VALUES, np.bool_)
    for first, last in intervals:
        matches[first : last + 1] = True
    return matches


def _imperfect(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """Clients at all brokers want ranges of values; every value is published everywhere once."""
    random = Random(f"imperfect {seed}")
    tree = random_tree(parameters["brokers"], random)
    own: dict[str, list[Interval]] = {name: [] for name in tree.brokers}
    for _ in range(parameters["subscriptions"]):
        first = random.randrange(VALUES - 100)
        own[random.choice(tree.brokers)].append((first, first + random.randrange(10, 100)))
    for excess in EXCESSES:
        told = _told(tree, own, excess)
        entries = sum(map(len, told.values()))
        matches = {edge: _matching(one) for edge, one in told.items()}
        lost, links = _sent(tree, own, matches)
        yield Observation("entries", "imperfect merging", excess, float(entries))
        yield Observation("links", "imperfect merging", excess, links)
        yield Observation("lost", "imperfect merging", excess, float(lost))


def _told(
    tree: Topology, own: dict[str, list[Interval]], excess: float
) -> dict[tuple[str, str], list[Interval]]:
    """By edge, from who tells to whom: what is told, worked out from the ends of the tree."""
    told: dict[tuple[str, str], list[Interval]] = {}

    def tell(here: str, there: str) -> list[Interval]:
        if (here, there) not in told:
            wanted = list(own[here])
            for other in tree.neighbours(here):
                if other != there:
                    wanted += tell(other, here)
            told[here, there] = merged(wanted, excess)
        return told[here, there]

    for left, right in tree.links:
        tell(left, right)
        tell(right, left)
    return told


def _sent(
    tree: Topology, own: dict[str, list[Interval]], told: dict[tuple[str, str], Any]
) -> tuple[int, float]:
    """Every value from every broker: deliveries that are missing, and links of one in the mean."""
    wanted = {name: _matching(one) for name, one in own.items()}
    lost = passed = 0
    for start in tree.brokers:
        ahead = [(start, "", np.ones(VALUES, np.bool_))]
        for here, came, arrives in ahead:
            lost += int((wanted[here] & ~arrives).sum())
            for other in tree.neighbours(here):
                if other != came:
                    goes = arrives & told[other, here]
                    passed += int(goes.sum())
                    ahead.append((other, here, goes))
    return lost, passed / (VALUES * len(tree.brokers))


def _judge_imperfect(curves: Curves) -> list[Claim]:
    lost = sum(one.mean for one in curves.line("lost", "imperfect merging"))
    entries, links = (
        [one.mean for one in curves.line(measure, "imperfect merging")]
        for measure in ("entries", "links")
    )
    fewer = all(low >= high for low, high in pairwise(entries))
    more = all(low <= high + 1e-12 for low, high in pairwise(links))
    return [
        judged("imperfect merging", "deliveries that are missing", lost == 0, lost, 0),
        judged("imperfect merging", "entries fall with the excess", fewer, entries, "falling"),
        judged("imperfect merging", "notifications rise with it", more, links, "rising"),
    ]


# Several trees, and the maximum as objective

COUNTS: Final = (1, 2, 4)
MEAN, MOST = "mean as objective", "maximum as objective"


def _course(parameters: Parameters, seed: int) -> Course:
    setup = SetupParameters(
        brokers=parameters["brokers"], jobs=parameters["jobs"], subscribers=6,
        reassignment_interval=1e15, ticks=100, underlay=SMALL_UNDERLAY,
    )  # fmt: skip
    return draw_course(setup, seed % 2**31)


def _several(parameters: Parameters, seed: int) -> Iterator[Observation]:
    course, random = _course(parameters, seed), np.random.default_rng(seed % 2**63)
    prices = course.prices_at(0)
    jobs = [Delivery(stay.places, 1.0) for stay in course.jobs_at(0)]
    start = places_of(prices, course.tree.links)

    def best(chosen: Sequence[Delivery], tree: Tree) -> Tree:
        around = situation(prices, chosen)
        return anneal(around, tree, random, steps=parameters["steps"]).tree

    for count in COUNTS:
        trees = [best(jobs[at::count], start) for at in range(count)]
        for _ in range(parameters["rounds"]):
            costs = _costs(prices, jobs, trees)
            chosen = costs.argmin(axis=1)
            trees = [
                best(
                    [job for job, at in zip(jobs, chosen, strict=True) if at == number] or jobs,
                    tree,
                )
                for number, tree in enumerate(trees)
            ]
        total = float(_costs(prices, jobs, trees).min(axis=1).sum())
        yield Observation("cost", "the best tree for each job", float(count), total)
        yield Observation("by trees", f"{count} trees", 0.0, total)


def _costs(prices: Any, jobs: Sequence[Delivery], trees: Sequence[Tree]) -> Any:
    """By job and tree."""
    return np.array([[tree_cost(situation(prices, [job]), tree) for tree in trees] for job in jobs])


def _judge_several(curves: Curves) -> list[Claim]:
    return [
        above(curves, "several trees", f"{few} dearer than {many}", "by trees", few, many)
        for few, many in (("1 trees", "2 trees"), ("2 trees", "4 trees"))
    ]


def _objectives(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """The tree of the least mean cost of a job beside that of the least largest one."""
    course, random = _course(parameters, seed), np.random.default_rng(seed % 2**63)
    prices = course.prices_at(0)
    jobs = [Delivery(stay.places, 1.0) for stay in course.jobs_at(0)]
    start = anneal(
        situation(prices, jobs), places_of(prices, course.tree.links), random,
        steps=parameters["steps"],
    ).tree  # fmt: skip
    weighings: dict[str, Callable[[Any], Any]] = {MEAN: np.mean, MOST: np.max}
    for line, weigh in weighings.items():

        def cost(tree: Tree, weigh: Callable[[Any], Any] = weigh) -> float:
            return float(weigh(_costs(prices, jobs, [tree])))

        tree = _descended(cost, start, random, parameters["tries"])
        costs = _costs(prices, jobs, [tree])
        yield Observation("mean cost of a job", line, 0.0, float(costs.mean()))
        yield Observation("largest cost of a job", line, 0.0, float(costs.max()))


def _descended(cost: Callable[[Tree], float], tree: Tree, random: Any, tries: int) -> Tree:
    """Exchange links at random, and keep what is better."""
    best = cost(tree)
    brokers = len(tree) + 1
    for _ in range(tries):
        left, right = sorted(int(one) for one in random.choice(brokers, 2, replace=False))
        ring = _path(tree, left, right)
        if len(ring) < 2:
            continue
        gone = ring[int(random.integers(len(ring)))]
        other = tuple(sorted({*tree, (left, right)} - {gone}))
        if (found := cost(other)) < best:
            best, tree = found, other
    return tree


def _path(tree: Tree, start: int, end: int) -> list[tuple[int, int]]:
    """The links on the way between two brokers."""
    around: dict[int, list[int]] = {}
    for left, right in tree:
        around.setdefault(left, []).append(right)
        around.setdefault(right, []).append(left)
    above = {start: start}
    ahead = [start]
    for here in ahead:
        for other in around[here]:
            if other not in above:
                above[other] = here
                ahead.append(other)
    links = []
    while end != start:
        links.append((min(end, above[end]), max(end, above[end])))
        end = above[end]
    return [one for one in tree if (min(one), max(one)) in links]


def _judge_objectives(curves: Curves) -> list[Claim]:
    claims = []
    for measure, upper, lower in (
        ("largest cost of a job", MEAN, MOST),
        ("mean cost of a job", MOST, MEAN),
    ):
        text = f"{measure}: more with the {upper}"
        claims.append(above(curves, "maximum as objective", text, measure, upper, lower))
    return [if_printed_size(curves, one) for one in claims]


# Clusters

CLUSTERS: Final = "clusters joined peer-to-peer"
JOINED_LEVELS: Final = 2
"""Levels of the tree that are peer-to-peer: below them are clusters."""


def _clusters(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """A complete binary tree: four clusters, each hierarchical, whose roots are joined above."""
    tree = complete_tree(2, parameters["levels"])
    floods = flooded_edges(tree, PEER_TO_PEER)
    for place in range(1, len(tree.brokers)):
        if tree.depths[place] > JOINED_LEVELS:
            floods[UP, place - 1] = True
    for subscriptions in parameters["subscriptions"]:
        rates = uniform_rates(
            tree, subscriptions=subscriptions, lifetime=60.0, publication_rate=50.0, classes=50
        )
        ways = {
            HIERARCHICAL: flooded_edges(tree, HIERARCHICAL),
            PEER_TO_PEER: flooded_edges(tree, PEER_TO_PEER),
            CLUSTERS: floods,
        }
        for line, chosen in ways.items():
            flow = traffic(rates, "identity", floods=chosen, seconds=100.0, seed=seed % 2**63)
            expected = predict(rates, "identity", floods=chosen).total
            yield Observation("messages", line, float(subscriptions), flow.traffic.total)
            share = flow.traffic.total / expected
            yield Observation("flow / formula", line, float(subscriptions), share)


def _judge_clusters(curves: Curves) -> list[Claim]:
    claims = []
    for line in curves.lines("flow / formula"):
        for one in curves.line("flow / formula", line):
            text = f"flow / formula, {line}, {one.x:g} subscriptions"
            claims.append(within_interval("clusters", text, one, 1.0))
    return [if_printed_size(curves, one) for one in claims]


def _sized(full: Parameters, quick: Parameters, runs: tuple[int, int], minutes: float) -> Any:
    return Size([quick], runs[0], 0.2), Size([full], runs[1], minutes, is_printed=True)


_IMPERFECT = _sized(
    {"brokers": 40, "subscriptions": 400}, {"brokers": 10, "subscriptions": 60}, (4, 30), 3.0
)
_SEVERAL = _sized(
    {"brokers": 60, "jobs": 40, "steps": 40_000, "rounds": 4},
    {"brokers": 20, "jobs": 12, "steps": 2000, "rounds": 2}, (6, 30), 10.0,
)  # fmt: skip
_OBJECTIVES = _sized(
    {"brokers": 40, "jobs": 20, "steps": 40_000, "tries": 3000},
    {"brokers": 15, "jobs": 8, "steps": 2000, "tries": 1500}, (6, 30), 10.0,
)  # fmt: skip
_CLUSTERS = _sized(
    {"levels": 7, "subscriptions": [100, 1000, 10_000]},
    {"levels": 5, "subscriptions": [100, 1000]}, (4, 30), 2.0,
)  # fmt: skip

EXPERIMENTS: Final = (
    Experiment(
        name="imperfect-merging",
        title="Imperfect merging with a bounded excess",
        shows=("imperfect merging",),
        setup="Random trees, ranges over 10,000 values at all brokers; on every edge neighbouring "
        "ranges are merged while no more than a share of what is wanted is matched in vain.",
        quick=_IMPERFECT[0],
        full=_IMPERFECT[1],
        measure=_imperfect,
        judge=_judge_imperfect,
        figures=(
            Figure("imperfect-merging", "entries", "Entries by how much may be matched in vain",
                   "excess, as a share of what is wanted", "entries in all tables"),
            Figure("imperfect-merging-links", "links", "Links that a notification passes",
                   "excess, as a share of what is wanted", "links"),
        ),
    ),
    Experiment(
        name="several-trees",
        title="Several trees at once, and the choice among them",
        shows=("several trees",),
        setup="S56 with jobs that stay: each job goes over the cheapest tree for it, each tree is "
        "annealed for its jobs, again and again.",
        quick=_SEVERAL[0],
        full=_SEVERAL[1],
        measure=_several,
        judge=_judge_several,
        figures=(
            Figure("several-trees", "cost", "Cost by the number of trees", "trees",
                   "cost per tick"),
        ),
        pairs=(("by trees", "1 trees", "2 trees"), ("by trees", "2 trees", "4 trees")),
    ),
    Experiment(
        name="maximum-objective",
        title="The maximum instead of the mean as objective",
        shows=("maximum as objective",),
        setup="S56 with jobs that stay: from the tree of the least cost, links are exchanged while "
        "the mean, or the largest, cost of a job falls.",
        quick=_OBJECTIVES[0],
        full=_OBJECTIVES[1],
        measure=_objectives,
        judge=_judge_objectives,
        figures=(
            Figure("maximum-objective", "largest cost of a job", "The dearest job", "",
                   "cost of a notification", is_bars=True),
        ),
        pairs=(("largest cost of a job", MEAN, MOST), ("mean cost of a job", MOST, MEAN)),
    ),
    Experiment(
        name="clusters",
        title="Clusters of hierarchical brokers joined peer-to-peer",
        shows=("clusters",),
        setup="A complete binary tree, clients at the leaves; brokers of the first three levels "
        "are joined peer-to-peer, below each is a hierarchical cluster.",
        quick=_CLUSTERS[0],
        full=_CLUSTERS[1],
        measure=_clusters,
        judge=_judge_clusters,
        figures=(
            Figure("clusters", "messages", "All messages, by how brokers are joined",
                   "live subscriptions", "messages per second", x_log=True, y_log=True),
        ),
    ),
)  # fmt: skip
