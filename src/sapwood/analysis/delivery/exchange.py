"""When a direct link would pay: the rule of the cost-and-interest heuristic (thesis 5.5.1).

Two brokers i and j share notifications that now go from i by way of others to j. A broker k on the
way that takes part of them itself would be sent these anyway, so only the others count against the
detour.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sapwood.analysis.traffic.arrays import number_of
from sapwood.errors import ParameterError


class Step(NamedTuple):
    """One more broker on the way from i, and the link that leads to it."""

    link: float
    """What the link costs (c)."""
    processing: float
    """What handling costs there (p)."""
    shared: float
    """Notifications that i shares with this broker (I_ij)."""
    shared_with_previous: float = 0.0
    """Those of them that the broker before it takes, too (I_ikj)."""


def path_cost(way: Sequence[Step]) -> float:
    """What a notification from i to the end of the way costs by way of the others (Eq. 5.11).

    Where nothing is shared, the whole detour counts.
    """
    if not way:
        raise ParameterError("is empty; wanted at least one link", "way")
    for step in way:
        for name, value in step._asdict().items():
            number_of(name, value)
        if step.shared_with_previous > step.shared:
            raise ParameterError("is more than what is shared at all", "shared_with_previous")
    found = way[0].link
    for previous, step in pairwise(way):
        detour = 1.0
        if step.shared:
            detour = (step.shared - step.shared_with_previous) / step.shared
        found = detour * (found + previous.processing) + step.link
    return found


def saves(link: float, way: Sequence[Step]) -> bool:
    """Whether a direct link of that cost is cheaper than the way there is now (Eq. 5.10)."""
    return number_of("link", link) < path_cost(way)
