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
from typing import Final, NamedTuple

from sapwood.protocol.optimize.published.rules import (
    add_kept_link,
    add_lost_interest,
    add_ring_costs,
    costs_round,
    is_cheaper_than_dearest,
    least_link,
)
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

    def interests(self) -> tuple[list[float], list[float]]:
        """What the broker shares with each other one, and with the two at the ends of each link."""
        others = [place != self.place for place in range(self.size)]
        common = [self.shared(place) if others[place] else 0.0 for place in range(self.size)]
        pairs = [
            self.shared(left, right) if others[left] and others[right] else 0.0
            for left, right in zip(range(self.size), (*range(1, self.size), 0), strict=True)
        ]
        return common, pairs


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
    common, pairs = ring.interests()
    costs = [0.0] * ring.size
    costs_round(ring.place, 1, ring.links, ring.processing, common, pairs, costs)
    return common[-1] > 0 and ring.links[-1] < costs[-1]


def ci_contribution(ring: Prospect) -> list[float]:
    """Eq. 5.12: all that the broker shares with each other one, times the cost of getting there."""
    common, pairs = ring.interests()
    sums = [0.0] * ring.size
    costs = [0.0] * ring.size
    for direction in (1, -1):
        costs_round(ring.place, direction, ring.links, ring.processing, common, pairs, costs)
        add_ring_costs(ring.place, direction, common, costs, sums)
    return sums


# Local spanning trees


def lmst_pays(ring: Prospect) -> bool:
    """Whether the new link is cheaper than the dearest of the path."""
    return is_cheaper_than_dearest(ring.links)


def lmst_contribution(ring: Prospect) -> list[float]:
    """The broker's own link of the ring costs what it costs, unless it is the one that goes."""
    sums = [0.0] * ring.size
    add_kept_link(ring.place, ring.links, sums)
    return sums


def lmit_pays(ring: Prospect) -> bool:
    """Whether anything is shared over the new link; how much elsewhere only the others know."""
    return ring.shared(ring.size - 1) > 0


def lmit_contribution(ring: Prospect) -> list[float]:
    """What is shared over the broker's own link, which goes lost with it."""
    sums = [0.0] * ring.size
    add_lost_interest(ring.place, ring.shared((ring.place + 1) % ring.size), sums)
    return sums


HEURISTICS: Final[dict[HeuristicName, Heuristic]] = {
    "ci": Heuristic(ci_pays, ci_contribution, needs_traffic=True),
    "lmst": Heuristic(lmst_pays, lmst_contribution, needs_traffic=False),
    "lmit": Heuristic(lmit_pays, lmit_contribution, needs_traffic=True),
}


def link_to_remove(costs: Sequence[float], hysteresis: float) -> int | None:
    """Which link of the path goes for the new one, the last; None if it had better not come.

    It has to be cheaper by a share, the hysteresis; zero as printed.
    """
    found = least_link(costs, hysteresis)
    return found if found >= 0 else None
