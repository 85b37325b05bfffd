"""From what was seen of a network to rates, and from these to what it would carry otherwise.

Subscriptions that were seen to come and go give an arrival rate and a mean lifetime (Little: as
many are there in the mean as come per second, times the seconds they stay). That is what counts
where each one is told by itself.

Most of a network depends on whether *anybody* at a broker wants something. The formulas take the
number who do for Poisson distributed, so that nobody does with the probability e^(-n). Of one
network one has seen more than the mean: for which share q of the time somebody did. With
n = -ln(1 - q) the formulas say just that of each broker, and of several what follows if they want
things independently of each other: 1 - (1 - q1)(1 - q2). Likewise the times at which the first one
came, b per second, are what a*e^(-n) stands for. A subscription that stands all the time is then
wanted always, and not with the probability 1 - 1/e that one in the mean would give.
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

_ALWAYS: Final = 30.0
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
    changes, live, turns, wanted = (np.zeros(shape) for _ in range(4))
    for (broker, number), stays in _by_place(observed).items():
        place = _place(tree, broker), number
        changes[place], live[place] = _summed(stays, observed)
        turns[place], wanted[place] = _summed(_joined(stays), observed)
    published = np.zeros((len(tree.brokers), max(1, len(kinds))))
    column = {kind: number for number, kind in enumerate(kinds)}
    for (broker, kind), count in observed.published.items():
        published[_place(tree, broker), column[kind]] += count / observed.seconds
    found = _interests(observed, kinds, with_covers=with_covers)
    seconds = observed.seconds
    nobody = np.maximum(1.0 - wanted / seconds, np.exp(-_ALWAYS))
    return Fitted(
        _rates(tree, turns / 2 / seconds / nobody, -np.log(nobody), published, found),
        _rates(tree, changes / 2 / seconds, live / seconds, published, found),
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


Span = tuple[float, float]


def _by_place(observed: Observed) -> dict[tuple[str, int], list[Span]]:
    """When there were subscriptions at each broker for each filter, within the time seen."""
    found: dict[tuple[str, int], list[Span]] = {}
    for stay in observed.stays:
        if min(stay.ended, observed.end) > max(stay.started, observed.begin):
            found.setdefault((stay.broker, stay.filter), []).append((stay.started, stay.ended))
    return found


def _joined(spans: Sequence[Span]) -> list[Span]:
    """The times in which there was at least one."""
    found: list[Span] = []
    for started, ended in sorted(spans):
        if found and started <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], ended)
        else:
            found.append((started, ended))
    return found


def _summed(spans: Sequence[Span], seen: Observed) -> tuple[int, float]:
    """How often they began and ended in the time seen, and how long they were there."""
    changes = sum((since >= seen.begin) + (until <= seen.end) for since, until in spans)
    length = sum(min(until, seen.end) - max(since, seen.begin) for since, until in spans)
    return changes, length


def _place(tree: RootedTree, broker: str) -> int:
    if broker not in tree.position:
        raise ParameterError(f"has no broker {broker!r}, which the trace has", "tree")
    return tree.position[broker]


def _rates(
    tree: RootedTree, arrivals: Floats, live: Floats, published: Floats, found: Interests
) -> Rates:
    coming = np.where((arrivals == 0) & (live > 0), _SELDOM, arrivals)
    live = np.where((arrivals > 0) & (live <= 0), _SELDOM, live)
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
