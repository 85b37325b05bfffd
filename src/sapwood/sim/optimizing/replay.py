"""What the notifications of a course cost on a tree that nobody changes, without sending any.

On a tree that stays, each notification goes over its delivery tree and nowhere else; so its cost is
that of Eq. 5.2, and a run message by message gives the same (there is a test). References need no
more than this: the static tree over a whole run, and trees found with global knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from sapwood.analysis.delivery.cost import Delivery
from sapwood.analysis.overlay.situation import Situation, places_of, situation, tree_cost
from sapwood.sim.optimizing.setup import Course


def situation_at(course: Course, tick: float) -> Situation:
    """Prices and jobs of a time, with the rates that they have in the mean."""
    rate = 1 / course.parameters.publication_interval
    return situation(
        course.prices_at(tick), [Delivery(stay.places, rate) for stay in course.jobs_at(tick)]
    )


def replayed_cost(
    course: Course, links: Iterable[tuple[str, str]], begin: float, end: float
) -> float:
    """The mean cost by tick, on a tree, of what is published from one tick to before another."""
    times = sorted({begin, *(at for at in course.price_times() if begin < at < end), end})
    tree = tuple(links)
    total = 0.0
    for first, last in pairwise(times):
        deliveries = [
            Delivery(stay.places, float(number))
            for stay in course.stays
            if (number := _published(course, stay.job, max(first, stay.begin), min(last, stay.end)))
        ]
        prices = course.prices_at(first)
        if deliveries:
            total += tree_cost(situation(prices, deliveries), places_of(prices, tree))
    return total / (end - begin)


def _published(course: Course, job: int, begin: float, end: float) -> int:
    """How much a job publishes from one tick to before another."""
    parameters = course.parameters
    shift = (job + 0.5) / parameters.jobs
    first, last = (max(0, math.ceil(at / parameters.batch_ticks - shift)) for at in (begin, end))
    return int(np.sum(course.published[job, first:last]))
