"""How long until a fault is healed: every part by name, in seconds.

Streams, tree and tables rest on each other in this order and in no circle, so their times add up.
The formulas are those of Sapwood's own protocols; they were found and checked on models. In place
of the first forms of A, H and Δt stand those that hold together with changes of the tree. A has no
lock time in it, since a broker that is locked for a change passes beacons on. H is longer by W, the
time for which a lock may stop a wave of roots. Δt has V in it, after which a better root is taken
that is heard of only over links that carry nothing.

δ stands for the delay of counted control messages (`Network.counted_delay_max`) in H, V, W, L and
Δr. Beacons and checks wait for nothing: A, Δs and the two ways through the tree in Δt have
`Network.delay_max`. Where nothing is congested both are the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from sapwood.analysis.stabilization.network import Network
from sapwood.analysis.stabilization.periods import Periods

BEACONS_MISSED = 3
"""Periods without a beacon after which what it said counts for nothing."""
LOCK_TIME_LEAST = 4.0
"""Seconds a lock may take on links without any delay."""
LEASE_MARGIN = 1.01
"""A lease is by so much longer than the longest time between two renewals."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; infinite where what would heal is switched off. See `TERMS`."""

    age_max: float
    lock_span: float
    adoption_wait: float
    hold_time: float
    lock_time: float
    failover: float
    streams: float
    tree: float
    tree_dialled: float
    tree_kept: float
    tables: float
    audit: float
    total: float
    total_derived: float
    total_changes: float
    silent_neighbour: float
    silent_client: float
    away: float


class Term(NamedTuple):
    """One of the times, for people."""

    name: str
    symbol: str
    formula: str
    meaning: str


TERMS = (
    Term("age_max", "A", "3ξ + h(δmax − δmin) + 2τ", "news of the root counts no longer than this"),
    Term("lock_span", "W", "(2·ring_max + 2)δ + τ", "longest lock for a change without a fault"),
    Term("adoption_wait", "V", "(D + 1)δ + τ + W", "before a candidate's better root is taken"),
    Term("hold_time", "H", "(D + 2)δ + 2τ + W", "before a new link of the tree carries"),
    Term("lock_time", "L", "max(4 s, 4·ring_max·δ)", "before a change is given up"),
    Term("failover", "", "A + V + H", "a candidate takes over from a silent parent"),
    Term("streams", "Δs", "ρ + δmax + reconnection", "streams are sound again"),
    Term("tree", "Δt", "A + V + ξ + 2N·δmax + H + 3τ", "then the links are one tree"),
    Term("tree_dialled", "", "Δt + seek + reconnection", "the same, if a link has to be dialled"),
    Term("tree_kept", "", "Δt + A", "the same, if a kept link has to be given up"),
    Term("tables", "Δr", "by the refresh scheme", "then all tables agree"),
    Term("audit", "α", "α", "what is derived is derived again"),
    Term("total", "Δ", "Δs + Δt + Δr", "any fault but of derived state is healed"),
    Term("total_derived", "Δ + α", "Δs + Δt + Δr + α", "any fault is healed"),
    Term(
        "total_changes",
        "Δc",
        "3L + τ + Δt + A + Δr(N)",
        "a fault amid changes of the tree is healed",
    ),
    Term("silent_neighbour", "", "2ρ + τ + δ", "a silent neighbour's stream is ended"),
    Term("silent_client", "", "3ρc + 2τ", "a silent client is sent away"),
    Term("away", "", "away", "a broker gone for good is forgotten"),
)
"""Every field of `Bounds`, in its order."""

_OF_TABLES = {
    "digest": "ρ + τ + (d + 3)δ",
    "batch": "ρ + τ + (d + 1)δ",
    "hop-lease": "2π + 2τ + (d + 1)δ",
    "off": "never",
}


def tables_formula(periods: Periods) -> str:
    """Δr in signs, for the scheme in use.

    >>> tables_formula(Periods(has_advertisements=True))
    'ρ + τ + (2d + 3)δ'
    """
    formula = _OF_TABLES[periods.refresh]
    return formula.replace("(d ", "(2d ") if periods.has_advertisements else formula


def age_max(network: Network, periods: Periods) -> float:
    """A: how long what a beacon says of the root counts, since the root said it."""
    spread = network.height * (network.delay_max - network.delay_min)
    return BEACONS_MISSED * periods.beacon_period + spread + 2 * periods.tick


def lock_span(network: Network, periods: Periods) -> float:
    """W: the longest time a broker is locked for a change in which nothing fails."""
    return (2 * network.ring_max + 2) * network.counted_delay_max + periods.tick


def lock_time_least(network: Network) -> float:
    """The shortest L in which a change over the longest ring can end."""
    return max(LOCK_TIME_LEAST, 4 * network.ring_max * network.counted_delay_max)


def lock_time(network: Network, periods: Periods) -> float:
    """L: after which a broker gives a change up."""
    return periods.lock_time or lock_time_least(network)


def adoption_wait(network: Network, periods: Periods) -> float:
    """V: how long a broker with links that carry waits for the tree to bring it a better root."""
    wave = (network.diameter + 1) * network.counted_delay_max
    return wave + periods.tick + lock_span(network, periods)


def hold_time(network: Network, periods: Periods) -> float:
    """H: longer than a wave of a new root through a fragment, even if somebody is locked."""
    wave = (network.diameter + 2) * network.counted_delay_max
    return wave + 2 * periods.tick + lock_span(network, periods)


def streams_time(network: Network, periods: Periods) -> float:
    """Δs: every stream is checked once, and ended and begun anew where its ends contradict."""
    return periods.refresh_period + network.delay_max + periods.reconnect_time


def tree_time(network: Network, periods: Periods) -> float:
    """Δt: information about roots that are gone ages out, then one root's spreads over all links.

    A copy of a ghost ages while it is held and visits no broker twice: gone after A + N·δmax. Then
    the set attached to the best root only grows, one link for each δmax, after at most ξ; what was
    heard over a candidate waits for V, and a new link for H.
    """
    if periods.tree == "off":
        return math.inf
    waits = age_max(network, periods) + adoption_wait(network, periods)
    ways = periods.beacon_period + 2 * network.reach * network.delay_max
    return waits + ways + hold_time(network, periods) + 3 * periods.tick


def hop_lease(network: Network, periods: Periods) -> float:
    """π of the scheme `hop-lease`: each sender renews by its own clock, so one link counts."""
    spread = network.counted_delay_max - network.delay_min
    return LEASE_MARGIN * (periods.table_period + 2 * periods.tick + spread)


def tables_time(network: Network, periods: Periods, diameter: int | None = None) -> float:
    """Δr: each edge finds out and is told anew; then differences travel the longest way.

    The way has one link more than the tree, to a client. Where advertisements are required it is
    gone twice: subscriptions follow once advertisements are right.
    """
    links = (network.diameter if diameter is None else diameter) + 1
    if periods.has_advertisements:
        links *= 2
    delay, tick = network.counted_delay_max, periods.tick
    if periods.refresh == "digest":  # found, asked for, told; then on
        return periods.table_period + tick + (links + 3) * delay
    if periods.refresh == "batch":
        return periods.table_period + tick + (links + 1) * delay
    if periods.refresh == "hop-lease":
        return 2 * hop_lease(network, periods) + 2 * tick + (links + 1) * delay
    return math.inf


def changes_time(network: Network, periods: Periods) -> float:
    """Δc: from the last fault or request of a change on, whatever was locked for how long.

    Printed with N links for the differences of tables; where the diameter of a tree is larger than
    what a beacon may pass, that one counts.
    """
    locks = 3 * lock_time(network, periods) + periods.tick
    tree = tree_time(network, periods) + age_max(network, periods)
    return locks + tree + tables_time(network, periods, max(network.reach, network.diameter))


def bounds(network: Network, periods: Periods) -> Bounds:
    """Every part of the time until a fault is healed."""
    age = age_max(network, periods)
    wait, hold = adoption_wait(network, periods), hold_time(network, periods)
    streams, tree = streams_time(network, periods), tree_time(network, periods)
    tables = tables_time(network, periods)
    silence = 2 * periods.refresh_period + periods.tick + network.counted_delay_max
    return Bounds(
        age_max=age,
        lock_span=lock_span(network, periods),
        adoption_wait=wait,
        hold_time=hold,
        lock_time=lock_time(network, periods),
        failover=math.inf if periods.tree == "off" else age + wait + hold,
        streams=streams,
        tree=tree,
        tree_dialled=tree + periods.seek_period + periods.reconnect_time,
        tree_kept=tree + age,
        tables=tables,
        audit=periods.audit_period,
        total=streams + tree + tables,
        total_derived=streams + tree + tables + periods.audit_period,
        total_changes=changes_time(network, periods),
        silent_neighbour=math.inf if periods.refresh == "off" else silence,
        silent_client=math.inf
        if periods.refresh == "off"
        else 3 * periods.client_refresh_period + 2 * periods.tick,
        away=periods.away_time,
    )
