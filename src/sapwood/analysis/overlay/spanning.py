"""Spanning trees with global knowledge: the cheapest links, or those over which most is shared.

The minimum spanning tree looks at what links cost only, the maximum interest tree at what brokers
share only (thesis 5.4). What two brokers share is judged by their subscriptions, as if all were
published equally often, or by the notifications that concern both (5.4.2, after Baldoni et al.).
"""

from __future__ import annotations

import math

import numpy as np

from sapwood.analysis.overlay.situation import Situation, Tree
from sapwood.analysis.traffic.arrays import Floats


def minimum_spanning_tree(around: Situation) -> Tree:
    """The tree whose links cost least together (5.4.1)."""
    return _spanning(around.prices.links)


def associativity_by_history(around: Situation) -> Floats:
    """By pair of brokers: how many notifications concern both, in a unit of time."""
    weighed = around.concerned * around.numbers[:, None]
    found: Floats = around.concerned.T.astype(np.float64) @ weighed
    return found


def associativity_by_subscriptions(around: Situation) -> Floats:
    """By pair of brokers: how many kinds of notifications both subscribe to.

    That is the overlap of their zones of interest if all kinds are equally frequent; what is
    published at a broker is no interest of it.
    """
    wanted = around.concerned.copy()
    wanted[np.arange(len(wanted)), around.publishers] = False
    found: Floats = wanted.T.astype(np.float64) @ wanted.astype(np.float64)
    return found


def maximum_interest_tree(
    around: Situation, associativity: Floats, link_cost_max: float = math.inf
) -> Tree:
    """The tree over whose links most is shared; of equal ones the cheaper link.

    Links that cost more than `link_cost_max` are taken only where there is no other way.
    """
    links = around.prices.links
    dear = (links > link_cost_max).astype(np.float64)
    order = np.lexsort((links.ravel(), -associativity.ravel(), dear.ravel()))
    ranks = np.empty(links.size, dtype=np.float64)
    ranks[order] = np.arange(links.size)
    square = ranks.reshape(links.shape)
    return _spanning(np.minimum(square, square.T))


def _spanning(weights: Floats) -> Tree:
    """The tree of the least weight (Prim)."""
    count = len(weights)
    outside = np.ones(count, dtype=bool)
    outside[0] = False
    nearest, through = weights[0].astype(np.float64), np.zeros(count, dtype=np.int64)
    links = []
    while outside.any():
        closest = int(np.argmin(np.where(outside, nearest, np.inf)))
        other = int(through[closest])
        links.append((min(closest, other), max(closest, other)))
        outside[closest] = False
        is_nearer = weights[closest] < nearest
        nearest = np.where(is_nearer, weights[closest], nearest)
        through = np.where(is_nearer, closest, through)
    return tuple(sorted(links))
