"""Advertisements: subscriptions that travel only where somebody publishes what they want.

Publishers of each class come to each broker as a Poisson process, advertise, and withdraw that when
they go; some may stay for ever. Over the edge from i to j, j asks for a class while somebody behind
j wants it *and* somebody behind i advertises it. Both are independent: the sides of a link share no
client. So j begins to ask when the first subscription comes while there is an advertisement, and
when the first advertisement comes while there is a subscription.

Advertisements themselves travel over every edge, with its direction, one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Flags, Floats, Given, positive_of, rates_of
from sapwood.analysis.traffic.flows import Flows, both_sides, flows
from sapwood.analysis.traffic.predicting import PEER_TO_PEER, check_edges, flooded_edges
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.routing import EdgeTraffic, edge_traffic
from sapwood.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Advertisers:
    """Who advertises what, by broker and class; made by ``advertisers``, which checks it."""

    arrival_rate: Floats = field(repr=False)
    departure_rate: Floats = field(repr=False)
    stays: Flags = field(repr=False)
    """Where somebody advertises a class for ever."""


@dataclass(frozen=True, eq=False)
class AdvertisedTraffic:
    """Messages per second by edge, on both layers."""

    edges: EdgeTraffic
    advertisements: EdgeTraffic
    """Of those only `changes` (along the edge) and `entries` (at its target)."""

    @property
    def notifications(self) -> float:
        """Notifications over all links."""
        return float(self.edges.notifications.sum())

    @property
    def changes(self) -> float:
        """Subscriptions and unsubscriptions over all links."""
        return float(self.edges.changes.sum())

    @property
    def advertising(self) -> float:
        """Advertisements and their withdrawals over all links."""
        return float(self.advertisements.changes.sum())

    @property
    def total(self) -> float:
        """All messages over all links."""
        return self.notifications + self.changes + self.advertising


def advertisers(
    rates: Rates, *, arrival_rate: Given = 0.0, departure_rate: Given = 1.0, stays: Given = False
) -> Advertisers:
    """Publishers that come and go, and some that stay, by broker and class."""
    if not rates.interests.are_disjoint:
        raise ParameterError("advertisements need classes that exclude each other", "interests")
    shape = rates.arrival_rate.shape
    return Advertisers(
        rates_of("arrival_rate", arrival_rate, shape),
        positive_of("departure_rate", departure_rate, shape),
        np.broadcast_to(np.asarray(stays, dtype=np.bool_), shape),
    )


def predict_advertised(
    rates: Rates, publishers: Advertisers, routing: str, variant: str = PEER_TO_PEER
) -> AdvertisedTraffic:
    """What a network carries where subscriptions follow advertisements.

    Publication rates are those of the network in the mean: whoever publishes has advertised, so
    notifications travel as without advertisements.
    """
    floods = flooded_edges(rates.tree, variant)
    check_edges(rates.tree, floods)
    sums = flows(rates)
    offered, offers = _before(rates, publishers)
    asked = _ASKED.get(routing)
    if asked is None:
        raise ParameterError(f"is {routing!r}; there are {', '.join(_ASKED)}", "routing")
    changes, entries = asked(sums, offered, offers)
    filtered, flooded = edge_traffic(sums, "identity"), edge_traffic(sums, "flooding")
    edges = EdgeTraffic(
        np.where(floods, flooded.notifications, filtered.notifications),
        np.where(floods, 0.0, changes.sum(axis=-1) * rates.copies),
        np.where(floods, 0.0, entries.sum(axis=-1) * rates.copies),
    )
    told = EdgeTraffic(
        np.zeros_like(edges.changes),
        2 * (offers * np.exp(-offered)).sum(axis=-1) * rates.copies,
        -np.expm1(-offered).sum(axis=-1) * rates.copies,
    )
    return AdvertisedTraffic(edges, told)


def _before(rates: Rates, publishers: Advertisers) -> tuple[Floats, Floats]:
    """Advertisers on the side that each edge comes from: how many, and how many per second.

    Where one stays for ever there are as good as infinitely many: the chance of none is 0.
    """
    present = publishers.arrival_rate / publishers.departure_rate
    present = np.where(publishers.stays, np.inf, present)
    below, outside = both_sides(rates.tree, present)
    come, come_outside = both_sides(rates.tree, publishers.arrival_rate)
    return np.stack([outside, below]), np.stack([come_outside, come])


def _identity(sums: Flows, offered: Floats, offers: Floats) -> tuple[Floats, Floats]:
    somebody, anything = -np.expm1(-sums.live), -np.expm1(-offered)
    begins = sums.arrivals * np.exp(-sums.live) * anything + somebody * offers * np.exp(-offered)
    return 2 * begins, somebody * anything


def _simple(sums: Flows, offered: Floats, offers: Floats) -> tuple[Floats, Floats]:
    anything = -np.expm1(-offered)
    begins = sums.arrivals * anything + sums.live * offers * np.exp(-offered)
    return 2 * begins, sums.live * anything


_ASKED = {"simple": _simple, "identity": _identity, "covering": _identity}
"""Covering is identity where classes exclude each other."""
