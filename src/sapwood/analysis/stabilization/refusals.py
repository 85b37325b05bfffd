"""Which networks and periods cannot work, and why: with the formula and the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from sapwood.analysis.stabilization.bounds import (
    age_max,
    lock_span,
    lock_time,
    lock_time_least,
)
from sapwood.analysis.stabilization.network import Network
from sapwood.analysis.stabilization.periods import Periods
from sapwood.errors import StabilizationError

REFRESH_LEAST = 1.0
"""Seconds below which looking again is work without rest."""
REFRESH_DELAYS = 4
"""Delays that a comparison takes at most: a digest, a question, an answer, and one in reserve."""
BEACON_DELAYS = 2
"""A beacon has left the link before the next one comes, and one change overtakes none."""


class Refusal(NamedTuple):
    """What cannot work: a field of `Network` or `Periods`, and what is wrong with it."""

    parameter: str
    problem: str


def check(network: Network, periods: Periods) -> None:
    """Raise a `StabilizationError` for the first thing that cannot work."""
    for refusal in refusals(network, periods):
        raise StabilizationError(refusal.problem, refusal.parameter)


def refusals(network: Network, periods: Periods) -> Iterator[Refusal]:
    """Everything that cannot work; what is no number at all is said first and alone."""
    nonsense = [*_impossible_numbers(network), *_impossible_periods(periods)]
    if nonsense:
        yield from nonsense
        return
    yield from _impossible_tree(network)
    if periods.refresh != "off":
        yield from _impossible_refresh(network, periods)
    if periods.tree != "off":
        yield from _impossible_beacons(network, periods)
        yield from _impossible_locks(network, periods)


def refresh_least(network: Network) -> float:
    """The shortest refresh period that is allowed: max(1 s, 4 δ)."""
    return max(REFRESH_LEAST, REFRESH_DELAYS * network.counted_delay_max)


def beacon_least(network: Network) -> float:
    """The shortest beacon period that is allowed: 2 δmax."""
    return BEACON_DELAYS * network.delay_max


def shown(value: float) -> str:
    """A number for people.

    >>> shown(30.0), shown(0.1 + 0.2)
    ('30', '0.3')
    """
    return f"{value:.9g}"


def _impossible_numbers(network: Network) -> Iterator[Refusal]:
    for name, least in (("brokers", 1), ("height", 0), ("diameter", 0)):
        if (count := getattr(network, name)) < least:
            yield Refusal(name, f"is {count}; wanted {least} or more")
    for name in ("delay_max", "delay_min", "wait_max"):
        if not 0 <= (delay := getattr(network, name)) < math.inf:
            yield Refusal(name, f"is {shown(delay)} s; wanted 0 s or more")
    for name, least in (("depth_max", 2), ("ring_max", 3)):
        if (count := getattr(network, name)) < least:
            yield Refusal(name, f"is {count}; wanted {least} or more")


def _impossible_periods(periods: Periods) -> Iterator[Refusal]:
    names = ("refresh", "client_refresh", "beacon", "audit", "seek")
    for name in (*(f"{name}_period" for name in names), "tick"):
        if not 0 < (period := getattr(periods, name)) < math.inf:
            yield Refusal(name, f"is {shown(period)} s; a period is longer than 0 s")
    for name in ("lock_time", "away_time", "reconnect_time"):
        if not 0 <= (time := getattr(periods, name)) < math.inf:
            yield Refusal(name, f"is {shown(time)} s; wanted 0 s or more")


def _impossible_tree(network: Network) -> Iterator[Refusal]:
    brokers, height, diameter = network.brokers, network.height, network.diameter
    if height > brokers - 1:
        yield Refusal("height", f"is {height}; {brokers} brokers reach {brokers - 1} at most")
    elif height < min(1, brokers - 1):
        yield Refusal("height", f"is {height}; {brokers} brokers reach 1 at least")
    if not height <= diameter <= min(2 * height, brokers - 1):
        yield Refusal(
            "diameter",
            f"is {diameter}; wanted height ≤ diameter ≤ min(2 · height, brokers − 1), "
            f"from {height} to {min(2 * height, brokers - 1)}",
        )
    if network.depth_max < height + 1:
        yield Refusal(
            "depth_max",
            f"is {network.depth_max}; wanted depth_max ≥ height + 1 = {height} + 1 = {height + 1}",
        )
    if network.delay_min > network.delay_max:
        yield Refusal(
            "delay_min",
            f"is {shown(network.delay_min)} s; wanted delay_min ≤ delay_max = "
            f"{shown(network.delay_max)} s",
        )


def _impossible_refresh(network: Network, periods: Periods) -> Iterator[Refusal]:
    least, delay = refresh_least(network), network.counted_delay_max
    names = {"refresh_period": "refresh", "client_refresh_period": "client refresh"}
    for name, called in names.items():
        if (period := getattr(periods, name)) < least:
            yield Refusal(
                name,
                f"is {shown(period)} s; wanted {called} period ≥ max(1 s, 4 · delay) = "
                f"max(1 s, 4 · {shown(delay)} s) = {shown(least)} s",
            )


def _impossible_beacons(network: Network, periods: Periods) -> Iterator[Refusal]:
    beacon, least = periods.beacon_period, beacon_least(network)
    if beacon > periods.refresh_period:
        yield Refusal(
            "beacon_period",
            f"is {shown(beacon)} s; wanted beacon period ≤ refresh period = "
            f"{shown(periods.refresh_period)} s",
        )
    if beacon < least:
        yield Refusal(
            "beacon_period",
            f"is {shown(beacon)} s; wanted beacon period ≥ 2 · delay_max = "
            f"2 · {shown(network.delay_max)} s = {shown(least)} s",
        )
    age, way = age_max(network, periods), network.height * network.delay_max
    if age <= beacon + way:
        yield Refusal(
            "beacon_period",
            f"is {shown(beacon)} s; wanted A > beacon period + height · delay_max, and A = "
            f"3 · beacon period + height · (delay_max − delay_min) + 2 · tick = {shown(age)} s "
            f"against {shown(beacon)} s + {network.height} · {shown(network.delay_max)} s = "
            f"{shown(beacon + way)} s",
        )


def _impossible_locks(network: Network, periods: Periods) -> Iterator[Refusal]:
    lock, least, span = (
        lock_time(network, periods),
        lock_time_least(network),
        lock_span(network, periods),
    )
    if lock < least:
        yield Refusal(
            "lock_time",
            f"is {shown(lock)} s; wanted lock time ≥ max(4 s, 4 · ring_max · delay) = max(4 s, "
            f"4 · {network.ring_max} · {shown(network.counted_delay_max)} s) = {shown(least)} s",
        )
    elif lock <= span:
        yield Refusal(
            "tick",
            f"is {shown(periods.tick)} s; wanted (2 · ring_max + 2) · delay + tick < lock time, "
            f"and {shown(span)} s is not below {shown(lock)} s",
        )
