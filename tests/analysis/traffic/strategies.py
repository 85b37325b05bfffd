"""Random trees and rates for property tests, and small trees by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from sapwood.analysis.traffic.arrays import Flags
from sapwood.analysis.traffic.predicting import check_edges
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.analysis.traffic.tree import RootedTree, rooted_tree
from sapwood.errors import RoutingError

SEVEN = rooted_tree(
    [("B1", "B2"), ("B1", "B3"), ("B3", "B4"), ("B3", "B5"), ("B5", "B6"), ("B5", "B7")]
)
"""Seven brokers, none of whose sides are alike."""


@st.composite
def trees(draw: st.DrawFn, brokers_max: int = 9) -> RootedTree:
    """Any tree: each broker after the first hangs below one before it."""
    count = draw(st.integers(1, brokers_max))
    above = [draw(st.integers(0, number - 1)) for number in range(1, count)]
    names = [f"B{number}" for number in range(count)]
    links = [(names[parent], name) for parent, name in zip(above, names[1:], strict=True)]
    return rooted_tree(links, root=draw(st.sampled_from(names)), brokers=names)


def random_rates(tree: RootedTree, seed: int, classes: int = 3, live: float = 0.5) -> Rates:
    """Uneven rates everywhere, some of them 0."""
    random = np.random.default_rng(seed)
    shape = (len(tree.brokers), classes)
    departure = random.uniform(0.1, 0.5, shape)
    return rates(
        tree,
        arrival_rate=departure * random.exponential(live, shape) * (random.random(shape) > 0.2),
        departure_rate=departure,
        publication_rate=random.uniform(0, 0.2, shape),
    )


def correct_mixes(tree: RootedTree) -> Iterator[Flags]:
    """Every mix of flooding and filtering edges that loses nothing, of a small tree."""
    for bits in itertools.product((False, True), repeat=2 * tree.links):
        floods = np.array(bits, dtype=np.bool_).reshape(2, tree.links)
        try:
            check_edges(tree, floods)
        except RoutingError:
            continue
        yield floods
