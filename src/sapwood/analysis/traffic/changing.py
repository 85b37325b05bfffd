"""Rates that change: how live subscriptions lag behind their arrivals.

Where the arrival rate is a(t), the mean number of live subscriptions follows n' = a - mu·n, and
their number is still Poisson distributed (exponential lifetimes, from an equilibrium on). An edge
begins to be asked with the rate a·exp(-n), and as the chance that it is asked changes by
n'·exp(-n), it ends with mu·n·exp(-n): in all formulas twice the arrivals become arrivals and
departures. So a moment is like an equilibrium with n live subscriptions and (a + mu·n)/2 arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, Given, number_of, positive_of
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.errors import ParameterError

Points = Sequence[tuple[float, float]]
"""Times in seconds and factors, in the order of time; between them the factor changes evenly."""


def rates_at(base: Rates, points: Points, at: float) -> Rates:
    """What all formulas have to be given for one moment.

    The arrival rates of `base` are multiplied by a factor that changes with time. Until the first
    of the points they were what they are there for ever.
    """
    arriving, living = arrival_factor(points, at), live_factor(points, base.departure_rate, at)
    departing = base.departure_rate * living
    turnover = (base.departure_rate * arriving + departing) / 2
    if not (living > 0).all():
        raise ParameterError("is 0 from the beginning; wanted some subscriptions", "points")
    return rates(
        base.tree,
        arrival_rate=base.live * turnover,
        departure_rate=turnover / living,
        publication_rate=base.publication_rate,
        interests=base.interests,
        copies=base.copies,
    )


def arrival_factor(points: Points, at: float) -> float:
    """The factor of arrivals at a time."""
    times, factors = _checked(points)
    return float(np.interp(at, times, factors))


def live_factor(points: Points, departure_rate: Given, at: float) -> Floats:
    """The factor of live subscriptions at a time, for one departure rate or many.

    On each piece, where the factor of arrivals is f + s·t, that of the living tends to
    f + s·(t - 1/mu), and what it was off at the start fades with exp(-mu·t).
    """
    times, factors = _checked(points)
    rate = positive_of("departure_rate", departure_rate, np.shape(departure_rate))
    living = np.full(rate.shape, factors[0])
    for first in range(len(times) - 1):
        if at <= times[first]:
            break
        length = min(at, times[first + 1]) - times[first]
        slope = 0.0
        if times[first + 1] > times[first]:
            slope = (factors[first + 1] - factors[first]) / (times[first + 1] - times[first])
        living = _later(living, factors[first], slope, rate, length)
    if at > times[-1]:
        living = _later(living, factors[-1], 0.0, rate, at - times[-1])
    return living


def _later(living: Floats, factor: float, slope: float, rate: Floats, seconds: float) -> Floats:
    lag = slope / rate
    return factor + slope * seconds - lag + (living - factor + lag) * np.exp(-rate * seconds)


def _checked(points: Points) -> tuple[list[float], list[float]]:
    if not points:
        raise ParameterError("is empty; wanted times and factors", "points")
    times = [float(time) for time, _ in points]
    if sorted(times) != times or not np.isfinite(times).all():
        raise ParameterError(f"has the times {times}; wanted them in their order", "points")
    return times, [number_of("points", factor) for _, factor in points]
