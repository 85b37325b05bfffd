"""Compiled: clients that come, go and publish at constant rates, and the traffic that they cause.

One unit is a set of filters that have nothing to do with all others: a class among classes that
exclude each other, or a few filters that overlap. Units are run one after the other in the same
room, so that memory grows with brokers and not with brokers times classes.
"""

# ruff: noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - a kernel is one loop over plain arrays
from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part
from sapwood.sim.flow.tables import finish, publish, spread


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
def run_units(
    units: int,
    seconds: float,
    random: Any,
    parents: Any,
    first_child: Any,
    last_child: Any,
    floods: Any,
    algorithm: int,
    covers: Any,
    matches: Any,
    live_mean: Any,
    arrivals: Any,
    departure_rates: Any,
    publications: Any,
    changes: Any,
    passed: Any,
    present: Any,
    moved: Any,
    lived: Any,
    published_at: Any,
) -> int:
    """Run all units from equilibrium for so many seconds; how much happened.

    `arrivals` and `publications` are cumulated over brokers and filters or kinds. Counted are, by
    direction and link, changes of what is asked for, notifications, and seconds times entries; by
    broker, subscriptions that came or went, seconds times live ones, and notifications.
    """
    brokers, filters = live_mean.shape
    kinds = published_at.shape[1]
    sources = np.zeros((brokers, filters), np.int32)
    single = np.zeros((brokers, filters), np.int32)
    local = np.zeros((brokers, filters), np.int32)
    asked = np.zeros((2, brokers, filters), np.bool_)
    asked_filters = np.zeros((2, brokers), np.int32)
    wanting = np.zeros((2, brokers, kinds), np.int32)
    published = np.zeros(kinds, np.int64)
    ignored = np.zeros((2, brokers), np.int64)
    stack = np.empty((brokers, 2), np.int64)
    alive = np.empty(1024, np.int64)
    fastest = departure_rates.max()
    coming, publishing = arrivals[-1], publications[-1]
    events = 0
    for _ in range(units):
        sources[:], single[:], local[:], asked[:] = 0, 0, 0, False
        asked_filters[:], wanting[:], published[:] = 0, 0, 0
        count = 0
        for broker in range(brokers):
            for filter in range(filters):
                number = random.poisson(live_mean[broker, filter])
                if not number:
                    continue
                local[broker, filter] = number
                while count + number > len(alive):
                    alive = np.concatenate((alive, alive))
                alive[count : count + number] = broker * filters + filter
                count += number
                spread(
                    filter, broker, brokers, True, 0.0, parents, first_child, last_child, floods,
                    algorithm, covers, matches, sources, single, asked, asked_filters, wanting,
                    published, ignored, passed, present, stack,
                )  # fmt: skip
        now = 0.0
        while True:
            going = fastest * count
            now += random.exponential() / (coming + going + publishing)
            if not now < seconds:
                break
            events += 1
            choice = random.random() * (coming + going + publishing)
            if choice < publishing:
                place = drawn(publications, random)
                broker, kind = place // kinds, place % kinds
                published_at[broker, kind] += 1
                publish(broker, kind, parents, floods, wanting, published, passed)
                continue
            on = choice < publishing + coming
            if on:
                place = drawn(arrivals, random)
                if count == len(alive):
                    alive = np.concatenate((alive, alive))
                alive[count] = place
                count += 1
            else:
                at = int(random.random() * count)
                place = alive[at]
                rate = departure_rates[place // filters, place % filters]
                if rate < fastest and random.random() * fastest >= rate:
                    continue
                count -= 1
                alive[at] = alive[count]
            broker, filter = place // filters, place % filters
            moved[broker] += 1
            lived[broker] += -now if on else now
            local[broker, filter] += 1 if on else -1
            if local[broker, filter] == (1 if on else 0):
                spread(
                    filter, broker, brokers, on, now, parents, first_child, last_child, floods,
                    algorithm, covers, matches, sources, single, asked, asked_filters, wanting,
                    published, changes, passed, present, stack,
                )  # fmt: skip
        for at in range(count):
            lived[alive[at] // filters] += seconds
        finish(
            seconds, algorithm, covers, floods, asked, asked_filters, wanting, published, passed,
            present,
        )  # fmt: skip
    return events
