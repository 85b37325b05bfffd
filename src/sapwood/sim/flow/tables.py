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

# ruff: noqa: PLR0913, PLR0917 - kernels take arrays one by one
from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.compiled.compiling import part

IDENTITY: Final = 0
COVERING: Final = 1
MERGING: Final = 2

DOWN: Final = 0
UP: Final = 1


@part
def spread(
    filter: int,
    broker: int,
    source: int,
    on: bool,
    now: float,
    parents: Any,
    first_child: Any,
    last_child: Any,
    floods: Any,
    algorithm: int,
    covers: Any,
    matches: Any,
    sources: Any,
    single: Any,
    asked: Any,
    asked_filters: Any,
    wanting: Any,
    published: Any,
    changes: Any,
    passed: Any,
    present: Any,
    stack: Any,
) -> None:
    """A source at a broker begins or ceases to want a filter: let that go as far as it matters."""
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
            low, high = first_child[here] - 1, last_child[here]
        elif 0 <= only < len(parents):
            low, high = only, only + 1
        else:
            continue
        for place in range(low, high):
            there = place
            if everybody and place == low:
                there = parents[here]
            if there < 0 or there == came:
                continue
            way, link = (DOWN, here) if there == parents[here] else (UP, there)
            if floods[way, link]:
                continue
            tell(
                way, link, filter, on, now, algorithm, covers, matches, asked, asked_filters,
                wanting, published, changes, passed, present,
            )  # fmt: skip
            stack[top, 0], stack[top, 1] = there, here
            top += 1


@part
def tell(
    way: int,
    link: int,
    filter: int,
    on: bool,
    now: float,
    algorithm: int,
    covers: Any,
    matches: Any,
    asked: Any,
    asked_filters: Any,
    wanting: Any,
    published: Any,
    changes: Any,
    passed: Any,
    present: Any,
) -> None:
    """An edge begins or ceases to be asked for a filter: what that takes, and what follows."""
    sign = 1 if on else -1
    if algorithm == MERGING:
        asked_filters[way, link] += sign
        is_first = asked_filters[way, link] == (1 if on else 0)
        changes[way, link] += 1 if is_first else 2
        if is_first:
            present[way, link] -= sign * now
    elif algorithm == COVERING:
        if not _is_covered(way, link, filter, -1, covers, asked):
            changes[way, link] += 1
            present[way, link] -= sign * now
            for other in range(covers.shape[0]):
                if (
                    covers[other, filter]
                    and asked[way, link, other]
                    and not _is_covered(way, link, other, filter, covers, asked)
                ):
                    changes[way, link] += 1
                    present[way, link] += sign * now
    else:
        changes[way, link] += 1
        present[way, link] -= sign * now
    asked[way, link, filter] = on
    if not matches.shape[0]:
        _want(way, link, filter, sign, wanting, published, passed)
    for kind in range(matches.shape[0]):
        if matches[kind, filter]:
            _want(way, link, kind, sign, wanting, published, passed)


@part
def _want(
    way: int, link: int, kind: int, sign: int, wanting: Any, published: Any, passed: Any
) -> None:
    """One filter more, or less, for which an edge lets a kind of notifications pass."""
    before = wanting[way, link, kind]
    wanting[way, link, kind] = before + sign
    if way == DOWN and (before == 0 or before + sign == 0):
        passed[way, link] -= sign * published[kind]


@part
def _is_covered(way: int, link: int, filter: int, but: int, covers: Any, asked: Any) -> bool:
    """Whether an edge is asked for a filter that covers this one, another one left out."""
    for other in range(covers.shape[0]):
        if covers[filter, other] and other != but and asked[way, link, other]:
            return True
    return False


@part
def publish(
    broker: int, kind: int, parents: Any, floods: Any, wanting: Any, published: Any, passed: Any
) -> None:
    """Count a notification: it passes all edges that lead away from its broker and are asked.

    Edges away from the root count it by themselves, as one more of its kind; but not those that
    lead to its own broker. Towards the root it passes only edges of the way there.
    """
    published[kind] += 1
    here = broker
    while here > 0:
        if floods[DOWN, here] or wanting[DOWN, here, kind]:
            passed[DOWN, here] -= 1
        if floods[UP, here] or wanting[UP, here, kind]:
            passed[UP, here] += 1
        here = parents[here]


@part
def finish(
    now: float,
    algorithm: int,
    covers: Any,
    floods: Any,
    asked: Any,
    asked_filters: Any,
    wanting: Any,
    published: Any,
    passed: Any,
    present: Any,
) -> None:
    """At the end: what is asked for now has been until now."""
    everything = np.int64(0)
    for kind in range(len(published)):
        everything += published[kind]
    for link in range(1, asked.shape[1]):
        for way in (DOWN, UP):
            if floods[way, link]:
                if way == DOWN:
                    passed[way, link] += everything
                continue
            for kind in range(wanting.shape[2]):
                if wanting[way, link, kind] and way == DOWN:
                    passed[way, link] += published[kind]
            if algorithm == MERGING:
                if asked_filters[way, link]:
                    present[way, link] += now
                continue
            for filter in range(asked.shape[2]):
                if asked[way, link, filter] and not (
                    algorithm == COVERING and _is_covered(way, link, filter, -1, covers, asked)
                ):
                    present[way, link] += now
