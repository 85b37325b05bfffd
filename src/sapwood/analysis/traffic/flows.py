"""What is behind the two ends of every link: the sums that all formulas are made of.

A link has two directed edges. Over the edge from i to j notifications go from i to j, and
subscriptions from j to i. What it carries depends on three sums for each filter or kind: how many
live subscriptions there are on the side of j, how many come there per second, and how many
notifications are published on the side of i. The side of j is one of two: the subtree below the
link, or everything else. Hence two rows for each link: ``DOWN``, away from the root, and ``UP``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.interests import Interests
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.tree import RootedTree

DOWN, UP = 0, 1
"""The edges of a link: from the parent to the child, and from the child to the parent."""


@dataclass(frozen=True, eq=False)
class Flows:
    """By direction, by link (that above the second broker, the third, ...), by filter or kind."""

    tree: RootedTree
    interests: Interests = field(repr=False)
    copies: int
    live: Floats = field(repr=False)
    """Live subscriptions on the side that the edge leads to, by filter (n)."""
    arrivals: Floats = field(repr=False)
    """Subscriptions per second there, by filter (la of Eq. 3.51)."""
    published: Floats = field(repr=False)
    """Notifications per second on the side the edge comes from, by kind."""

    @property
    def wanting(self) -> Floats:
        """Live subscriptions there that match, by kind."""
        if self.interests.matches is None:
            return self.live
        return np.asarray(self.live @ self.interests.matches.T.astype(float))

    @property
    def covering(self) -> tuple[Floats, Floats]:
        """Live subscriptions, and arrivals per second, of filters that cover each filter."""
        if self.interests.covers is None:
            nothing = np.zeros_like(self.live)
            return nothing, nothing
        above = self.interests.covers.T.astype(float)
        return self.live @ above, self.arrivals @ above


def flows(rates: Rates) -> Flows:
    """The sums on both sides of every link, in one pass over the brokers each."""
    tree = rates.tree
    live, live_outside = both_sides(tree, rates.live)
    arrivals, arrivals_outside = both_sides(tree, rates.arrival_rate)
    published, published_outside = both_sides(tree, rates.publication_rate)
    return Flows(
        tree,
        rates.interests,
        rates.copies,
        live=np.stack([live, live_outside]),
        arrivals=np.stack([arrivals, arrivals_outside]),
        published=np.stack([published_outside, published]),
    )


def both_sides(tree: RootedTree, own: Floats) -> tuple[Floats, Floats]:
    """Sums over the subtree below each link, and over everything else."""
    below = tree.below(own)
    return below[1:], tree.outside(own, below)[1:]
