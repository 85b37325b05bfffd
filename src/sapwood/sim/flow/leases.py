"""Compiled: renewals of leases by the rule that works, one representative for each filter and edge.

Every client renews its subscription once in a refresh period, the first time at any time within
one. A broker passes on to a neighbour the renewals of one of the sources of an entry, its
*representative*: a client of its own or another neighbour. When that one goes, the most recently
renewed of those that were renewed no later than the neighbour was told takes over silently; if
there is none, the neighbour is told at once, and the one renewed longest ago takes over (CLAIMS
1.6, handover). Messages take no time.

One filter is looked at at a time. An edge is named as in `tables`: ``(DOWN, b)`` is what b tells
its parent, ``(UP, c)`` what c is told by its parent.
"""

from __future__ import annotations

import heapq
from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.sim.flow.stationary import drawn
from sapwood.sim.flow.tables import DOWN, UP

RENEWED: Final = 0
BEGAN: Final = 1
ENDED: Final = 2

COMES: Final = 0
GOES: Final = 1
RENEWS: Final = 2


class Leases(NamedTuple):
    """All arrays; "by edge" is by direction and by the broker below the link."""

    parents: Any
    first_child: Any
    last_child: Any
    floods: Any
    telling: Any
    """By edge: whether the filter is told."""
    representative: Any
    """By edge: whose renewals are passed on: a broker, or the number of brokers plus a client."""
    told: Any
    """By edge: when it was told last."""
    head: Any
    """By broker: one of its clients; -1: none."""
    following: Any
    """By client: another client of the same broker; -1: none."""
    before: Any
    """By client: the one that it follows."""
    at_broker: Any
    renewed: Any
    """By client: when."""
    is_live: Any
    renewals: Any
    """By edge: how many were passed on."""
    stack: Any


def new_leases(shape: tuple[Any, Any, Any], floods: Any, room: int) -> Leases:
    """Nobody is there, and there is room for so many clients, one after the other."""
    brokers = len(shape[0])
    by_edge = (2, brokers)
    return Leases(
        *shape, floods, np.zeros(by_edge, np.bool_), np.zeros(by_edge, np.int64), np.zeros(by_edge),
        np.zeros(brokers, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.zeros(room), np.zeros(room, np.bool_),
        np.zeros(by_edge, np.int64), np.zeros((2 * brokers, 3), np.int64),
    )  # fmt: skip


@part
def _edge(here: int, there: int, parents: Any) -> tuple[int, int]:
    """The name of what one broker tells another one."""
    if here > 0 and parents[here] == there:
        return DOWN, here
    return UP, there


@part
def _successor(leases: Leases, here: int, there: int, told: float) -> tuple[int, bool]:
    """Who is to represent an entry towards a neighbour: -1, nobody; and whether silently."""
    parents, first = leases.parents, leases.first_child[here] - 1
    best, oldest = -1, -1
    best_at, oldest_at = -np.inf, np.inf
    client = leases.head[here]
    place = first
    while client >= 0 or place < leases.last_child[here]:
        if client >= 0:
            source, at = len(parents) + client, leases.renewed[client]
            client = leases.following[client]
        else:
            other = parents[here] if place == first else place
            place += 1
            if other < 0 or other == there:
                continue
            way, link = _edge(other, here, parents)
            if not leases.telling[way, link]:
                continue
            source, at = other, leases.told[way, link]
        if told >= at > best_at:
            best, best_at = source, at
        if at < oldest_at:
            oldest, oldest_at = source, at
    if best >= 0:
        return best, True
    return oldest, False


@part
def _passes(leases: Leases, what: int, here: int, there: int, came: int) -> int:
    """What a neighbour is told when a source was renewed, began or ended: -1, nothing."""
    way, link = _edge(here, there, leases.parents)
    if leases.floods[way, link]:
        return -1
    if what == BEGAN:
        if leases.telling[way, link]:
            return -1
        leases.telling[way, link], leases.representative[way, link] = True, came
        return BEGAN
    if not leases.telling[way, link] or leases.representative[way, link] != came:
        return -1
    if what == RENEWED:
        return RENEWED
    chosen, is_silent = _successor(leases, here, there, leases.told[way, link])
    leases.representative[way, link] = chosen
    if chosen < 0:
        leases.telling[way, link] = False
        return ENDED
    return -1 if is_silent else RENEWED


@part
def _happens(
    leases: Leases, kind: int, broker: int, source: Any, now: float, is_counted: bool
) -> None:
    """A source of a broker was renewed, began or ended: as far as that goes."""
    stack = leases.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = kind, broker, source
    top = 1
    while top:
        top -= 1
        what, here, came = stack[top, 0], stack[top, 1], stack[top, 2]
        first = leases.first_child[here] - 1
        for place in range(first, leases.last_child[here]):
            there = leases.parents[here] if place == first else place
            if there < 0 or there == came:
                continue
            then = _passes(leases, what, here, there, came)
            if then < 0:
                continue
            way, link = _edge(here, there, leases.parents)
            if then == RENEWED and is_counted:
                leases.renewals[way, link] += 1
            if then != ENDED:
                leases.told[way, link] = now
            stack[top, 0], stack[top, 1], stack[top, 2] = then, there, here
            top += 1


@part
def _enter(leases: Leases, client: Any, now: float) -> None:
    """A client comes: it is the first in the list of its broker."""
    broker = leases.at_broker[client]
    first = leases.head[broker]
    leases.following[client], leases.before[client] = first, -1
    if first >= 0:
        leases.before[first] = client
    leases.head[broker] = client
    leases.renewed[client], leases.is_live[client] = now, True


@part
def _leave(leases: Leases, client: Any) -> None:
    """A client goes."""
    before, following = leases.before[client], leases.following[client]
    if before >= 0:
        leases.following[before] = following
    else:
        leases.head[leases.at_broker[client]] = following
    if following >= 0:
        leases.before[following] = before
    leases.is_live[client] = False


@kernel
def run_leases(
    leases: Leases, times: Any, random: Any, live_mean: Any, arrivals: Any, departure_rates: Any
) -> int:
    """One filter; `times` are the period, the time to settle, and the end. How much happened."""
    period, warm_up, end = times
    brokers = len(leases.parents)
    leases.telling[:] = False
    leases.head[:] = -1
    leases.is_live[:] = False
    clients, events = 0, 0
    ahead = [(0.0, COMES, np.int64(-1))]
    heapq.heappop(ahead)
    for broker in range(brokers):
        for _ in range(random.poisson(live_mean[broker])):
            leases.at_broker[clients] = broker
            heapq.heappush(ahead, (0.0, COMES, np.int64(clients)))
            clients += 1
    if arrivals[-1] > 0:
        heapq.heappush(ahead, (random.exponential() / arrivals[-1], COMES, np.int64(-1)))
    while ahead:
        now, kind, client = heapq.heappop(ahead)
        if not now < end:
            break
        if kind == COMES and client < 0:
            following = now + random.exponential() / arrivals[-1]
            heapq.heappush(ahead, (following, COMES, np.int64(-1)))
            if clients == len(leases.is_live):
                continue
            client = np.int64(clients)
            leases.at_broker[client] = drawn(arrivals, random)
            clients += 1
        elif kind != COMES and not leases.is_live[client]:
            continue
        events += 1
        broker = leases.at_broker[client]
        what = RENEWED
        if kind == COMES:
            what = BEGAN
            _enter(leases, client, now)
            gone = now + random.exponential() / departure_rates[broker]
            heapq.heappush(ahead, (gone, GOES, client))
            heapq.heappush(ahead, (now + period * random.random(), RENEWS, client))
        elif kind == RENEWS:
            leases.renewed[client] = now
            heapq.heappush(ahead, (now + period, RENEWS, client))
        else:
            what = ENDED
            _leave(leases, client)
        _happens(leases, what, broker, brokers + client, now, now >= warm_up)
    return events
