"""How often something happens: at a constant rate, or at one that changes over time.

Events form a Poisson process. Where the rate changes, as that of new subscriptions does in paper
004 (section 6), it is linear between given points, and the time of the next event is computed
exactly: the integral of the rate up to it is exponentially distributed with mean 1.
"""

from __future__ import annotations

import math
from random import Random

import msgspec

from sapwood.errors import ParameterError


class RateSchedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate given at points in time, linear between them, constant before and after.

    Two points at the same time make a step.

    >>> RateSchedule(((0.0, 1.0), (10.0, 3.0))).rate(5.0)
    2.0
    """

    points: tuple[tuple[float, float], ...]
    """Pairs of a time in seconds and a rate per second, in the order of time."""

    def __post_init__(self) -> None:
        if not self.points:
            raise ParameterError("has no points; at least one (time, rate) wanted", "points")
        before = -math.inf
        for time, rate in self.points:
            if not before <= time < math.inf:
                raise ParameterError(
                    f"time {time} after {before}; wanted finite times in order", "points"
                )
            if not 0 <= rate < math.inf:
                raise ParameterError(
                    f"rate {rate} at time {time}; wanted a finite rate, 0 or more", "points"
                )
            before = time

    def rate(self, at: float) -> float:
        """Events per second at a time; at a step, what holds after it."""
        start, rate = -math.inf, self.points[0][1]
        for time, next_rate in self.points:
            if at < time:
                share = (at - start) / (time - start) if start > -math.inf else 0.0
                return rate + (next_rate - rate) * share
            start, rate = time, next_rate
        return rate

    def next_after(self, now: float, random: Random) -> float:
        """When the next event happens; infinite if never."""
        left = random.expovariate(1.0)
        rate = self.rate(now)
        for time, next_rate in self.points:
            if time > now:
                area = (rate + next_rate) / 2 * (time - now)
                if left < area:
                    return min(time, now + _reach(left, rate, (next_rate - rate) / (time - now)))
                left -= area
                now, rate = time, next_rate
            elif time == now:
                rate = next_rate
        return now + left / rate if rate else math.inf


def _reach(area: float, rate: float, slope: float) -> float:
    """How far the area under a linear rate reaches, in the form without cancellation."""
    return 2 * area / (rate + math.sqrt(max(0.0, rate * rate + 2 * slope * area))) if area else 0.0


Rate = float | RateSchedule
"""Events per second, constant or changing."""


def schedule_of(parameter: str, rate: Rate) -> RateSchedule:
    """The schedule of a rate; `parameter` is its name, for errors."""
    if isinstance(rate, RateSchedule):
        return rate
    if not 0 <= rate < math.inf:
        raise ParameterError(f"is {rate}; wanted a finite rate per second, 0 or more", parameter)
    return RateSchedule(((0.0, float(rate)),))
