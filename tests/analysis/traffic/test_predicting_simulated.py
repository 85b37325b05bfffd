"""Formulas against the exact simulator: every algorithm, hierarchical and peer-to-peer, and mixes.

Each comparison is of one quantity in one direction: notifications, changes, entries, and
advertisements, towards the root or away from it. Runs are independent and start in equilibrium, so
the mean of short ones is as good as that of long ones. The confidence was chosen beforehand, from
the number of comparisons: with fresh seeds, all of the ordinary ones hold together with a
probability of some 95%.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from analysis.traffic.simulated import Comparison, Experiment, Measured, always, compared
from analysis.traffic.simulated import remaining_always as remaining
from analysis.traffic.strategies import SEVEN, random_rates
from expecting import expect_none
from sapwood.analysis.traffic.advertising import advertisers, predict_advertised
from sapwood.analysis.traffic.arrays import Flags, Floats
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.hybrid import cheapest_mix
from sapwood.analysis.traffic.interests import interests_of
from sapwood.analysis.traffic.predicting import (
    HIERARCHICAL,
    PEER_TO_PEER,
    flooded_edges,
    predict,
)
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.analysis.traffic.tree import RootedTree, complete_tree, rooted_tree
from sapwood.filters.filter import Filter
from sapwood.sim.topology import random_tree

CONFIDENCE = 0.999
CONFIDENCE_LONG = 0.9999
RUNS, SECONDS = 16, 50.0
RUNS_LONG, SECONDS_LONG = 40, 300.0
FILTERS = ["x between 0 and 3", "x between 0 and 1", "x between 2 and 3", "x = 0", "x = 3"]
KINDS = [{"x": number} for number in range(4)]
VARIANTS = (PEER_TO_PEER, HIERARCHICAL)


def overlapping_rates(tree: RootedTree, seed: int) -> Rates:
    """Ranges of which some cover others."""
    random = np.random.default_rng(seed)
    brokers = len(tree.brokers)
    return rates(
        tree,
        arrival_rate=random.uniform(0, 0.5 / brokers, (brokers, len(FILTERS))),
        departure_rate=random.uniform(0.2, 0.5, (brokers, len(FILTERS))),
        publication_rate=random.uniform(0, 0.3, (brokers, len(KINDS))),
        interests=interests_of([Filter(text) for text in FILTERS], KINDS),
    )


def leaf_rates(tree: RootedTree, live: float) -> Rates:
    """Clients at the leaves only, as in the thesis."""
    here = np.array(tree.is_leaf, dtype=float)[:, None]
    return rates(
        tree, arrival_rate=here * live / 4, departure_rate=0.25, publication_rate=here * [0.1] * 3
    )


class Wanted(NamedTuple):
    """What the formulas say, by direction and link."""

    notifications: Floats
    changes: Floats
    entries: Floats
    advertisements: Floats | None = None


def comparisons(
    wanted: Wanted, runs: list[Measured], confidence: float = CONFIDENCE
) -> Iterator[Comparison]:
    """Each quantity, towards the root and away from it, and in all."""
    for name, formula in wanted._asdict().items():
        if formula is None:
            continue
        for way, of in (("down", 0), ("up", 1), ("all", slice(None))):
            values = [float(getattr(run, name)[of].sum()) for run in runs]
            expected = float(formula[of].sum())
            if expected == 0.0:
                assert set(values) == {0.0}, f"{name} {way}: {max(values)} where there is nothing"
            else:
                yield compared(f"{name} {way}", expected, values, confidence)


def wanted_of(found: Rates, algorithm: str, floods: Flags) -> Wanted:
    edges = predict(found, algorithm, floods=floods).edges
    return Wanted(edges.notifications, edges.changes, edges.entries)


@cache
def thesis_runs() -> tuple[Rates, tuple[Measured, ...]]:
    """The routing of the thesis on a tree of seven, with clients everywhere."""
    found = random_rates(SEVEN, 7)
    experiment = Experiment(
        found, "identity", flooded_edges(SEVEN, HIERARCHICAL), seconds=2 * SECONDS
    )
    return found, tuple(experiment.run(seed) for seed in range(RUNS))


def expect_all(found: Iterator[Comparison]) -> None:
    expect_none([str(one) for one in found if not one.holds])


@pytest.mark.slow
def test_the_routing_of_the_thesis() -> None:
    found, runs = thesis_runs()
    wanted = wanted_of(found, "identity", flooded_edges(SEVEN, HIERARCHICAL))
    expect_all(comparisons(wanted, list(runs)))


@pytest.mark.slow
def test_what_the_thesis_prints_would_be_noticed() -> None:
    """With b'p subtracted (Eq. 3.49) or the root's toggles counted (Eq. 3.53) it is off by far."""
    found, runs = thesis_runs()
    traffic = predict(found, "identity", HIERARCHICAL)
    at_root = predict(
        replace(found, publication_rate=np.zeros_like(found.publication_rate)
                + np.eye(7)[0][:, None] * found.publication_rate.sum(axis=0)),
        "identity",
        HIERARCHICAL,
    )  # fmt: skip
    extra = traffic.notifications - at_root.notifications
    printed = at_root.notifications - extra
    sent = [float(run.notifications.sum()) for run in runs]
    assert not compared("sent", printed, sent, CONFIDENCE).holds
    of_root = 2 * found.arrival_rate.sum(axis=0) @ np.exp(-found.live.sum(axis=0))
    told = [float(run.changes.sum()) for run in runs]
    assert not compared("told", traffic.changes + float(of_root), told, CONFIDENCE).holds


def plain_changes(
    lives: dict[tuple[int, int], list[tuple[float, float]]], seconds: float
) -> Floats:
    """Changes by direction and link, counted from histories by broker and filter, no broker asked.

    Whenever the first on a side comes or the last one goes, that is one.
    """
    filters = 1 + max(index for _, index in lives)
    found = np.zeros((2, SEVEN.links))
    for link in range(SEVEN.links):
        below = {link + 1}
        for broker in range(link + 2, len(SEVEN.brokers)):
            if SEVEN.parents[broker] in below:
                below.add(broker)
        for way in (DOWN, UP):
            side = [at for at in range(len(SEVEN.brokers)) if (at in below) == (way == DOWN)]
            for index in range(filters):
                spans = [span for at in side for span in lives[at, index]]
                found[way, link] += _toggles(spans, seconds)
    return found / seconds


def _toggles(spans: list[tuple[float, float]], seconds: float) -> int:
    live = sum(1 for start, _ in spans if start == 0.0)
    steps = [(start, 1) for start, _ in spans if start > 0.0]
    steps += [(end, -1) for _, end in spans if end < seconds]
    toggles = 0
    for _, step in sorted(steps):
        toggles += 0 in (live, live + step)
        live += step
    return toggles


def test_brokers_change_what_a_plain_count_says() -> None:
    """Exactly, edge by edge, for the same histories."""
    found = random_rates(SEVEN, 5)
    found = replace(found, publication_rate=np.zeros_like(found.publication_rate))
    experiment = Experiment(found, "identity", flooded_edges(SEVEN, PEER_TO_PEER), seconds=SECONDS)
    for seed in range(4):
        measured = experiment.run(seed)
        plain = plain_changes(experiment.histories(seed), SECONDS)
        assert np.array_equal(measured.changes, plain)


@pytest.mark.slow
def test_many_histories() -> None:
    """Monte Carlo without brokers: narrow intervals in short time."""
    found = random_rates(SEVEN, 5)
    experiment = Experiment(found, "identity", flooded_edges(SEVEN, PEER_TO_PEER), seconds=SECONDS)
    counts = [plain_changes(experiment.histories(seed), SECONDS) for seed in range(1700)]
    wanted = predict(found, "identity").edges.changes
    for way in (DOWN, UP):
        values = [float(count[way].sum()) for count in counts]
        one = compared(f"changes {way}", float(wanted[way].sum()), values, CONFIDENCE)
        assert one.holds, str(one)
        assert one.half_width < 0.02 * one.formula


CASES: dict[str, dict[str, Any]] = {
    "simple": {"algorithm": "simple"},
    "identity": {"algorithm": "identity"},
    "merging": {"algorithm": "merging", "live": 0.2},
    "covering": {"algorithm": "covering", "overlapping": True},
    "identity, overlapping": {"algorithm": "identity", "overlapping": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES)
def test_every_algorithm(case: str, variant: str) -> None:
    given = CASES[case]
    algorithm, overlapping = given["algorithm"], given.get("overlapping", False)
    floods = flooded_edges(SEVEN, variant)
    if overlapping:
        found = overlapping_rates(SEVEN, 11)
        experiment = Experiment(found, algorithm, floods, FILTERS, KINDS, SECONDS)
    else:
        found = random_rates(SEVEN, 5, live=given.get("live", 0.5))
        experiment = Experiment(found, algorithm, floods, seconds=SECONDS)
    runs = [experiment.run(seed) for seed in range(RUNS)]
    expect_all(comparisons(wanted_of(found, algorithm, floods), runs))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tree", ["complete", "random"])
def test_complete_and_random_trees(tree: str, variant: str) -> None:
    """Identity; the others in the larger tests below."""
    if tree == "complete":
        found = leaf_rates(complete_tree(2, 4), live=0.3)
    else:
        found = random_rates(drawn_tree(3), 4, live=0.2)
    floods = flooded_edges(found.tree, variant)
    experiment = Experiment(found, "identity", floods, seconds=SECONDS)
    runs = [experiment.run(seed) for seed in range(RUNS)]
    expect_all(comparisons(wanted_of(found, "identity", floods), runs))


def drawn_tree(seed: int) -> RootedTree:
    return rooted_tree(random_tree(12, Random(seed)).links, "B1")


@pytest.mark.slow
def test_flooding() -> None:
    found = random_rates(SEVEN, 5)
    floods = np.ones((2, 6), dtype=bool)
    runs = [Experiment(found, "flooding", floods, seconds=SECONDS).run(n) for n in range(RUNS)]
    expect_all(comparisons(wanted_of(found, "flooding", floods), runs))


@pytest.mark.slow
def test_a_mix_of_flooding_and_filtering() -> None:
    """The cheapest one, of rates at which some edges flood and some do not."""
    found = random_rates(SEVEN, 6, live=1.0)
    found = replace(found, publication_rate=found.publication_rate * 2)
    floods = cheapest_mix(found, "simple").floods
    assert 0 < floods.sum() < floods.size
    runs = [Experiment(found, "simple", floods, seconds=SECONDS).run(n) for n in range(RUNS)]
    expect_all(comparisons(wanted_of(found, "simple", floods), runs))


@pytest.mark.slow
def test_lifetimes_that_are_always_the_same() -> None:
    """Only their mean matters."""
    found = random_rates(SEVEN, 8)
    floods = flooded_edges(SEVEN, PEER_TO_PEER)
    experiment = Experiment(
        found, "identity", floods, seconds=SECONDS, lifetime=always, remaining=remaining
    )
    runs = [experiment.run(seed) for seed in range(RUNS)]
    expect_all(comparisons(wanted_of(found, "identity", floods), runs))


def advertised(algorithm: str, variant: str) -> tuple[Wanted, Experiment]:
    """Publishers that come and go, and one that stays."""
    found = random_rates(SEVEN, 9)
    found = replace(found, publication_rate=np.zeros_like(found.publication_rate))
    random = np.random.default_rng(1)
    stays = np.zeros((7, 3), dtype=bool)
    stays[SEVEN.position["B4"], 0] = True
    offers = advertisers(
        found, arrival_rate=random.uniform(0, 0.05, (7, 3)), departure_rate=0.2, stays=stays
    )
    traffic = predict_advertised(found, offers, algorithm, variant)
    wanted = Wanted(
        traffic.edges.notifications,
        traffic.edges.changes,
        traffic.edges.entries,
        traffic.advertisements.changes,
    )
    floods = flooded_edges(SEVEN, variant)
    return wanted, Experiment(found, algorithm, floods, seconds=SECONDS, advertisers=offers)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("algorithm", ["simple", "identity"])
def test_advertisements(algorithm: str, variant: str) -> None:
    wanted, experiment = advertised(algorithm, variant)
    runs = [experiment.run(seed) for seed in range(RUNS)]
    expect_all(comparisons(wanted, runs))


# --- larger ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("algorithm", ["simple", "identity", "covering", "merging"])
@pytest.mark.parametrize("tree", ["complete", "random 1", "random 2"])
def test_larger_trees(tree: str, algorithm: str, variant: str) -> None:
    if tree == "complete":
        found = leaf_rates(complete_tree(3, 3), live=0.3)
    elif algorithm == "covering":
        found = overlapping_rates(drawn_tree(int(tree[-1])), 3)
    else:
        found = random_rates(drawn_tree(int(tree[-1])), 3, live=0.2)
    floods = flooded_edges(found.tree, variant)
    filters, kinds = ((), ()) if found.interests.are_disjoint else (FILTERS, KINDS)
    experiment = Experiment(found, algorithm, floods, filters, kinds, SECONDS_LONG)
    runs = [experiment.run(seed) for seed in range(RUNS_LONG)]
    expect_all(comparisons(wanted_of(found, algorithm, floods), runs, CONFIDENCE_LONG))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("algorithm", ["simple", "identity", "covering"])
def test_advertisements_for_longer(algorithm: str, variant: str) -> None:
    wanted, experiment = advertised(algorithm, variant)
    experiment.seconds = SECONDS_LONG
    runs = [experiment.run(seed) for seed in range(RUNS_LONG)]
    expect_all(comparisons(wanted, runs, CONFIDENCE_LONG))
