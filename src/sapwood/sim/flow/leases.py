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

# ruff: noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - a kernel is one loop over plain arrays
from __future__ import annotations

import heapq
from typing import Any, Final

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


@part
def _edge(here: int, there: int, parents: Any) -> tuple[int, int]:
    """The name of what one broker tells another one."""
    if here > 0 and parents[here] == there:
        return DOWN, here
    return UP, there


@part
def _successor(
    here: int, there: int, told: float, parents: Any, first_child: Any, last_child: Any,
    telling: Any, renewed: Any, head: Any, following: Any, client_renewed: Any,
) -> tuple[int, bool]:  # fmt: skip
    """Who is to represent an entry towards a neighbour: -1, nobody; and whether silently."""
    count = len(parents)
    best, oldest = -1, -1
    best_at, oldest_at = -np.inf, np.inf
    client = head[here]
    place = first_child[here] - 1
    while client >= 0 or place < last_child[here]:
        if client >= 0:
            source, at = count + client, client_renewed[client]
            client = following[client]
        else:
            other = parents[here] if place == first_child[here] - 1 else place
            place += 1
            if other < 0 or other == there:
                continue
            way, link = _edge(other, here, parents)
            if not telling[way, link]:
                continue
            source, at = other, renewed[way, link]
        if at <= told and at > best_at:
            best, best_at = source, at
        if at < oldest_at:
            oldest, oldest_at = source, at
    if best >= 0:
        return best, True
    return oldest, False


@part
def _happens(
    kind: int, broker: int, source: int, now: float, is_counted: bool, parents: Any,
    first_child: Any, last_child: Any, floods: Any, telling: Any, representative: Any, told: Any,
    renewed: Any, head: Any, following: Any, client_renewed: Any, renewals: Any, stack: Any,
) -> None:  # fmt: skip
    """A source of a broker was renewed, began or ended: as far as that goes."""
    stack[0, 0], stack[0, 1], stack[0, 2] = kind, broker, source
    top = 1
    while top:
        top -= 1
        what, here, came = stack[top, 0], stack[top, 1], stack[top, 2]
        for place in range(first_child[here] - 1, last_child[here]):
            there = parents[here] if place == first_child[here] - 1 else place
            if there < 0 or there == came:
                continue
            way, link = _edge(here, there, parents)
            if floods[way, link]:
                continue
            then = -1
            if what == BEGAN:
                if telling[way, link]:
                    continue
                telling[way, link], representative[way, link] = True, came
                then = BEGAN
            elif telling[way, link] and representative[way, link] == came:
                if what == RENEWED:
                    then = RENEWED
                else:
                    chosen, is_silent = _successor(
                        here, there, told[way, link], parents, first_child, last_child, telling,
                        renewed, head, following, client_renewed,
                    )  # fmt: skip
                    representative[way, link] = chosen
                    if chosen < 0:
                        telling[way, link] = False
                        then = ENDED
                    elif not is_silent:
                        then = RENEWED
            if then < 0:
                continue
            if then == RENEWED and is_counted:
                renewals[way, link] += 1
            if then != ENDED:
                told[way, link] = renewed[way, link] = now
            stack[top, 0], stack[top, 1], stack[top, 2] = then, there, here
            top += 1


@kernel
def run_leases(
    units: int, period: float, warm_up: float, seconds: float, random: Any, parents: Any,
    first_child: Any, last_child: Any, floods: Any, live_mean: Any, arrivals: Any,
    departure_rates: Any, renewals: Any,
) -> int:  # fmt: skip
    """Renewals of one filter, by direction and link, so many times anew; how much happened."""
    count = len(parents)
    telling = np.zeros((2, count), np.bool_)
    representative = np.zeros((2, count), np.int64)
    told, renewed = np.zeros((2, count)), np.zeros((2, count))
    head = np.zeros(count, np.int64)
    stack = np.empty((2 * count, 3), np.int64)
    end = warm_up + seconds
    room = int(live_mean.sum() + arrivals[-1] * end)
    room = int(room + 10 * np.sqrt(room)) + 1000
    following, before = np.empty(room, np.int64), np.empty(room, np.int64)
    at_broker, client_renewed = np.empty(room, np.int64), np.empty(room)
    is_live = np.zeros(room, np.bool_)
    events = 0
    for _ in range(units):
        telling[:] = False
        head[:] = -1
        is_live[:] = False
        clients = 0
        ahead = [(0.0, COMES, np.int64(-1))]
        heapq.heappop(ahead)
        for broker in range(count):
            for _ in range(random.poisson(live_mean[broker])):
                at_broker[clients] = broker
                heapq.heappush(ahead, (0.0, COMES, np.int64(clients)))
                clients += 1
        if arrivals[-1] > 0:
            heapq.heappush(ahead, (random.exponential() / arrivals[-1], COMES, np.int64(-1)))
        while ahead:
            now, kind, client = heapq.heappop(ahead)
            if not now < end:
                break
            if kind == COMES and client < 0:
                heapq.heappush(
                    ahead, (now + random.exponential() / arrivals[-1], COMES, np.int64(-1))
                )
                if clients == room:
                    continue
                client = np.int64(clients)
                at_broker[client] = drawn(arrivals, random)
                clients += 1
            elif not (kind == COMES or is_live[client]):
                continue
            events += 1
            broker = at_broker[client]
            what = RENEWED
            if kind == COMES:
                what = BEGAN
                is_live[client] = True
                following[client], before[client] = head[broker], -1
                if head[broker] >= 0:
                    before[head[broker]] = client
                head[broker] = client
                client_renewed[client] = now
                gone = now + random.exponential() / departure_rates[broker]
                heapq.heappush(ahead, (gone, GOES, client))
                heapq.heappush(ahead, (now + period * random.random(), RENEWS, client))
            elif kind == RENEWS:
                client_renewed[client] = now
                heapq.heappush(ahead, (now + period, RENEWS, client))
            else:
                what = ENDED
                is_live[client] = False
                if before[client] >= 0:
                    following[before[client]] = following[client]
                else:
                    head[broker] = following[client]
                if following[client] >= 0:
                    before[following[client]] = before[client]
            _happens(
                what, broker, count + client, now, now >= warm_up, parents, first_child,
                last_child, floods, telling, representative, told, renewed, head, following,
                client_renewed, renewals, stack,
            )  # fmt: skip
    return events
