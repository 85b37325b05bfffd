"""Compiled: the published heuristics on a course of events, by counting (thesis 5.5.4).

Everything between two broadcasts only adds to counts. At a broadcast, all brokers within the
horizon hear it; each evaluates the link that it would like, the brokers of the ring add what they
think of it, and the last one decides, all by the compiled rules of `optimize.published.rules`.
Messages take as many ticks as links cost: a request comes back as long after the broadcast as the
way there and back takes, and the ring is locked from then on while a change goes round it twice;
who is locked refuses.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.analysis.overlay.kernels import link, unlink, walk
from sapwood.compiled.compiling import kernel, part
from sapwood.protocol.optimize.published import rules
from sapwood.sim.flow.caches import (
    Caches,
    keep,
    note,
    remember_from,
    shared_with,
    tell_cache,
)

STATIC: Final = 0
CI: Final = 1
LMST: Final = 2
LMIT: Final = 3

COST: Final = 0
HOPS: Final = 1
CHANGES: Final = 2
BROADCASTS: Final = 3
REQUESTS: Final = 4
BROADCAST_COST: Final = 5
REQUEST_COST: Final = 6
DEGREE: Final = 7
REFUSED: Final = 8
MEASURES: Final = 9

costs_round: Any = part(rules.costs_round)
add_ring_costs: Any = part(rules.add_ring_costs)
is_cheaper_than_dearest: Any = part(rules.is_cheaper_than_dearest)
add_kept_link: Any = part(rules.add_kept_link)
add_lost_interest: Any = part(rules.add_lost_interest)
least_link: Any = part(rules.least_link)


class Given(NamedTuple):
    """A course of events, and how trees are chosen; times are in ticks."""

    heuristic: int
    ticks: float
    interval: float
    believed: float
    horizon: int
    hysteresis: float
    bits: float
    hashes: float
    sketch_size: int
    is_handled: bool
    """Whether brokers remember what they only handle, too."""
    measure_ticks: float
    price_ticks: Any
    """When prices change."""
    prices: Any
    """By phase: of links."""
    processing: Any
    """By phase: of brokers."""
    members: Any
    """By stay: brokers that its notifications concern."""
    stay_begins: Any
    stay_ends: Any
    batches: Any
    """By job and batch: notifications."""


class Tree(NamedTuple):
    """The tree, and what is known of it."""

    neighbours: Any
    degrees: Any
    order: Any
    """Brokers, as a walk comes to them."""
    parents: Any
    depths: Any
    delays: Any
    locked: Any
    """By broker: until when it takes part in a change."""
    broadcast_at: Any
    """By broker: when it speaks next."""
    rings: Any
    """Those that a broadcast makes one think of, from who hears it to who speaks."""
    current: Any
    """By job: where it is."""
    costs: Any
    """By job: what a notification costs."""
    links: Any
    """By job: how many links it passes."""
    is_known: Any
    """By job: whether that still holds."""
    concerns: Any
    """By job and broker: who remembers its notifications."""
    below: Any
    handled: Any


@part
def deliver(tree: Tree, members: Any, prices: Any, processing: Any) -> tuple[float, int]:
    """What one notification costs for brokers that it concerns (Eq. 5.2), and how many links.

    Says who handles it.
    """
    count = walk(tree.neighbours, tree.degrees, 0, tree.order, tree.parents)
    below, handled = tree.below, tree.handled
    below[:] = 0
    handled[:] = False
    for place in range(len(members)):
        below[members[place]] = 1
        handled[members[place]] = True
    cost = 0.0
    links = 0
    for place in range(count - 1, 0, -1):
        here = tree.order[place]
        above = tree.parents[here]
        if 0 < below[here] < len(members):
            links += 1
            cost += prices[here, above]
            handled[here] = True
            handled[above] = True
        below[above] += below[here]
    for here in range(count):
        if handled[here]:
            cost += processing[here]
    return cost, links


@part
def _follow_handled(caches: Caches, stay: int, now: float, end: float, handled: Any) -> None:
    """CI-stable: who handles the notifications of a stay from now on, and who does not any more.

    Who handles them again is taken to have done so all the time.
    """
    for here in range(len(handled)):
        if handled[here]:
            if caches.begins[stay, here] == np.inf:
                keep(caches, stay, here, now, end)
            caches.ends[stay, here] = end
        elif caches.begins[stay, here] < np.inf:
            caches.ends[stay, here] = min(now, caches.ends[stay, here])


@part
def _begin_stay(given: Given, caches: Caches, tree: Tree, stay: int) -> None:
    """A job comes to other brokers."""
    job = caches.jobs[stay]
    tree.current[job] = stay
    tree.is_known[job] = False
    if not given.is_handled:
        for place in range(given.members.shape[1]):
            begin, end = given.stay_begins[stay], given.stay_ends[stay]
            keep(caches, stay, given.members[stay, place], begin, end)


@part
def _publish(
    given: Given, caches: Caches, tree: Tree, what: tuple[int, int, int], now: float, row: Any
) -> None:
    """A job publishes so many notifications, in a phase."""
    job, number, phase = what
    stay = tree.current[job]
    if not tree.is_known[job]:
        members = given.members[stay]
        tree.costs[job], tree.links[job] = deliver(
            tree, members, given.prices[phase], given.processing[phase]
        )
        if given.is_handled:
            tree.concerns[job] = tree.handled
            _follow_handled(caches, stay, now, given.stay_ends[stay], tree.handled)
        else:
            tree.concerns[job] = False
            for place in range(len(members)):
                tree.concerns[job, members[place]] = True
        tree.is_known[job] = True
    row[COST] += number * tree.costs[job]
    row[HOPS] += number * tree.links[job]
    for here in range(len(tree.degrees)):
        if tree.concerns[job, here]:
            note(caches, here, number, now)


@part
def _broadcast(
    given: Given, caches: Caches, tree: Tree, speaker: int, now: float, phase: int, row: Any
) -> int:
    """A broker tells what it costs and remembers; how many think of a link to it."""
    price, handling = given.prices[phase], given.processing[phase]
    tell_cache(caches, speaker, now, given.bits, given.hashes, given.sketch_size)
    walk(tree.neighbours, tree.degrees, speaker, tree.order, tree.parents)
    tree.depths[speaker], tree.delays[speaker] = 0, 0.0
    hearers = 0
    for place in range(1, len(tree.degrees)):
        here = tree.order[place]
        above = tree.parents[here]
        tree.depths[here] = tree.depths[above] + 1
        tree.delays[here] = tree.delays[above] + price[here, above]
        if tree.depths[here] > given.horizon:
            break
        row[BROADCASTS] += 1
        row[BROADCAST_COST] += price[here, above] + handling[here]
        caches.heard[here, speaker] = now
        if tree.depths[here] > 1:
            one = here
            for at in range(tree.depths[here] + 1):
                tree.rings[hearers, at] = one
                one = tree.parents[one]
            hearers += 1
    return hearers


@part
def _consider(
    given: Given, caches: Caches, tree: Tree, ring: Any, now: float, phase: int, row: Any
) -> None:
    """The first of a ring would like to be linked to the last: if all agree, it is."""
    size = len(ring)
    price = given.prices[phase]
    for place in range(size - 1):
        if not _is_linked(tree, ring[place], ring[place + 1]):
            return
    for place in range(size):
        remember_from(caches, ring[place])
    old = _choose(given, caches, ring, now, price, given.processing[phase], row)
    if old < 0:
        return
    arrives = now + 2 * tree.delays[ring[0]]
    round_trip = 0.0
    for place in range(size):
        round_trip += price[ring[place], ring[(place + 1) % size]]
        if tree.locked[ring[place]] > arrives:
            row[REFUSED] += 1
            return
    unlink(tree.neighbours, tree.degrees, ring[old], ring[old + 1])
    link(tree.neighbours, tree.degrees, ring[0], ring[size - 1])
    row[CHANGES] += 1
    for place in range(size):
        tree.locked[ring[place]] = arrives + 2 * round_trip
    tree.is_known[:] = False


@part
def _is_linked(tree: Tree, here: int, there: int) -> bool:
    for place in range(tree.degrees[here]):
        if tree.neighbours[here, place] == there:
            return True
    return False


@part
def _look(
    given: Given, caches: Caches, ring: Any, place: int, now: float, shared: Any, pairs: Any
) -> bool:
    """What a broker of a ring shares with the others; whether it knows enough to say."""
    size, here = len(ring), ring[place]
    for other in range(size):
        if other != place and caches.heard[here, ring[other]] < now - given.believed:
            return False
    if caches.kept_count[here] == 0:
        return False
    for other in range(size):
        after = (other + 1) % size
        shared[other], pairs[other] = 0.0, 0.0
        is_asked = given.heuristic == CI or other in ((place + 1) % size, size - 1)
        if other != place and is_asked:
            shared[other] = shared_with(caches, here, ring[other], -1, now)
            if after != place and given.heuristic == CI:
                pairs[other] = shared_with(caches, here, ring[other], ring[after], now)
    return True


@part
def _choose(
    given: Given, caches: Caches, ring: Any, now: float, price: Any, handling: Any, row: Any
) -> int:
    """Which link of a ring goes for the one that closes it, as its brokers find; -1: none."""
    size = len(ring)
    links, processing = np.empty(size), np.empty(size)
    for place in range(size):
        links[place] = price[ring[place], ring[(place + 1) % size]]
        processing[place] = handling[ring[place]]
    sums, costs = np.zeros(size), np.zeros(size)
    shared, pairs = np.zeros(size), np.zeros(size)
    if given.heuristic == LMST and not is_cheaper_than_dearest(links):
        return -1
    for place in range(size):
        if given.heuristic == LMST:
            add_kept_link(place, links, sums)
        else:
            if not _look(given, caches, ring, place, now, shared, pairs):
                return -1
            if place == 0 and not shared[size - 1] > 0:
                return -1
            if given.heuristic == LMIT:
                add_lost_interest(place, shared[(place + 1) % size], sums)
            else:
                costs_round(place, 1, links, processing, shared, pairs, costs)
                if place == 0 and not links[size - 1] < costs[size - 1]:
                    return -1
                add_ring_costs(place, 1, shared, costs, sums)
                costs_round(place, -1, links, processing, shared, pairs, costs)
                add_ring_costs(place, -1, shared, costs, sums)
        if place:
            row[REQUESTS] += 1
            row[REQUEST_COST] += links[place - 1] + processing[place]
    return int(least_link(sums, given.hysteresis))


@kernel
def run_course(given: Given, caches: Caches, tree: Tree, measured: Any) -> None:
    """All of a course, event by event; what comes at the same time comes in this order."""
    job_count, batch_count = given.batches.shape
    next_stay = phase = batch = job = 0
    while True:
        price_at = given.price_ticks[phase] if phase < len(given.price_ticks) else np.inf
        stays = len(given.stay_begins)
        stay_at = given.stay_begins[next_stay] if next_stay < stays else np.inf
        batch_at = np.inf
        if batch < batch_count:
            batch_at = (batch + (job + 0.5) / job_count) * caches.batch_ticks
        speaker, broadcast_at = 0, np.inf
        if given.heuristic != STATIC:
            speaker = int(np.argmin(tree.broadcast_at))
            broadcast_at = tree.broadcast_at[speaker]
        now = min(price_at, stay_at, batch_at, broadcast_at)
        if not now < given.ticks:
            break
        row = measured[min(int(now / given.measure_ticks), len(measured) - 1)]
        if price_at <= now:
            phase += 1
            tree.is_known[:] = False
        elif stay_at <= now:
            _begin_stay(given, caches, tree, next_stay)
            next_stay += 1
        elif batch_at <= now:
            number = given.batches[job, batch]
            if number:
                _publish(given, caches, tree, (job, number, phase), now, row)
            row[DEGREE] = tree.degrees.max()
            job += 1
            if job == job_count:
                job, batch = 0, batch + 1
        else:
            tree.broadcast_at[speaker] = now + given.interval
            hearers = _broadcast(given, caches, tree, speaker, now, phase, row)
            for at in range(hearers):
                size = tree.depths[tree.rings[at, 0]] + 1
                _consider(given, caches, tree, tree.rings[at, :size], now, phase, row)
