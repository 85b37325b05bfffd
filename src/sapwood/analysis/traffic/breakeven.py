"""Where filtering stops to pay: break-even, extremes and limits of the closed forms (3.5.3).

All are looked for over the number of live subscriptions per leaf and class on a logarithmic scale,
then narrowed down to the last bit, so that the answer is a number and not a point of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.complete import CompleteSetting

Curve: TypeAlias = Callable[[Floats], Floats]

THESIS_SETTINGS = tuple(
    CompleteSetting(publication_rate=published, lifetime=lifetime, refresh_period=refresh)
    for published in (1000.0, 100.0)
    for lifetime in (600.0, 60.0)
    for refresh in (60.0, 600.0)
)
"""The eight settings of 3.3.3 and 3.5.1: a ternary tree of five levels, a thousand classes."""

PER_LEAF_MIN, PER_LEAF_MAX = 1e-9, 750.0
"""Live subscriptions per leaf and class: from next to none to where exp(-n) is 0."""

_POINTS = 4000


class Extreme(NamedTuple):
    """The largest or the smallest value of a curve, and where it is."""

    subscriptions: float
    value: float


class Minimum(NamedTuple):
    """The smallest gain: `subscriptions` is infinite where it is only ever approached."""

    subscriptions: float
    value: float
    share_of_flooding: float
    """How much more than flooding filtering costs at worst, as a share of flooding."""


def break_even(setting: CompleteSetting, *, publishers_at_root: bool = False) -> float | None:
    """With how many live subscriptions filtering costs as much as flooding; None: with none.

    The smallest such number at which filtering was cheaper before.

    >>> round(break_even(CompleteSetting()))
    299172
    """

    def gained(subscriptions: Floats) -> Floats:
        return complete.gain(setting, subscriptions, publishers_at_root=publishers_at_root)

    return first_fall(gained, *_range(setting))


def worst_gain(setting: CompleteSetting) -> Minimum:
    """The smallest gain over all numbers of subscriptions, or its limit where that is smaller."""
    low, high = _range(setting)
    least = maximum(lambda subscriptions: -complete.gain(setting, subscriptions), low, high)
    limit = -setting.leasing_limit
    found = Extreme(least.subscriptions, -least.value)
    if limit <= found.value + 1e-9 * abs(limit):
        found = Extreme(math.inf, limit)
    share = -found.value / setting.flooding if setting.flooding else math.inf
    return Minimum(*found, share)


def most_toggles(setting: CompleteSetting) -> Extreme:
    """Where leaves change their mind most often (mo): with one subscription per leaf and class."""
    at = float(setting.leaves * setting.classes)
    return Extreme(at, float(complete.toggles(setting, at)))


def most_toggling(setting: CompleteSetting) -> Extreme:
    """Where most subscriptions and unsubscriptions are told (bo)."""
    return maximum(
        lambda subscriptions: complete.toggling(setting, subscriptions), *_range(setting)
    )


def most_control(setting: CompleteSetting) -> Extreme:
    """Where control traffic is largest (bc); at the end of the range where it only grows."""
    return maximum(lambda subscriptions: complete.control(setting, subscriptions), *_range(setting))


def reaches(curve: Curve, level: float, setting: CompleteSetting) -> float | None:
    """The first number of subscriptions at which a curve crosses a level, in either direction."""
    low, high = _range(setting)
    start = float(curve(np.array(low)))

    def before(subscriptions: Floats) -> Floats:
        return (curve(subscriptions) - level) * (1 if start > level else -1)

    return first_fall(before, low, high)


def _range(setting: CompleteSetting) -> tuple[float, float]:
    per_leaf = setting.leaves * setting.classes
    return PER_LEAF_MIN * per_leaf, PER_LEAF_MAX * per_leaf


def first_fall(curve: Curve, low: float, high: float) -> float | None:
    """Where a curve first goes from above 0 to 0 or below, between two positive numbers.

    Found on a logarithmic grid, then by halving until the ends are neighbouring floats.
    """
    grid = np.geomspace(low, high, _POINTS)
    values = curve(grid)
    falls = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
    if not len(falls):
        return None
    left, right = float(grid[falls[0]]), float(grid[falls[0] + 1])
    while left < (middle := (left + right) / 2) < right:
        if float(curve(np.array(middle))) > 0:
            left = middle
        else:
            right = middle
    return right


def maximum(curve: Curve, low: float, high: float) -> Extreme:
    """The highest point of a curve between two positive numbers.

    The best point of a logarithmic grid, and around it again a finer one, until it is a point. The
    place is as exact as a flat top allows: about eight digits.
    """
    points = _POINTS
    while True:
        grid = np.geomspace(low, high, points)
        index = int(np.argmax(curve(grid)))
        low, high = float(grid[max(0, index - 1)]), float(grid[min(points - 1, index + 1)])
        if high <= low * (1 + 1e-9):
            best = float(grid[index])
            return Extreme(best, float(curve(np.array(best))))
        points = 101
