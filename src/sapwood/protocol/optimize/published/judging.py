"""The published heuristics as pure functions: whether a link would pay, and which had best go.

A ring is a path in the tree, closed by the link that might come. Its links are numbered by the
broker they begin at: link k joins the brokers k and k + 1, the new one is the last. Every broker of
the ring says of each link what the ring would cost, from its own point of view, without it (Eq.
5.12, with j ≠ i); the sums decide (Eq. 5.13, 5.14).

The local spanning trees, lMST and lMIT, have no formulas in print. lMST connects when the new link
is cheaper than the dearest of the path, and removes that one; lMIT when more is shared over the new
link than over the one of the path over which least is shared, and removes that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from sapwood.analysis.delivery.exchange import Step
from sapwood.protocol.optimize.published.settings import HeuristicName
from sapwood.protocol.optimize.published.summaries import Members, shared


class Prospect(NamedTuple):
    """A ring, as one of its brokers knows it."""

    place: int
    """Where that broker is on it."""
    links: tuple[float, ...]
    """What its links cost, the new one last."""
    processing: tuple[float, ...]
    """What its brokers cost."""
    members: tuple[Members | None, ...]
    """Which of its own notifications each of the others has, too; None for the broker itself, and
    for all where the heuristic does not ask."""

    @property
    def size(self) -> int:
        """How many brokers the ring has."""
        return len(self.links)

    def shared(self, *places: int) -> float:
        """How many notifications the broker shares with all of the brokers at these places."""
        return shared(*(one for place in places if (one := self.members[place]) is not None))

    def way(self, direction: int) -> list[Step]:
        """All other brokers of the ring, in the order in which one comes to them going round."""
        steps = []
        here = self.place
        for _ in range(self.size - 1):
            there = (here + direction) % self.size
            link = self.links[here if direction > 0 else there]
            common = self.shared(there)
            both = 0.0 if here == self.place else min(common, self.shared(here, there))
            steps.append(Step(link, self.processing[there], common, both))
            here = there
        return steps


class Heuristic(NamedTuple):
    """One of them."""

    pays: Callable[[Prospect], bool]
    """Whether the first broker of a ring would like the new link."""
    contribution: Callable[[Prospect], list[float]]
    """What a broker adds to the costs of the ring without each of its links."""
    needs_traffic: bool
    """Whether it has to know what brokers share."""


# Cost and interest


def ci_pays(ring: Prospect) -> bool:
    """Whether a direct link is cheaper than the path, given what others take of it (Eq. 5.10)."""
    way = ring.way(1)
    return way[-1].shared > 0 and ring.links[-1] < costs_along(way)[-1]


def ci_contribution(ring: Prospect) -> list[float]:
    """Eq. 5.12: all that the broker shares with each other one, times the cost of getting there.

    Going round either way, what is met before a link is the same for all links beyond.
    """
    forth, back = (_met(ring.way(direction)) for direction in (1, -1))
    size, place = ring.size, ring.place
    return [forth[(link - place) % size] + back[(place - 1 - link) % size] for link in range(size)]


def _met(way: Sequence[Step]) -> list[float]:
    """The cost of all that is shared with the first so many brokers on a way."""
    shares = (step.shared * cost for step, cost in zip(way, costs_along(way), strict=True))
    return list(accumulate(shares, initial=0.0))


def costs_along(way: Sequence[Step]) -> list[float]:
    """What a notification costs to each broker of a way, by way of those before it (Eq. 5.11).

    `sapwood.analysis.delivery.path_cost` is the same for the last one, checked; this is asked for
    with every broadcast.
    """
    cost = way[0].link
    found = [cost]
    for previous, step in pairwise(way):
        detour = (step.shared - step.shared_with_previous) / step.shared if step.shared else 1.0
        cost = detour * (cost + previous.processing) + step.link
        found.append(cost)
    return found


# Local spanning trees


def lmst_pays(ring: Prospect) -> bool:
    """Whether the new link is cheaper than the dearest of the path."""
    return ring.links[-1] < max(ring.links[:-1])


def lmst_contribution(ring: Prospect) -> list[float]:
    """The broker's own link of the ring costs what it costs, unless it is the one that goes."""
    own = ring.links[ring.place]
    return [0.0 if link == ring.place else own for link in range(ring.size)]


def lmit_pays(ring: Prospect) -> bool:
    """Whether anything is shared over the new link; how much elsewhere only the others know."""
    return ring.shared(ring.size - 1) > 0


def lmit_contribution(ring: Prospect) -> list[float]:
    """What is shared over the broker's own link, which goes lost with it."""
    own = ring.shared((ring.place + 1) % ring.size)
    return [own if link == ring.place else 0.0 for link in range(ring.size)]


HEURISTICS: Final[dict[HeuristicName, Heuristic]] = {
    "ci": Heuristic(ci_pays, ci_contribution, needs_traffic=True),
    "lmst": Heuristic(lmst_pays, lmst_contribution, needs_traffic=False),
    "lmit": Heuristic(lmit_pays, lmit_contribution, needs_traffic=True),
}


def link_to_remove(costs: Sequence[float], hysteresis: float) -> int | None:
    """Which link of the path goes for the new one, the last; None if it had better not come.

    It has to be cheaper by a share, the hysteresis; zero as printed.
    """
    best = min(range(len(costs) - 1), key=costs.__getitem__)
    return best if costs[best] < (1 - hysteresis) * costs[-1] else None
