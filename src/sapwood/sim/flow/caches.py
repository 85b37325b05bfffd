"""Compiled: what brokers remember and tell of the notifications that concern them, as intervals.

A cache holds the last so many notifications of a broker. All of one job at one place are alike, so
a cache is known by the stays of jobs in it and by the time from which on it remembers; what two
brokers share is counted from how much each job had published by when. A Bloom filter adds what it
holds by mistake, in the mean; a sketch counts only the notifications that were drawn for it, which
are the same at every broker.
"""

# ruff: noqa: PLR0913, PLR0917 - kernels take arrays one by one
from __future__ import annotations

from typing import Any

from sapwood.compiled.compiling import part


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
def remembered_from(
    here: int, size: int, heads: Any, tails: Any, log_ticks: Any, log_totals: Any, totals: Any
) -> float:
    """Since when a broker remembers everything that concerns it; moves its head there."""
    head = heads[here]
    while head < tails[here] and totals[here] - log_totals[here, head] >= size:
        head += 1
    heads[here] = head
    return log_ticks[here, head] if head < tails[here] else 0.0


@part
def shared_with(
    here: int, one: int, other: int, now: float, kept: Any, kept_count: Any, jobs: Any, begins: Any,
    ends: Any, since: Any, told_since: Any, told_at: Any, told_wrong: Any, told_shift: Any,
    levels: Any, batch_ticks: float,
) -> float:  # fmt: skip
    """What a broker shares with another one, or with two, by its cache and what they told.

    `other` is negative for one only.
    """
    level = told_shift[one]
    if other >= 0:
        level = max(level, told_shift[other])
    sums = levels[level]
    own = first = second = both = 0.0
    wrong_one = told_wrong[one]
    wrong_other = told_wrong[other] if other >= 0 else 0.0
    for place in range(kept_count[here]):
        stay = kept[here, place]
        job = jobs[stay]
        begin, end = max(begins[stay, here], since[here]), min(ends[stay, here], now)
        if wrong_one > 0 or wrong_other > 0:
            own += published_between(sums, job, begin, end, batch_ticks)
        from_one = max(begin, begins[stay, one], told_since[one])
        to_one = min(end, ends[stay, one], told_at[one])
        first += published_between(sums, job, from_one, to_one, batch_ticks)
        if other < 0:
            continue
        from_other = max(begin, begins[stay, other], told_since[other])
        to_other = min(end, ends[stay, other], told_at[other])
        second += published_between(sums, job, from_other, to_other, batch_ticks)
        both += published_between(
            sums, job, max(from_one, from_other), min(to_one, to_other), batch_ticks
        )
    scale = float(1 << level)
    if other < 0:
        return float(scale * (first + wrong_one * (own - first)))
    mistaken = wrong_one * (second - both) + wrong_other * (first - both)
    mistaken += wrong_one * wrong_other * (own - first - second + both)
    return float(scale * (both + mistaken))
