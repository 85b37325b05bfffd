"""Compiled: who asks whom for what, kept edge by edge while subscriptions come and go.

A broker tells a neighbour a filter while anybody else around it wants it. So for each broker and
filter it is enough to know how many *sources* want it (its clients together are one, each neighbour
that tells it is one) and, if it is a single one, which: from the first source on all others are
told, from the second on the first one is told, too, and a third changes nothing. A subscription
therefore costs as many steps here as it causes messages under identity-based routing, however large
the tree is.

What passes an edge away from the root is not counted notification by notification: when an edge
begins to be asked, the number of notifications of that kind so far is taken off its count, and
added when it ends. The same is done with the time, for entries.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.compiled.compiling import part

IDENTITY: Final = 0
COVERING: Final = 1
MERGING: Final = 2

DOWN: Final = 0
UP: Final = 1


class Tables(NamedTuple):
    """All arrays; "by edge" is by direction and by the broker below the link."""

    parents: Any
    first_child: Any
    last_child: Any
    floods: Any
    """By edge."""
    algorithm: int
    covers: Any
    """By filter and filter: whether the second covers the first. Empty: none does."""
    matches: Any
    """By kind and filter. Empty: each filter matches the kind of its number, and no other."""
    local: Any
    """By broker and filter: subscriptions of clients."""
    sources: Any
    """By broker and filter: who wants it, clients together and each neighbour that tells it."""
    single: Any
    """By broker and filter: the sum of their numbers. Clients have the number of brokers."""
    asked: Any
    """By edge and filter."""
    asked_filters: Any
    """By edge: of how many filters the merger consists."""
    wanting: Any
    """By edge and kind: filters that are asked for and match."""
    published: Any
    """By kind: notifications so far."""
    changes: Any
    """By edge: messages that told of changes."""
    passed: Any
    """By edge: notifications."""
    present: Any
    """By edge: entries times seconds."""
    stack: Any


def new_tables(
    shape: tuple[Any, Any, Any], floods: Any, algorithm: int, interests: tuple[Any, Any], size: Any
) -> Tables:
    """Nobody wants anything; `size` is how many brokers, filters and kinds there are."""
    brokers, filters, kinds = size
    by_edge = (2, brokers)
    return Tables(
        parents=shape[0],
        first_child=shape[1],
        last_child=shape[2],
        floods=floods,
        algorithm=algorithm,
        covers=interests[0],
        matches=interests[1],
        local=np.zeros((brokers, filters), np.int32),
        sources=np.zeros((brokers, filters), np.int32),
        single=np.zeros((brokers, filters), np.int32),
        asked=np.zeros((*by_edge, filters), np.bool_),
        asked_filters=np.zeros(by_edge, np.int32),
        wanting=np.zeros((*by_edge, kinds), np.int32),
        published=np.zeros(kinds, np.int64),
        changes=np.zeros(by_edge, np.int64),
        passed=np.zeros(by_edge, np.int64),
        present=np.zeros(by_edge),
        stack=np.empty((brokers, 2), np.int64),
    )


@part
def forget(tables: Tables) -> None:
    """Begin with another set of filters: nobody wants any of them; counts go on."""
    tables.local[:] = 0
    tables.sources[:] = 0
    tables.single[:] = 0
    tables.asked[:] = False
    tables.asked_filters[:] = 0
    tables.wanting[:] = 0
    tables.published[:] = 0


@part
def spread(tables: Tables, filter: int, broker: int, source: int, on: bool, now: float) -> None:
    """A source at a broker begins or ceases to want a filter: let that go as far as it matters."""
    sources, single, stack, parents = tables.sources, tables.single, tables.stack, tables.parents
    stack[0, 0], stack[0, 1] = broker, source
    top = 1
    while top:
        top -= 1
        here, came = stack[top, 0], stack[top, 1]
        before = sources[here, filter]
        if on:
            only = single[here, filter] if before == 1 else -1
            sources[here, filter] = before + 1
            single[here, filter] += came
            everybody = before == 0
        else:
            sources[here, filter] = before - 1
            single[here, filter] -= came
            only = single[here, filter] if before == 2 else -1
            everybody = before == 1
        if everybody:
            low, high = tables.first_child[here] - 1, tables.last_child[here]
        elif 0 <= only < len(parents):
            low, high = only, only + 1
        else:
            continue
        for place in range(low, high):
            there = parents[here] if everybody and place == low else place
            if there < 0 or there == came:
                continue
            way, link = (DOWN, here) if there == parents[here] else (UP, there)
            if not tables.floods[way, link]:
                tell(tables, way, link, filter, on, now)
                stack[top, 0], stack[top, 1] = there, here
                top += 1


@part
def tell(tables: Tables, way: int, link: int, filter: int, on: bool, now: float) -> None:
    """An edge begins or ceases to be asked for a filter: what that takes, and what follows."""
    sign = 1 if on else -1
    changes, present, covers = tables.changes, tables.present, tables.covers
    if tables.algorithm == MERGING:
        tables.asked_filters[way, link] += sign
        is_first = tables.asked_filters[way, link] == (1 if on else 0)
        changes[way, link] += 1 if is_first else 2
        if is_first:
            present[way, link] -= sign * now
    elif not is_covered(tables, way, link, filter, -1):
        changes[way, link] += 1
        present[way, link] -= sign * now
        for other in range(covers.shape[0]):
            if (
                tables.algorithm == COVERING
                and covers[other, filter]
                and tables.asked[way, link, other]
                and not is_covered(tables, way, link, other, filter)
            ):
                changes[way, link] += 1
                present[way, link] += sign * now
    tables.asked[way, link, filter] = on
    if not tables.matches.shape[0]:
        _want(tables, way, link, filter, sign)
    for kind in range(tables.matches.shape[0]):
        if tables.matches[kind, filter]:
            _want(tables, way, link, kind, sign)


@part
def _want(tables: Tables, way: int, link: int, kind: int, sign: int) -> None:
    """One filter more, or less, for which an edge lets a kind of notifications pass."""
    before = tables.wanting[way, link, kind]
    tables.wanting[way, link, kind] = before + sign
    if way == DOWN and (before == 0 or before + sign == 0):
        tables.passed[way, link] -= sign * tables.published[kind]


@part
def is_covered(tables: Tables, way: int, link: int, filter: int, but: int) -> bool:
    """Whether an edge is asked for a filter that covers this one, another one left out.

    Only covering-based routing asks; under any other nothing is.
    """
    if tables.algorithm != COVERING:
        return False
    for other in range(tables.covers.shape[0]):
        if tables.covers[filter, other] and other != but and tables.asked[way, link, other]:
            return True
    return False


@part
def publish(tables: Tables, broker: int, kind: int) -> None:
    """Count a notification: it passes all edges that lead away from its broker and are asked.

    Edges away from the root count it by themselves, as one more of its kind; but not those that
    lead to its own broker. Towards the root it passes only edges of the way there.
    """
    tables.published[kind] += 1
    here = broker
    while here > 0:
        if tables.floods[DOWN, here] or tables.wanting[DOWN, here, kind]:
            tables.passed[DOWN, here] -= 1
        if tables.floods[UP, here] or tables.wanting[UP, here, kind]:
            tables.passed[UP, here] += 1
        here = tables.parents[here]


@part
def finish(tables: Tables, now: float) -> None:
    """At the end: what is asked for now has been until now."""
    everything = tables.published.sum()
    for link in range(1, len(tables.parents)):
        if tables.floods[DOWN, link]:
            tables.passed[DOWN, link] += everything
        else:
            for kind in range(len(tables.published)):
                if tables.wanting[DOWN, link, kind]:
                    tables.passed[DOWN, link] += tables.published[kind]
        for way in (DOWN, UP):
            if tables.algorithm == MERGING:
                if tables.asked_filters[way, link]:
                    tables.present[way, link] += now
                continue
            for filter in range(tables.asked.shape[2]):
                if tables.asked[way, link, filter] and not is_covered(
                    tables, way, link, filter, -1
                ):
                    tables.present[way, link] += now
