"""Compiled: clients that come, go and publish at constant rates, and the traffic that they cause.

One unit is a set of filters that have nothing to do with all others: a class among classes that
exclude each other, or a few filters that overlap. Units are run one after the other in the same
room, so that memory grows with brokers and not with brokers times classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.sim.flow.tables import Tables, finish, forget, publish, spread


class Clients(NamedTuple):
    """What clients do, and what they were seen to do."""

    live_mean: Any
    """By broker and filter."""
    arrivals: Any
    """By second, cumulated over brokers and filters."""
    departure_rates: Any
    """By broker and filter."""
    publications: Any
    """By second, cumulated over brokers and kinds."""
    moved: Any
    """By broker: subscriptions that came or went."""
    lived: Any
    """By broker: live subscriptions times seconds."""
    published: Any
    """By broker and kind: notifications."""


@part
def drawn(cumulated: Any, random: Any) -> int:
    """A place, with a probability in proportion to what is cumulated there."""
    wanted = random.random() * cumulated[-1]
    low, high = 0, len(cumulated) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def run_units(units: int, seconds: float, random: Any, tables: Tables, clients: Clients) -> int:
    """Run all units from equilibrium for so many seconds; how much happened."""
    changes = np.zeros_like(tables.changes)
    alive = np.empty(1024, np.int64)
    events = 0
    for _ in range(units):
        forget(tables)
        alive, count = _settle(random, tables, clients, alive)
        events += _run(seconds, random, tables, clients, alive, count)
        finish(tables, seconds)
        changes += tables.changes
        tables.changes[:] = 0
    tables.changes[:] = changes
    return events


@part
def _settle(random: Any, tables: Tables, clients: Clients, alive: Any) -> tuple[Any, int]:
    """Who is there at the beginning: places of subscriptions, and how many."""
    brokers, filters = tables.local.shape
    count = 0
    for broker in range(brokers):
        for filter in range(filters):
            number = random.poisson(clients.live_mean[broker, filter])
            if not number:
                continue
            tables.local[broker, filter] = number
            while count + number > len(alive):
                alive = np.concatenate((alive, alive))
            alive[count : count + number] = broker * filters + filter
            count += number
            spread(tables, filter, broker, brokers, True, 0.0)
    tables.changes[:] = 0
    return alive, count


@part
def _run(
    seconds: float, random: Any, tables: Tables, clients: Clients, alive: Any, count: int
) -> int:
    """One unit, event by event; how many there were."""
    filters, kinds = tables.local.shape[1], len(tables.published)
    coming, publishing = clients.arrivals[-1], clients.publications[-1]
    fastest = clients.departure_rates.max()
    now = 0.0
    events = 0
    while True:
        total = coming + fastest * count + publishing
        now += random.exponential() / total if total > 0 else seconds
        if not now < seconds:
            break
        events += 1
        choice = random.random() * total
        if choice < publishing:
            place = drawn(clients.publications, random)
            clients.published[place // kinds, place % kinds] += 1
            publish(tables, place // kinds, place % kinds)
            continue
        on = choice < publishing + coming
        if on:
            place = drawn(clients.arrivals, random)
            if count == len(alive):
                alive = np.concatenate((alive, alive))
            alive[count] = place
            count += 1
        else:
            at = int(random.random() * count)
            place = alive[at]
            rate = clients.departure_rates[place // filters, place % filters]
            if rate < fastest and random.random() * fastest >= rate:
                continue
            count -= 1
            alive[at] = alive[count]
        _move(tables, clients, place // filters, place % filters, on, now)
    for at in range(count):
        clients.lived[alive[at] // filters] += seconds
    return events


@part
def _move(tables: Tables, clients: Clients, broker: int, filter: int, on: bool, now: float) -> None:
    """A subscription comes or goes."""
    clients.moved[broker] += 1
    clients.lived[broker] += -now if on else now
    tables.local[broker, filter] += 1 if on else -1
    if tables.local[broker, filter] == (1 if on else 0):
        spread(tables, filter, broker, len(tables.parents), on, now)
