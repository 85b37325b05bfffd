"""Periods from a time in which every fault is to be healed, or from a refresh period."""

from __future__ import annotations

import math
from bisect import bisect_right

import msgspec

from sapwood.analysis.stabilization.bounds import Bounds, bounds
from sapwood.analysis.stabilization.network import Network
from sapwood.analysis.stabilization.periods import Periods
from sapwood.analysis.stabilization.refusals import (
    beacon_least,
    check,
    refresh_least,
    shown,
)
from sapwood.errors import StabilizationError

BEACON_MOST = 3.0
"""Seconds between beacons that are never exceeded without need: a candidate takes over in time."""
BEACONS_PER_REFRESH = 3
_MARGIN = 1.01
_DIGITS = 3
_ROUNDING = 1e-9


def periods_following(
    refresh_period: float,
    network: Network,
    *,
    audit_period: float | None = None,
    like: Periods | None = None,
) -> Periods:
    """The periods that go with a refresh period, and otherwise are as in `like`.

    ξ = min(ρ/3, 3 s), but no shorter than the network allows. Clients refresh as often as brokers,
    and derived state is audited ten times less often, unless `audit_period` is given.
    """
    shortest = _beacon_shortest(network, (like or Periods()).tick)
    return msgspec.structs.replace(
        like or Periods(),
        refresh_period=refresh_period,
        client_refresh_period=refresh_period,
        audit_period=10 * refresh_period if audit_period is None else audit_period,
        beacon_period=max(shortest, min(refresh_period / BEACONS_PER_REFRESH, BEACON_MOST)),
    )


def shortest_refresh(network: Network, like: Periods | None = None) -> float:
    """The shortest refresh period that this network allows."""
    return max(refresh_least(network), _beacon_shortest(network, (like or Periods()).tick))


def periods_within(seconds: float, network: Network, like: Periods | None = None) -> Periods:
    """The longest periods with which every fault is healed within `seconds`.

    S = Δs + Δt + Δr + α with α = ρ and ξ as in `periods_following`: a sum of straight pieces in ρ,
    solved exactly. Raises `StabilizationError` where even the shortest periods take longer, or
    where nothing heals because a part is switched off.
    """
    base = like or Periods()
    check(network, _solved(shortest_refresh(network, base), network, base))
    off = [name for name in ("refresh", "tree") if getattr(base, name) == "off"]
    if off:
        raise StabilizationError("is off: nothing heals in any time; switch it on", off[0])
    corners = _corners(network, base)
    times = [_time(corner, network, base) for corner in corners]
    if not times[0] <= seconds < math.inf:
        raise _too_small(seconds, network, base)
    at = min(bisect_right(times, seconds), len(times) - 1)
    left, right = corners[at - 1], corners[at]
    slope = (times[at] - times[at - 1]) / (right - left)
    return _solved(left + (seconds - times[at - 1]) / slope, network, base)


def _solved(refresh_period: float, network: Network, base: Periods) -> Periods:
    return periods_following(refresh_period, network, audit_period=refresh_period, like=base)


def _time(refresh_period: float, network: Network, base: Periods) -> float:
    return bounds(network, _solved(refresh_period, network, base)).total_derived


def _beacon_shortest(network: Network, tick: float) -> float:
    """2 δmax, and long enough that A exceeds the way of a beacon: 2 ξ + 2 τ > h δmin."""
    return max(beacon_least(network), _MARGIN * (network.height * network.delay_min / 2 - tick))


def _corners(network: Network, base: Periods) -> list[float]:
    """Refresh periods between which the time is straight; beyond the last it goes straight on."""
    first = shortest_refresh(network, base)
    bends = (_beacon_shortest(network, base.tick), BEACON_MOST)
    inner = sorted(BEACONS_PER_REFRESH * bend for bend in bends)
    later = [corner for corner in inner if corner > first]
    return [first, *later, 2 * max(first, *inner)]


def refresh_within(seconds: float, network: Network, periods: Periods) -> float:
    """The longest refresh period up to that of `periods` that keeps a stated time here.

    For brokers that run, and measure longer delays than those for which their periods were solved.
    The same period is taken for neighbours, clients and audits. That of beacons stays, since
    others wait for them; so does everything where entries are leased, since their leases were
    agreed on. If no period keeps the time, it is the shortest that the network allows: as near as
    it gets.

    >>> from sapwood.analysis.stabilization.network import network_of
    >>> periods = periods_within(120, network_of(40, height=6, delay_max=0.05))
    >>> round(refresh_within(120, network_of(40, height=6, delay_max=0.1), periods), 3)
    26.433
    """
    longest = periods.refresh_period
    least = max(shortest_refresh(network, periods), periods.beacon_period)
    if not least < longest or "off" in (periods.refresh, periods.tree) or _is_leased(periods):
        return longest
    first, last = (_refreshed(one, network, periods) for one in (least, longest))
    if not (math.isfinite(first) and math.isfinite(last)):  # a delay that cannot be
        return longest
    slope = (last - first) / (longest - least)
    return min(longest, max(least, least + (seconds - first) / slope))


def refreshed(refresh_period: float, periods: Periods) -> Periods:
    """The same periods, with one for neighbours, clients and audits."""
    return msgspec.structs.replace(
        periods,
        refresh_period=refresh_period,
        client_refresh_period=refresh_period,
        audit_period=refresh_period,
    )


def _refreshed(refresh_period: float, network: Network, periods: Periods) -> float:
    return bounds(network, refreshed(refresh_period, periods)).total_derived


def _is_leased(periods: Periods) -> bool:
    return periods.refresh == "hop-lease"


def excess(seconds: float, network: Network, periods: Periods) -> str:
    """Why periods that were to heal every fault in a time do not here; empty if they do.

    They may have been solved for smaller delays than those that are there. It is said whether
    others would do.
    """
    found = bounds(network, periods)
    if found.total_derived <= seconds * (1 + _ROUNDING):
        return ""
    said = (
        f"{shown(seconds)} s is not kept: with {shown(network.delay_max)} s over a link, S ≥ Δs + "
        f"Δt + Δr + α = {_sum(found)} = {found.total_derived:.3f} s"
    )
    try:
        solved = periods_within(seconds, network, periods)
    except StabilizationError as problem:
        return f"{said}; no periods keep it: {problem.parameter} {problem.problem}"
    return f"{said}; a refresh period of {shown(round(solved.refresh_period, _DIGITS))} s keeps it"


def _sum(found: Bounds) -> str:
    parts = (found.streams, found.tree, found.tables, found.audit)
    return " + ".join(shown(round(part, _DIGITS)) for part in parts)


def _too_small(seconds: float, network: Network, base: Periods) -> StabilizationError:
    shortest = shortest_refresh(network, base)
    found = bounds(network, _solved(shortest, network, base))
    least = math.ceil(found.total_derived * 10**_DIGITS) / 10**_DIGITS
    return StabilizationError(
        f"is {shown(seconds)} s; wanted S ≥ Δs + Δt + Δr + α = {_sum(found)} = {least:.3f} s, "
        f"with the shortest refresh period, max(1 s, 4 · delay, beacons) = {shown(shortest)} s; or "
        "smaller delays, or a tree of less height",
        "seconds",
    )
