"""From what was seen of a network to rates, and from these to what it would carry otherwise.

Subscriptions that were seen to come and go give an arrival rate and a mean lifetime (Little: as
many are there in the mean as come per second, times the seconds they stay). Those that stood all
the time that was looked at are not a matter of chance: whoever has one wants its notifications
always, not with the probability 1 - 1/e that one subscription in the mean would give. They count as
infinitely many where it matters whether anybody is there, and as what they are where each one is
told by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.interests import Interests, disjoint, interests
from sapwood.analysis.traffic.predicting import PEER_TO_PEER, Traffic, predict
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter

FILTERS_MAX: Final = 3_000
"""Which filter covers which takes as many questions as there are pairs."""

_ALWAYS: Final = 60.0
"""So many subscriptions in the mean that nobody lives to see none."""

_SELDOM: Final = 1e-12
"""Arrivals per second of what stands for ever."""


class Stay(NamedTuple):
    """A subscription: at which broker, for which filter, from when to when."""

    broker: str
    filter: int
    started: float
    ended: float


@dataclass(frozen=True)
class Observed:
    """What was seen of a network for some time."""

    filters: tuple[str, ...]
    begin: float
    end: float
    stays: Sequence[Stay] = field(repr=False)
    published: Mapping[tuple[str, tuple[int, ...]], int] = field(repr=False)
    """Notifications by broker and by which filters match them."""

    @property
    def seconds(self) -> float:
        """How long it was looked at."""
        return self.end - self.begin


@dataclass(frozen=True)
class Fitted:
    """The rates of a network, twice.

    Once for what depends on whether anybody wants something, once for what depends on how many do.
    """

    present: Rates
    counted: Rates

    def moved(self, tree: RootedTree) -> Fitted:
        """The same clients at the same brokers, on another tree."""
        return Fitted(_moved(self.present, tree), _moved(self.counted, tree))


def fit(observed: Observed, tree: RootedTree, *, with_covers: bool = True) -> Fitted:
    """The rates at every broker of a tree, by filter and kind of notification."""
    if observed.seconds <= 0:
        raise ParameterError(f"is {observed.seconds:g} s; wanted more than none", "seconds")
    if with_covers and len(observed.filters) > FILTERS_MAX:
        raise ParameterError(
            f"there are {len(observed.filters):,}; which covers which is asked of "
            f"{FILTERS_MAX:,} at most, so only flooding, simple and identity can be predicted",
            "filters",
        )
    kinds = sorted({kind for _, kind in observed.published})
    shape = len(tree.brokers), max(1, len(observed.filters))
    changes, live, standing = (np.zeros(shape) for _ in range(3))
    for stay in observed.stays:
        _add(stay, observed, tree, changes, live, standing)
    published = np.zeros((len(tree.brokers), max(1, len(kinds))))
    column = {kind: number for number, kind in enumerate(kinds)}
    for (broker, kind), count in observed.published.items():
        published[_place(tree, broker), column[kind]] += count / observed.seconds
    found = _interests(observed, kinds, with_covers=with_covers)
    arrivals, mean = changes / 2 / observed.seconds, live / observed.seconds
    always = np.where(standing > 0, _ALWAYS, mean)
    return Fitted(
        _rates(tree, arrivals, always, published, found),
        _rates(tree, arrivals, mean, published, found),
    )


def forecast(
    fitted: Fitted, routing: str, variant: str = PEER_TO_PEER, refresh_period: float | None = None
) -> Traffic:
    """What a network with these rates would carry."""
    found = predict(fitted.present, routing, variant, refresh_period=refresh_period)
    if routing != "simple":
        return found
    told = predict(fitted.counted, routing, variant, refresh_period=refresh_period)
    edges = replace(told.edges, notifications=found.edges.notifications)
    return replace(told, edges=edges)


def _add(
    stay: Stay, seen: Observed, tree: RootedTree, changes: Floats, live: Floats, standing: Floats
) -> None:
    """Take a subscription into the sums."""
    since, until = max(stay.started, seen.begin), min(stay.ended, seen.end)
    if until <= since:
        return
    place = _place(tree, stay.broker), stay.filter
    live[place] += until - since
    changes[place] += (stay.started >= seen.begin) + (stay.ended <= seen.end)
    standing[place] += stay.started < seen.begin and stay.ended > seen.end


def _place(tree: RootedTree, broker: str) -> int:
    if broker not in tree.position:
        raise ParameterError(f"has no broker {broker!r}, which the trace has", "tree")
    return tree.position[broker]


def _rates(
    tree: RootedTree, arrivals: Floats, live: Floats, published: Floats, found: Interests
) -> Rates:
    coming = np.where((arrivals == 0) & (live > 0), _SELDOM, arrivals)
    leaving = np.where(live > 0, coming / np.where(live > 0, live, 1.0), 1.0)
    return rates(
        tree,
        arrival_rate=coming,
        departure_rate=leaving,
        publication_rate=published,
        interests=found,
    )


def _interests(
    observed: Observed, kinds: Sequence[tuple[int, ...]], *, with_covers: bool
) -> Interests:
    count = len(observed.filters)
    if not count or not kinds:
        return disjoint(1)
    matches = np.zeros((len(kinds), count), dtype=bool)
    for row, kind in enumerate(kinds):
        matches[row, list(kind)] = True
    covers = np.zeros((count, count), dtype=bool)
    if with_covers:
        made = [Filter(text) for text in observed.filters]
        for narrow in range(count):
            for wide in range(count):
                covers[narrow, wide] = narrow != wide and made[wide].covers(made[narrow])
    return interests(matches, covers)


def _moved(old: Rates, tree: RootedTree) -> Rates:
    for broker in old.tree.brokers:
        _place(tree, broker)
    for broker in tree.brokers:
        if broker not in old.tree.position:
            raise ParameterError(f"has a broker {broker!r}, which the trace has not", "tree")
    order = [old.tree.position[broker] for broker in tree.brokers]
    return rates(
        tree,
        arrival_rate=old.arrival_rate[order],
        departure_rate=old.departure_rate[order],
        publication_rate=old.publication_rate[order],
        interests=old.interests,
        copies=old.copies,
    )


__all__ = ["FILTERS_MAX", "Fitted", "Observed", "Stay", "fit", "forecast"]
