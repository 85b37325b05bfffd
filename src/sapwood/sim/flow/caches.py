"""Compiled: what brokers remember and tell of the notifications that concern them, as intervals.

A cache holds the last so many notifications of a broker. All of one job at one place are alike, so
a cache is known by the stays of jobs in it and by the time from which on it remembers; what two
brokers share is counted from how much each job had published by when. A Bloom filter adds what it
holds by mistake, in the mean; a sketch counts only the notifications that were drawn for it, which
are the same at every broker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sapwood.compiled.compiling import part


class Caches(NamedTuple):
    """What all brokers remember, and what they have told of it."""

    size: int
    """Notifications that a cache holds."""
    jobs: Any
    """By stay: its job."""
    batch_ticks: float
    levels: Any
    """By level, job and batch: notifications published by then, one of 2^level of them."""
    begins: Any
    """By stay and broker: from when on its notifications concern the broker; infinite: never."""
    ends: Any
    """By stay and broker: until when."""
    kept: Any
    """By broker: stays whose notifications it may remember."""
    kept_count: Any
    totals: Any
    """By broker: notifications so far."""
    heads: Any
    """By broker: the first line of its log that is still remembered."""
    tails: Any
    """By broker: the end of its log."""
    log_ticks: Any
    """By broker and line: when."""
    log_totals: Any
    """By broker and line: how many there were before."""
    since: Any
    """By broker: since when it remembers everything."""
    told_since: Any
    """By broker: the same of what it has told."""
    told_at: Any
    """By broker: when it has told it."""
    told_wrong: Any
    """By broker: the share of others that its Bloom filter holds by mistake."""
    told_shift: Any
    """By broker: the level of its sketch."""
    heard: Any
    """By broker and broker: when the first has heard of the second."""


@part
def published_by(sums: Any, job: int, tick: float, batch_ticks: float) -> int:
    """How many notifications a job had published before a time."""
    jobs, batches = sums.shape[0], sums.shape[1] - 1
    shift = (job + 0.5) / jobs
    place = tick / batch_ticks - shift
    index = int(place)
    if place > index:
        index += 1
    return int(sums[job, min(max(index, 0), batches)])


@part
def published_between(sums: Any, job: int, first: float, last: float, batch_ticks: float) -> float:
    """How many notifications a job published from one time to before another."""
    if last <= first:
        return 0.0
    return float(
        published_by(sums, job, last, batch_ticks) - published_by(sums, job, first, batch_ticks)
    )


@part
def remember_from(caches: Caches, here: int) -> None:
    """Find out since when a broker remembers everything that concerns it."""
    head = caches.heads[here]
    while (
        head < caches.tails[here]
        and caches.totals[here] - caches.log_totals[here, head] >= caches.size
    ):
        head += 1
    caches.heads[here] = head
    caches.since[here] = caches.log_ticks[here, head] if head < caches.tails[here] else 0.0


@part
def note(caches: Caches, here: int, number: int, now: float) -> None:
    """So many notifications concern a broker."""
    line = caches.tails[here]
    caches.log_ticks[here, line] = now
    caches.log_totals[here, line] = caches.totals[here]
    caches.totals[here] += number
    caches.tails[here] = line + 1


@part
def keep(caches: Caches, stay: int, here: int, begin: float, end: float) -> None:
    """The notifications of a stay concern a broker for some time."""
    caches.begins[stay, here], caches.ends[stay, here] = begin, end
    caches.kept[here, caches.kept_count[here]] = stay
    caches.kept_count[here] += 1


@part
def tell_cache(
    caches: Caches, here: int, now: float, bits: float, hashes: float, sketch_size: int
) -> None:
    """A broker tells a summary of what it remembers, and forgets stays that are too long ago."""
    remember_from(caches, here)
    caches.told_since[here], caches.told_at[here] = caches.since[here], now
    remembered = min(caches.totals[here], caches.size)
    if sketch_size > 0:
        caches.told_shift[here] = 0
        while remembered >> caches.told_shift[here] > sketch_size:
            caches.told_shift[here] += 1
    else:
        caches.told_wrong[here] = (1 - (1 - 1 / bits) ** (hashes * remembered)) ** hashes
    left = 0
    for place in range(caches.kept_count[here]):
        stay = caches.kept[here, place]
        if caches.ends[stay, here] > caches.since[here]:
            caches.kept[here, left] = stay
            left += 1
    caches.kept_count[here] = left


@part
def shared_with(caches: Caches, here: int, one: int, other: int, now: float) -> float:
    """What a broker shares with another one, or with two, by its cache and what they told.

    `other` is negative for one only.
    """
    begins, ends = caches.begins, caches.ends
    level = caches.told_shift[one]
    if other >= 0:
        level = max(level, caches.told_shift[other])
    sums, ticks = caches.levels[level], caches.batch_ticks
    own = first = second = both = 0.0
    wrong_one = caches.told_wrong[one]
    wrong_other = caches.told_wrong[other] if other >= 0 else 0.0
    for place in range(caches.kept_count[here]):
        stay = caches.kept[here, place]
        job = caches.jobs[stay]
        begin, end = max(begins[stay, here], caches.since[here]), min(ends[stay, here], now)
        if wrong_one > 0 or wrong_other > 0:
            own += published_between(sums, job, begin, end, ticks)
        from_one = max(begin, begins[stay, one], caches.told_since[one])
        to_one = min(end, ends[stay, one], caches.told_at[one])
        first += published_between(sums, job, from_one, to_one, ticks)
        if other < 0:
            continue
        from_other = max(begin, begins[stay, other], caches.told_since[other])
        to_other = min(end, ends[stay, other], caches.told_at[other])
        second += published_between(sums, job, from_other, to_other, ticks)
        from_both, to_both = max(from_one, from_other), min(to_one, to_other)
        both += published_between(sums, job, from_both, to_both, ticks)
    scale = float(1 << level)
    if other < 0:
        return float(scale * (first + wrong_one * (own - first)))
    mistaken = wrong_one * (second - both) + wrong_other * (first - both)
    mistaken += wrong_one * wrong_other * (own - first - second + both)
    return float(scale * (both + mistaken))
