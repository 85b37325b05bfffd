"""Compiled: the published heuristics on a course of events, by counting (thesis 5.5.4).

Everything between two broadcasts only adds to counts. At a broadcast, all brokers within the
horizon hear it; each evaluates the link that it would like, the brokers of the ring add what they
think of it, and the last one decides, all by the compiled rules of `optimize.published.rules`.
Messages take as many ticks as links cost: a request comes back as long after the broadcast as the
way there and back takes, and the ring is locked from then on while a change goes round it twice;
who is locked refuses.
"""

# ruff: noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - a kernel is one loop over plain arrays
from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.analysis.overlay.kernels import link, unlink, walk
from sapwood.compiled.compiling import kernel, part
from sapwood.protocol.optimize.published import rules
from sapwood.sim.flow.caches import remembered_from, shared_with

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


@part
def delivery(
    members: Any, neighbours: Any, degrees: Any, prices: Any, processing: Any, order: Any,
    parents: Any, below: Any, handled: Any,
) -> tuple[float, int]:  # fmt: skip
    """What one notification costs for brokers that it concerns (Eq. 5.2), and how many links.

    `order` and `parents` are those of a walk over the tree; says who handles it.
    """
    count = len(degrees)
    below[:] = 0
    handled[:] = False
    for place in range(len(members)):
        below[members[place]] = 1
        handled[members[place]] = True
    cost = 0.0
    links = 0
    for place in range(count - 1, 0, -1):
        here = order[place]
        above = parents[here]
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
def follow_handled(
    stay: int, now: float, handled: Any, begins: Any, ends: Any, kept: Any, kept_count: Any
) -> None:
    """CI-stable: who handles the notifications of a stay from now on, and who does not any more."""
    for here in range(len(handled)):
        if handled[here]:
            if begins[stay, here] == np.inf:
                begins[stay, here] = now
                kept[here, kept_count[here]] = stay
                kept_count[here] += 1
            ends[stay, here] = np.inf
        elif ends[stay, here] == np.inf and begins[stay, here] < np.inf:
            ends[stay, here] = now


@kernel
def run_course(
    heuristic: int, ticks: float, start: float, interval: float, believed: float, horizon: int,
    hysteresis: float, cache_size: int, bits: float, hashes: float, sketch_size: int,
    is_handled: bool, measure_ticks: float, phases: Any, neighbours: Any, degrees: Any,
    price_ticks: Any, prices: Any, processing: Any, jobs: Any, members: Any, stay_begins: Any,
    stay_ends: Any, batches: Any, batch_ticks: float, levels: Any, log_ticks: Any, log_totals: Any,
    measured: Any,
) -> None:  # fmt: skip
    """All of a course; the tree is in `neighbours` and `degrees` afterwards."""
    count, stays = len(degrees), len(jobs)
    job_count, batch_count = batches.shape
    begins, ends = np.full((stays, count), np.inf), np.full((stays, count), np.inf)
    kept = np.zeros((count, stays), np.int64)
    kept_count = np.zeros(count, np.int64)
    totals = np.zeros(count, np.int64)
    heads, tails = np.zeros(count, np.int64), np.zeros(count, np.int64)
    since = np.zeros(count)
    told_since, told_wrong = np.zeros(count), np.zeros(count)
    told_at = np.full(count, -np.inf)
    told_shift = np.zeros(count, np.int64)
    heard = np.full((count, count), -np.inf)
    locked = np.full(count, -np.inf)
    broadcast_at = start + phases * interval
    current = np.full(job_count, -1, np.int64)
    job_cost, job_links = np.zeros(job_count), np.zeros(job_count, np.int64)
    is_known = np.zeros(job_count, np.bool_)
    job_handled = np.zeros((job_count, count), np.bool_)
    order, parents = np.empty(count, np.int64), np.empty(count, np.int64)
    tree_order, tree_parents = np.empty(count, np.int64), np.empty(count, np.int64)
    depths, delays = np.zeros(count, np.int64), np.zeros(count)
    below, handled = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    hearers, hearer_count = np.empty(count, np.int64), 0
    hearer_rings = np.empty((count, horizon + 1), np.int64)
    next_stay, next_price, phase = 0, 0, 0
    batch, job = 0, 0
    is_walked = False
    while True:
        batch_at = (batch + (job + 0.5) / job_count) * batch_ticks
        speaker = int(np.argmin(broadcast_at))
        now = batch_at if batch < batch_count else np.inf
        if heuristic != STATIC:
            now = min(now, broadcast_at[speaker])
        if next_stay < stays:
            now = min(now, stay_begins[next_stay])
        if next_price < len(price_ticks):
            now = min(now, price_ticks[next_price])
        if not now < ticks:
            break
        row = measured[min(int(now / measure_ticks), len(measured) - 1)]
        if next_price < len(price_ticks) and price_ticks[next_price] <= now:
            next_price += 1
            phase += 1
            is_known[:] = False
            continue
        if next_stay < stays and stay_begins[next_stay] <= now:
            stay = next_stay
            next_stay += 1
            current[jobs[stay]] = stay
            is_known[jobs[stay]] = False
            if not is_handled:
                for place in range(members.shape[1]):
                    here = members[stay, place]
                    begins[stay, here] = stay_begins[stay]
                    ends[stay, here] = stay_ends[stay]
                    kept[here, kept_count[here]] = stay
                    kept_count[here] += 1
            continue
        if batch < batch_count and batch_at <= now:
            number = batches[job, batch]
            stay = current[job]
            if number and stay >= 0:
                if not is_known[job]:
                    if not is_walked:
                        walk(neighbours, degrees, 0, tree_order, tree_parents)
                        is_walked = True
                    job_cost[job], job_links[job] = delivery(
                        members[stay], neighbours, degrees, prices[phase], processing[phase],
                        tree_order, tree_parents, below, handled,
                    )  # fmt: skip
                    job_handled[job] = handled
                    if is_handled:
                        follow_handled(stay, now, handled, begins, ends, kept, kept_count)
                    else:
                        job_handled[job] = False
                        for place in range(members.shape[1]):
                            job_handled[job, members[stay, place]] = True
                    is_known[job] = True
                row[COST] += number * job_cost[job]
                row[HOPS] += number * job_links[job]
                for here in range(count):
                    if job_handled[job, here]:
                        log_ticks[here, tails[here]] = now
                        log_totals[here, tails[here]] = totals[here]
                        totals[here] += number
                        tails[here] += 1
            job += 1
            if job == job_count:
                job, batch = 0, batch + 1
            row[DEGREE] = degrees.max()
            continue
        # A broadcast
        broadcast_at[speaker] = now + interval
        price, handling = prices[phase], processing[phase]
        since[speaker] = remembered_from(
            speaker, cache_size, heads, tails, log_ticks, log_totals, totals
        )
        told_since[speaker], told_at[speaker] = since[speaker], now
        remembered = min(totals[speaker], cache_size)
        if sketch_size > 0:
            told_shift[speaker] = 0
            while remembered >> told_shift[speaker] > sketch_size:
                told_shift[speaker] += 1
        else:
            set_bits = 1 - (1 - 1 / bits) ** (hashes * remembered)
            told_wrong[speaker] = set_bits**hashes
        left = 0
        for place in range(kept_count[speaker]):
            stay = kept[speaker, place]
            if min(ends[stay, speaker], stay_ends[stay]) > since[speaker]:
                kept[speaker, left] = stay
                left += 1
        kept_count[speaker] = left
        hearer_count = 0
        walk(neighbours, degrees, speaker, order, parents)
        depths[speaker], delays[speaker] = 0, 0.0
        for place in range(1, count):
            here = order[place]
            above = parents[here]
            depths[here] = depths[above] + 1
            delays[here] = delays[above] + price[here, above]
            if depths[here] > horizon:
                break
            row[BROADCASTS] += 1
            row[BROADCAST_COST] += price[here, above] + handling[here]
            heard[here, speaker] = now
            if depths[here] > 1:
                hearers[hearer_count] = here
                one = here
                for at in range(depths[here] + 1):
                    hearer_rings[hearer_count, at] = one
                    one = parents[one]
                hearer_count += 1
        for at in range(hearer_count):
            hearer = hearers[at]
            size = depths[hearer] + 1
            ring = hearer_rings[at, :size]
            is_whole = True
            for place in range(size - 1):
                if not _is_linked(neighbours, degrees, ring[place], ring[place + 1]):
                    is_whole = False
            if not is_whole:
                continue
            for place in range(size):
                since[ring[place]] = remembered_from(
                    ring[place], cache_size, heads, tails, log_ticks, log_totals, totals
                )
            old = _choose(
                heuristic, hysteresis, now, believed, ring, price, handling, heard, kept,
                kept_count, jobs, begins, ends, since, told_since, told_at, told_wrong, told_shift,
                levels, batch_ticks, row,
            )  # fmt: skip
            if old < 0:
                continue
            arrives = now + 2 * delays[hearer]
            round_trip = price[ring[size - 1], ring[0]]
            is_free = True
            for place in range(size):
                is_free = is_free and locked[ring[place]] <= arrives
                if place:
                    round_trip += price[ring[place], ring[place - 1]]
            if not is_free:
                row[REFUSED] += 1
                continue
            unlink(neighbours, degrees, ring[old], ring[old + 1])
            link(neighbours, degrees, hearer, speaker)
            row[CHANGES] += 1
            for place in range(size):
                locked[ring[place]] = arrives + 2 * round_trip
            is_walked = False
            is_known[:] = False


@part
def _is_linked(neighbours: Any, degrees: Any, here: int, there: int) -> bool:
    for place in range(degrees[here]):
        if neighbours[here, place] == there:
            return True
    return False


@part
def _choose(
    heuristic: int, hysteresis: float, now: float, believed: float, ring: Any, price: Any,
    handling: Any, heard: Any, kept: Any, kept_count: Any, jobs: Any, begins: Any, ends: Any,
    since: Any, told_since: Any, told_at: Any, told_wrong: Any, told_shift: Any, levels: Any,
    batch_ticks: float, row: Any,
) -> int:  # fmt: skip
    """Which link of a ring goes for the one that closes it, as its brokers find; -1: none."""
    size = len(ring)
    links, processing = np.empty(size), np.empty(size)
    for place in range(size):
        links[place] = price[ring[place], ring[(place + 1) % size]]
        processing[place] = handling[ring[place]]
    sums, costs = np.zeros(size), np.zeros(size)
    shared, pairs = np.zeros(size), np.zeros(size)
    if heuristic == LMST and not is_cheaper_than_dearest(links):
        return -1
    for place in range(size):
        here = ring[place]
        if heuristic == LMST:
            add_kept_link(place, links, sums)
        else:
            for other in range(size):
                if other != place and heard[here, ring[other]] < now - believed:
                    return -1
            if kept_count[here] == 0:
                return -1
            for other in range(size):
                after = (other + 1) % size
                shared[other], pairs[other] = 0.0, 0.0
                if other == place or (
                    heuristic == LMIT and other not in ((place + 1) % size, size - 1)
                ):
                    continue
                shared[other] = shared_with(
                    here, ring[other], -1, now, kept, kept_count, jobs, begins, ends, since,
                    told_since, told_at, told_wrong, told_shift, levels, batch_ticks,
                )  # fmt: skip
                if after != place and heuristic == CI:
                    pairs[other] = shared_with(
                        here, ring[other], ring[after], now, kept, kept_count, jobs, begins, ends,
                        since, told_since, told_at, told_wrong, told_shift, levels, batch_ticks,
                    )  # fmt: skip
            if heuristic == LMIT:
                if place == 0 and not shared[size - 1] > 0:
                    return -1
                add_lost_interest(place, shared[(place + 1) % size], sums)
            else:
                costs_round(place, 1, links, processing, shared, pairs, costs)
                if place == 0 and not (shared[size - 1] > 0 and links[size - 1] < costs[size - 1]):
                    return -1
                add_ring_costs(place, 1, shared, costs, sums)
                costs_round(place, -1, links, processing, shared, pairs, costs)
                add_ring_costs(place, -1, shared, costs, sums)
        if place:
            row[REQUESTS] += 1
            row[REQUEST_COST] += links[place - 1] + processing[place]
    return int(least_link(sums, hysteresis))
