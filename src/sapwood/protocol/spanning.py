"""A tree out of a network with cycles: the cheapest one, and the same one at every broker.

Between sites there are usually more links than a tree has. Brokers that know the same candidate
links choose the same tree from them without asking each other (Jaeger 2007, 3.4.4); the links left
over carry no notifications and stand by.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from sapwood.errors import TopologyError
from sapwood.protocol.tree import Groups, Topology, check_link, not_connected


class Candidate(NamedTuple):
    """A link that could be part of the tree, and what it costs."""

    left: str
    right: str
    cost: float


def spanning_tree(brokers: Iterable[str], candidates: Iterable[tuple[str, str, float]]) -> Topology:
    """The tree of least total cost (Kruskal 1956).

    Among links of equal cost those with the smaller ids, compared as texts, come first; the order
    in which brokers and candidates are listed has no influence on the links chosen. Of several
    candidates between the same brokers the cheapest counts.

    >>> triangle = [("B1", "B2", 1.0), ("B2", "B3", 1.0), ("B1", "B3", 1.0)]
    >>> spanning_tree(["B1", "B2", "B3"], triangle).links
    (('B1', 'B2'), ('B1', 'B3'))
    """
    names = tuple(brokers)
    known = frozenset(names)
    order = sorted(_checked(Candidate(*candidate), known) for candidate in candidates)
    groups = Groups(names)
    links = tuple((left, right) for _, left, right in order if groups.join(left, right))
    if len(links) < len(known) - 1:
        raise not_connected(groups, names)
    return Topology(names, links)


def _checked(candidate: Candidate, known: frozenset[str]) -> tuple[float, str, str]:
    """A candidate as it is sorted: cost first, then the ids."""
    left, right, cost = candidate
    check_link(left, right, known)
    if not 0 <= cost < math.inf:
        raise TopologyError(
            f"the link {left}-{right} costs {cost}; a cost is a finite number, 0 or more"
        )
    return cost, min(left, right), max(left, right)
