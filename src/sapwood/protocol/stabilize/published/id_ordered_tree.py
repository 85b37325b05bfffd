"""The baseline: a self-stabilizing tree that is ordered by ids (Afek, Kutten and Yung 1990).

The broker with the biggest id becomes the root; every other one takes as parent the neighbour that
is closest to it, of several the one with the biggest id (thesis 4.5.2, persistence of changes). So
there is one right tree for a graph, and a change that somebody wanted is a fault: it is undone
by itself (figure 4.18).

Each broker offers its root and its distance to its neighbours every period, and at once when they
change. In place of the requests and grants with which the original makes sure that a root exists, a
distance is at most the number of brokers: a root that does not exist is believed less and less
near, until it is dropped.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec

from sapwood.errors import ParameterError
from sapwood.protocol.due import is_due


class Offer(msgspec.Struct, frozen=True):
    """Below me you would be so far from this root."""

    root: int
    distance: int


class OfferReceived(msgspec.Struct, frozen=True):
    """A neighbour's offer."""

    source: int
    message: Offer


class OfferTick(msgspec.Struct, frozen=True):
    """Time has passed."""


class ParentWanted(msgspec.Struct, frozen=True):
    """Somebody wants this broker below another one: a change of the tree."""

    parent: int


class SendOffer(msgspec.Struct, frozen=True):
    """Send an offer to a neighbour."""

    destination: int
    message: Offer


Event: TypeAlias = OfferReceived | OfferTick | ParentWanted


class IdOrderedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker knows for ever."""

    id: int
    neighbours: tuple[int, ...]
    period: float
    """Seconds between two offers."""
    brokers_max: int

    def __post_init__(self) -> None:
        if not 0 < self.period < math.inf:
            raise ParameterError(f"is {self.period}; wanted a finite number above 0", "period")


class IdOrderedState(msgspec.Struct, kw_only=True):
    """The variables of a broker."""

    root: int
    distance: int = 0
    parent: int | None = None
    offers: dict[int, Offer] = msgspec.field(default_factory=dict)
    offer_at: float = 0.0


class IdOrderedTree:
    """One broker of the tree."""

    def __init__(self, config: IdOrderedConfig) -> None:
        self.config = config
        self.state = IdOrderedState(root=config.id)

    @property
    def next_at(self) -> float:
        """When something is due here."""
        return self.state.offer_at

    def handle(self, event: Event, now: float) -> list[SendOffer]:
        """What this broker does about an event."""
        if isinstance(event, OfferReceived):
            if event.source not in self.config.neighbours:
                return []
            self.state.offers[event.source] = event.message
            return self._offers() if self._choose() else []
        if isinstance(event, ParentWanted):
            return self._take(event.parent)
        if not is_due(self.state.offer_at, now, self.config.period):
            return []
        self.state.offer_at = now + self.config.period
        self._choose()
        return self._offers()

    def _choose(self) -> bool:
        """Take the parent that the order of ids asks for; whether anything changed."""
        state = self.state
        before = (state.root, state.distance, state.parent)
        state.root, state.distance, state.parent = self.config.id, 0, None
        best = (self.config.id, 0, 0)
        for name in self.config.neighbours:
            offer = state.offers.get(name)
            if offer is None or not 0 <= offer.distance < self.config.brokers_max - 1:
                continue
            rank = (offer.root, -offer.distance, name)
            if offer.root > self.config.id and rank > best:
                best = rank
                state.root, state.distance = offer.root, offer.distance + 1
                state.parent = name
        return before != (state.root, state.distance, state.parent)

    def _take(self, parent: int) -> list[SendOffer]:
        """Change the parent because somebody wants it."""
        offer = self.state.offers.get(parent)
        if offer is None:
            return []
        self.state.root, self.state.distance = offer.root, offer.distance + 1
        self.state.parent = parent
        return self._offers()

    def _offers(self) -> list[SendOffer]:
        offer = Offer(self.state.root, self.state.distance)
        return [SendOffer(name, offer) for name in self.config.neighbours]
