"""The same scenarios by formula, by flow and message by message: what the triangle is made of.

`python -m sim.flow.triangle` (with `src` and `tests` on the path) prints the table that the
documentation shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np

from analysis.traffic.simulated import Experiment
from analysis.traffic.strategies import random_rates
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
from sapwood.pipeline.study.statistics import t_quantile
from sapwood.sim.flow import traffic
from sapwood.sim.topology import random_tree

FILTERS = ["x between 0 and 3", "x between 0 and 1", "x between 2 and 3", "x = 0", "x = 3"]
KINDS = [{"x": number} for number in range(4)]
ALGORITHMS = ("flooding", "simple", "identity", "covering", "merging")
TREES = ("complete", "random")
VARIANTS = (PEER_TO_PEER, HIERARCHICAL)
QUANTITIES = ("notifications", "changes", "entries")
FLOW_RUNS, FLOW_SECONDS = 60, 2000.0


class Mean(NamedTuple):
    """The mean of independent runs, and how far it may be from the truth."""

    value: float
    half_width: float

    def agrees(self, other: Mean) -> bool:
        """Whether the two may be the same: intervals of independent means add as squares."""
        away = abs(self.value - other.value)
        return away <= math.hypot(self.half_width, other.half_width) + 1e-9

    def __str__(self) -> str:
        return (
            f"{self.value:.4g} ± {self.half_width:.2g}" if self.half_width else f"{self.value:.4g}"
        )


class Corners(NamedTuple):
    """One quantity of one scenario, three times."""

    name: str
    formula: Mean
    flow: Mean
    exact: Mean

    @property
    def agree(self) -> bool:
        """Whether each agrees with each."""
        return (
            self.formula.agrees(self.flow)
            and self.formula.agrees(self.exact)
            and self.flow.agrees(self.exact)
        )

    def __str__(self) -> str:
        return f"{self.name}: formula {self.formula}, flow {self.flow}, exact {self.exact}"


def mean_of(values: Sequence[float], confidence: float) -> Mean:
    """Of independent runs."""
    runs = len(values)
    half = t_quantile(runs - 1, confidence) * float(np.std(values, ddof=1)) / math.sqrt(runs)
    return Mean(float(np.mean(values)), half)


@cache
def scenario(tree: str, *, overlapping: bool) -> Rates:
    """Clients at the leaves of a complete tree, or anywhere in a random one, at uneven rates."""
    if tree == "complete":
        shape, seed = complete_tree(2, 3), 1
    else:
        shape, seed = rooted_tree(random_tree(9, Random(4)).links, "B1"), 2
    if overlapping:
        return _overlapping(shape, seed)
    found = random_rates(shape, seed, live=0.3)
    if tree == "complete":
        here = np.array(shape.is_leaf, dtype=float)[:, None]
        return rates(
            shape,
            arrival_rate=found.arrival_rate * here,
            departure_rate=found.departure_rate,
            publication_rate=found.publication_rate * here,
        )
    return found


def _overlapping(tree: RootedTree, seed: int) -> Rates:
    random, brokers = np.random.default_rng(seed), len(tree.brokers)
    return rates(
        tree,
        arrival_rate=random.uniform(0, 0.5 / brokers, (brokers, len(FILTERS))),
        departure_rate=random.uniform(0.2, 0.5, (brokers, len(FILTERS))),
        publication_rate=random.uniform(0, 0.3, (brokers, len(KINDS))),
        interests=interests_of([Filter(text) for text in FILTERS], KINDS),
    )


def corners(
    tree: str, algorithm: str, variant: str, *, runs: int, seconds: float, confidence: float
) -> Iterator[Corners]:
    """All three, for each quantity that is not nothing."""
    overlapping = algorithm == "covering"
    found = scenario(tree, overlapping=overlapping)
    floods = flooded_edges(found.tree, variant)
    if algorithm == "flooding":
        floods = np.ones_like(floods)
    wanted = predict(found, algorithm, floods=floods)
    texts, kinds = (FILTERS, KINDS) if overlapping else ((), ())
    experiment = Experiment(found, algorithm, floods, texts, kinds, seconds)
    exact = [experiment.run(seed) for seed in range(runs)]
    flow = [
        traffic(found, algorithm, floods=floods, seconds=FLOW_SECONDS, seed=seed).traffic
        for seed in range(FLOW_RUNS)
    ]
    for name in QUANTITIES:
        formula = float(getattr(wanted.edges, name).sum())
        if formula:
            yield Corners(
                f"{algorithm}, {variant}, {tree} tree: {name}",
                Mean(formula, 0.0),
                mean_of([float(getattr(one.edges, name).sum()) for one in flow], confidence),
                mean_of([float(getattr(one, name).sum()) for one in exact], confidence),
            )
        else:
            assert not any(getattr(one.edges, name).any() for one in flow)
            assert not any(getattr(one, name).any() for one in exact)


def main() -> None:
    """Print the table of the documentation."""
    print("| scenario | quantity | formula | flow | exact |")
    print("|---|---|---:|---:|---:|")
    for tree in TREES:
        for algorithm in ALGORITHMS:
            for variant in VARIANTS if algorithm != "flooding" else VARIANTS[:1]:
                for one in corners(
                    tree, algorithm, variant, runs=200, seconds=100.0, confidence=0.95
                ):
                    where, name = one.name.rsplit(": ", 1)
                    mark = "" if one.agree else " (!)"
                    print(f"| {where} | {name} | {one.formula} | {one.flow} | {one.exact}{mark} |")


if __name__ == "__main__":
    main()
