"""What a routing algorithm lets each edge carry: notifications, changes of tables, entries.

All follow from one observation. The edge from i to j is *asked* for something when somebody behind
j wants it, and the numbers of those who do are independent Poisson variables with the mean n behind
j: nobody with probability exp(-n). Since arrivals do not look at the state they meet (PASTA), the
edge begins to be asked with the rate a·exp(-n), and as what begins must end as often, twice that
many messages change the table. Each algorithm says *for what* an edge is asked:

- simple: for every subscription by itself;
- identity: for every filter;
- covering: for every filter that no other one covers;
- merging: for all filters together, as one merger. It is sent anew with every change, so a change
  costs two messages, but for the first and the last filter.

Notifications are the same for all that filter: those that somebody behind j wants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.flows import Flows
from sapwood.errors import ParameterError


@dataclass(frozen=True, eq=False)
class EdgeTraffic:
    """Messages per second over every edge, by direction and link, and entries because of it.

    `changes` go against the direction of the edge: they are what its target tells its source.
    """

    notifications: Floats = field(repr=False)
    changes: Floats = field(repr=False)
    """Subscriptions and unsubscriptions."""
    entries: Floats = field(repr=False)
    """Entries in the table of the edge's source, in the mean."""


def flooding(flows: Flows) -> EdgeTraffic:
    """Everything goes everywhere, and nobody says anything (Eq. 3.20, 3.46)."""
    everything = flows.published.sum(axis=-1) * flows.copies
    nothing = np.zeros_like(everything)
    return EdgeTraffic(everything, nothing, nothing)


def simple(flows: Flows) -> EdgeTraffic:
    """Each subscription is told by itself, when it comes and when it goes."""
    return EdgeTraffic(
        _wanted(flows),
        2 * flows.arrivals.sum(axis=-1) * flows.copies,
        flows.live.sum(axis=-1) * flows.copies,
    )


def identity(flows: Flows) -> EdgeTraffic:
    """Each filter is told when the first one subscribes and when the last one ends (Eq. 3.52)."""
    return EdgeTraffic(
        _wanted(flows),
        2 * (flows.arrivals * np.exp(-flows.live)).sum(axis=-1) * flows.copies,
        -np.expm1(-flows.live).sum(axis=-1) * flows.copies,
    )


def covering(flows: Flows) -> EdgeTraffic:
    """A filter is told while somebody wants it and nobody wants a filter that covers it.

    It begins to be told when its first subscription comes while there is no cover, and when the
    last cover goes while it is wanted. Which of both, and when, is up to subscriptions that are
    independent, so probabilities multiply.
    """
    covers, cover_arrivals = flows.covering
    alone, nobody = np.exp(-covers), np.exp(-flows.live)
    somebody = -np.expm1(-flows.live)
    begins = alone * (flows.arrivals * nobody + somebody * cover_arrivals)
    return EdgeTraffic(
        _wanted(flows),
        2 * begins.sum(axis=-1) * flows.copies,
        (somebody * alone).sum(axis=-1) * flows.copies,
    )


def merging(flows: Flows) -> EdgeTraffic:
    """All filters behind an edge are one merger, as classes of one attribute are.

    Whatever changes the set of filters replaces the merger, by two messages; the first filter and
    the last take one.
    """
    if not flows.interests.are_disjoint:
        raise ParameterError(
            "a formula for merging is known only where classes exclude each other and any set of "
            "them is one filter",
            "interests",
        )
    together = flows.live.sum(axis=-1) * flows.copies
    begins = flows.arrivals.sum(axis=-1) * flows.copies * np.exp(-together)
    return EdgeTraffic(
        _wanted(flows), 2 * identity(flows).changes - 2 * begins, -np.expm1(-together)
    )


def _wanted(flows: Flows) -> Floats:
    """Notifications that somebody behind the edge wants (Eq. 3.23, 3.40)."""
    wanted = flows.published * -np.expm1(-flows.wanting)
    return np.asarray(wanted.sum(axis=-1) * flows.copies)


ALGORITHMS: dict[str, Callable[[Flows], EdgeTraffic]] = {
    "flooding": flooding,
    "simple": simple,
    "identity": identity,
    "covering": covering,
    "merging": merging,
}
"""Every routing algorithm by the name it has everywhere."""


def edge_traffic(flows: Flows, algorithm: str) -> EdgeTraffic:
    """What an algorithm lets each edge carry, if all edges behind it filter."""
    if algorithm not in ALGORITHMS:
        raise ParameterError(f"is {algorithm!r}; there are {', '.join(ALGORITHMS)}", "routing")
    return ALGORITHMS[algorithm](flows)
