"""The cost of getting notifications to everybody concerned, on a given tree (thesis 5.2.1).

Concerned are the brokers of the publisher and of the subscribers. A notification is handled by all
brokers of the smallest subtree that joins these, and passes all its links (Eq. 5.1 to 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, Given, rates_of
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Prices:
    """What handling costs at each broker (p), and sending between any two (c), in their order."""

    brokers: tuple[str, ...]
    processing: Floats = field(repr=False)
    links: Floats = field(repr=False)

    def __post_init__(self) -> None:
        count = len(self.brokers)
        if not count:
            raise ParameterError("is empty; wanted at least one broker", "brokers")
        links = rates_of("links", self.links, (count, count))
        if not np.array_equal(links, links.T):
            raise ParameterError("differ with the direction; wanted the same both ways", "links")
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "processing", rates_of("processing", self.processing, (count,)))

    def at(self, broker: str) -> int:
        """Where a broker stands."""
        try:
            return self.brokers.index(broker)
        except ValueError:
            raise ParameterError(f"{broker!r} has no price", "brokers") from None

    def handling(self, brokers: Iterable[str]) -> float:
        """What it costs to handle a notification at all of these."""
        return math.fsum(self.processing[self.at(broker)] for broker in brokers)

    def sending(self, left: str, right: str) -> float:
        """What a link between two brokers costs, if there is one."""
        return float(self.links[self.at(left), self.at(right)])


def prices(brokers: Iterable[str], *, processing: Given, links: Given) -> Prices:
    """Prices, checked: finite, not negative, the same in both directions of a link."""
    named = tuple(brokers)
    return Prices(named, np.asarray(processing, dtype=float), np.asarray(links, dtype=float))


class Delivery(NamedTuple):
    """Notifications that all concern the same brokers: V(n), and how many."""

    concerned: tuple[str, ...]
    number: float = 1.0


def delivery_tree(tree: RootedTree, concerned: Iterable[str]) -> tuple[list[str], list[int]]:
    """The smallest subtree that joins these brokers: its brokers, and its links.

    A link is named by the position of the broker below it. It is part of the subtree if some, but
    not all of them are below.
    """
    below = [0] * len(tree.brokers)
    wanted = dict.fromkeys(concerned)
    for broker in wanted:
        if broker not in tree.position:
            raise ParameterError(f"{broker!r} is no broker of the tree", "concerned")
        below[tree.position[broker]] = 1
    for place in range(len(below) - 1, 0, -1):
        below[tree.parents[place]] += below[place]
    links = [place for place in range(1, len(below)) if 0 < below[place] < len(wanted)]
    inside = set(links) | {tree.parents[place] for place in links}
    inside |= {tree.position[broker] for broker in wanted}
    return [tree.brokers[place] for place in sorted(inside)], links


def cost(tree: RootedTree, prices: Prices, concerned: Iterable[str]) -> float:
    """What one notification costs on a tree (Eq. 5.2)."""
    brokers, links = delivery_tree(tree, concerned)
    ends = ((tree.brokers[broker], tree.brokers[tree.parents[broker]]) for broker in links)
    return prices.handling(brokers) + math.fsum(prices.sending(*link) for link in ends)


def total_cost(tree: RootedTree, prices: Prices, deliveries: Iterable[Delivery]) -> float:
    """What all notifications cost on a tree (Eq. 5.3)."""
    return math.fsum(one.number * cost(tree, prices, one.concerned) for one in deliveries)
