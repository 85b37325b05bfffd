"""Searching for the cheapest tree with global knowledge: what no broker has.

The problem is NP-complete (thesis 5.3.2). Exhaustive search is for seven brokers or eight;
elsewhere annealing over exchanges of links comes closest; local search shows where exchanges end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sapwood.analysis.overlay.kernels import annealed, cost_of, descended
from sapwood.analysis.overlay.situation import Situation, Tree, arrays_of, as_arrays, as_tree
from sapwood.errors import ParameterError

if TYPE_CHECKING:
    from numpy.random import Generator

EXHAUSTIVE_MAX: Final = 8
"""Brokers: 8^6 = 262,144 trees."""

UNLIMITED: Final = 2**31


class Found(NamedTuple):
    """A tree, and what it costs."""

    cost: float
    tree: Tree


def anneal(
    around: Situation,
    start: Tree,
    random: Generator,
    *,
    steps: int = 400_000,
    hot: float | None = None,
    cold: float | None = None,
    degree_max: int = UNLIMITED,
) -> Found:
    """The best tree that annealing finds from a start; it is never dearer than the start.

    By default it cools down from 1 % to 0.005 % of what the start costs.
    """
    arrays = arrays_of(around)
    neighbours, degrees = _room(start, len(around.prices.brokers))
    scale = max(1e-12, cost_of(neighbours, degrees, *arrays))
    hot = 0.01 * scale if hot is None else hot
    cold = 0.00005 * scale if cold is None else cold
    if not 0 < cold <= hot < math.inf:
        raise ParameterError(f"is {cold}, from {hot}; wanted above 0, and no more", "cold")
    draws = random.random((steps, 4))
    cost = annealed(neighbours, degrees, *arrays, draws, hot, cold, degree_max)
    return Found(float(cost), as_tree(neighbours, degrees))


def local_search(
    around: Situation, start: Tree, *, hops: int = 0, degree_max: int = UNLIMITED
) -> Found:
    """Where the best exchange of links, made again and again, ends."""
    neighbours, degrees = _room(start, len(around.prices.brokers))
    cost = descended(neighbours, degrees, *arrays_of(around), hops, degree_max)
    return Found(float(cost), as_tree(neighbours, degrees))


def exhaustive(around: Situation, *, degree_max: int = UNLIMITED) -> Found:
    """The cheapest of all trees (Cayley: n^(n − 2) of them)."""
    count = len(around.prices.brokers)
    if count > EXHAUSTIVE_MAX:
        raise ParameterError(
            f"{count} brokers have {count}^{count - 2} trees; {EXHAUSTIVE_MAX} brokers at most",
            "brokers",
        )
    arrays = arrays_of(around)
    best = Found(math.inf, ())
    for tree in all_trees(count):
        neighbours, degrees = as_arrays(tree, count)
        if degrees.max(initial=0) <= degree_max:
            cost = float(cost_of(neighbours, degrees, *arrays))
            if cost < best.cost:
                best = Found(cost, tree)
    return best


def all_trees(count: int) -> Iterator[Tree]:
    """Every spanning tree once, by its Prüfer sequence.

    >>> sum(1 for _ in all_trees(5))
    125
    """
    if count == 1:
        yield ()
        return
    for sequence in product(range(count), repeat=count - 2):
        missing = [1 + sequence.count(place) for place in range(count)]
        links = []
        for place in sequence:
            leaf = missing.index(1)
            links.append((min(leaf, place), max(leaf, place)))
            missing[leaf] -= 1
            missing[place] -= 1
        last = [place for place in range(count) if missing[place] == 1]
        links.append((last[0], last[1]))
        yield tuple(sorted(links))


def _room(tree: Tree, count: int) -> tuple[Any, Any]:
    if len(tree) != count - 1:
        raise ParameterError(f"has {len(tree)} links; {count - 1} join {count} brokers", "start")
    return as_arrays(tree, count)
