"""What brokers share by intervals, against caches that hold every notification."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from sapwood.compiled.compiling import kernel
from sapwood.sim.flow.caches import Caches, published_between, shared_with

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

BATCH = 10.0


@kernel
def shared(caches: Caches, here: int, one: int, other: int, now: float) -> float:
    return shared_with(caches, here, one, other, now)


@kernel
def between(sums: Any, job: int, first: float, last: float) -> float:
    return published_between(sums, job, first, last, 10.0)


def batch_times(jobs: int, batches: int) -> np.ndarray:
    """When each job publishes each batch."""
    shifts = (np.arange(jobs) + 0.5) / jobs
    return (np.arange(batches)[None, :] + shifts[:, None]) * BATCH


@pytest.mark.parametrize("seed", range(4))
def test_counts_between_two_times(seed: int) -> None:
    random = np.random.default_rng(seed)
    published = random.integers(0, 5, (3, 20))
    sums = np.zeros((3, 21), np.int64)
    sums[:, 1:] = published.cumsum(axis=1)
    times = batch_times(3, 20)
    for _ in range(50):
        job = int(random.integers(3))
        first, last = random.uniform(-20, 230, 2)
        inside = (times[job] >= first) & (times[job] < last)
        assert between(sums, job, first, last) == published[job][inside].sum()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_shared_is_what_sets_have_in_common(seed: int) -> None:
    """Three brokers, jobs that stay there for some time; each cache begins somewhere."""
    random, draws = Random(seed), np.random.default_rng(seed)
    jobs, batches = 3, 30
    published = draws.integers(0, 4, (jobs, batches))
    sums = np.zeros((1, jobs, batches + 1), np.int64)
    sums[0, :, 1:] = published.cumsum(axis=1)
    times, now = batch_times(jobs, batches), 250.0
    begins, ends = np.full((jobs, 3), np.inf), np.full((jobs, 3), np.inf)
    for job in range(jobs):
        for broker in range(3):
            if random.random() < 0.8:
                begins[job, broker] = random.uniform(0, 100)
                ends[job, broker] = random.uniform(100, 300)
    since = draws.uniform(0, 80, 3)
    told_at = np.array([now, 220.0, 240.0])
    kept = np.zeros((3, jobs), np.int64)
    kept[:] = np.arange(jobs)

    def held(broker: int, until: float) -> set[tuple[int, int, int]]:
        return {
            (job, batch, number)
            for job in range(jobs)
            for batch in range(batches)
            for number in range(published[job, batch])
            if max(begins[job, broker], since[broker]) <= times[job, batch]
            and times[job, batch] < min(ends[job, broker], until)
        }

    own, one, other = held(0, now), held(1, 220.0), held(2, 240.0)
    nothing = np.zeros(3, np.int64)
    caches = Caches(
        size=10**6, jobs=np.arange(jobs), batch_ticks=BATCH, levels=sums, begins=begins, ends=ends,
        kept=kept, kept_count=np.full(3, jobs), totals=nothing, heads=nothing, tails=nothing,
        log_ticks=np.zeros((3, 1)), log_totals=np.zeros((3, 1), np.int64), since=since,
        told_since=since, told_at=told_at, told_wrong=np.zeros(3), told_shift=nothing,
        heard=np.zeros((3, 3)),
    )  # fmt: skip
    assert shared(caches, 0, 1, -1, now) == len(own & one)
    assert shared(caches, 0, 1, 2, now) == len(own & one & other)
    caches.told_wrong[:] = [0.0, 0.5, 0.25]
    expected = len(own & one) + 0.5 * len(own - one)
    assert shared(caches, 0, 1, -1, now) == pytest.approx(expected)
    parts = {
        1.0: own & one & other, 0.25: own & one - other, 0.5: own & other - one,
        0.125: own - one - other,
    }  # fmt: skip
    expected = sum(chance * len(inside) for chance, inside in parts.items())
    assert shared(caches, 0, 1, 2, now) == pytest.approx(expected)
