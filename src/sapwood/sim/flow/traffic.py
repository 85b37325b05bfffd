"""What a network carries under constant rates: counted, not sent.

The same question as that of `sapwood.analysis.traffic.predict`, answered with random clients
instead of formulas: where there is a formula it is the mean of this, and where there is none this
still gives an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from sapwood.analysis.traffic.arrays import Flags, number_of
from sapwood.analysis.traffic.flows import both_sides
from sapwood.analysis.traffic.predicting import (
    PEER_TO_PEER,
    Traffic,
    check_edges,
    flooded_edges,
)
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.routing import EdgeTraffic
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError
from sapwood.sim.flow.leases import new_leases, run_leases
from sapwood.sim.flow.stationary import Clients, run_units
from sapwood.sim.flow.tables import COVERING, IDENTITY, MERGING, new_tables

ALGORITHMS: Final = {
    "flooding": IDENTITY,
    "simple": IDENTITY,
    "identity": IDENTITY,
    "covering": COVERING,
    "merging": MERGING,
}
"""What is asked for while an edge filters: under simple routing it is each filter as often as it is
wanted, which needs no table but only a count of who came and went."""

CELLS_MAX: Final = 200_000_000
"""Brokers times filters that are looked at together: more does not fit into memory."""


@dataclass(frozen=True, eq=False)
class Flow:
    """What was counted in one run."""

    traffic: Traffic
    """By second, as formulas have it."""
    seconds: float
    events: int
    """Subscriptions that came or went, and notifications: what was really done."""

    @property
    def hops(self) -> int:
        """Messages over links that this stands for."""
        return round(self.traffic.total * self.seconds)


@dataclass(frozen=True, eq=False)
class Shape:
    """A tree as kernels want it."""

    parents: Any = field(repr=False)
    first_child: Any = field(repr=False)
    last_child: Any = field(repr=False)


def shape_of(tree: RootedTree) -> Shape:
    """The arrays of a tree; children of one broker stand side by side."""
    return Shape(
        np.array(tree.parents, dtype=np.int64),
        np.array([kids.start for kids in tree.children], dtype=np.int64),
        np.array([kids.stop for kids in tree.children], dtype=np.int64),
    )


def by_broker(floods: Flags) -> Flags:
    """Flags by link as flags by the broker below it; the root has no link above."""
    return np.concatenate([np.zeros((2, 1), dtype=np.bool_), floods], axis=1)


def traffic(
    rates: Rates,
    routing: str,
    variant: str = PEER_TO_PEER,
    *,
    seconds: float,
    seed: int,
    floods: Flags | None = None,
    refresh_period: float | None = None,
) -> Flow:
    """One run from equilibrium: notifications, changes of tables and entries, edge by edge.

    `floods` says which edges flood, where the variant does not. Lifetimes are exponential. With a
    `refresh_period`, renewals of leases are counted, too, for identity-based routing, after two
    periods in which they settle; `with_digests` adds what Sapwood does instead.
    """
    tree = rates.tree
    number_of("seconds", seconds, positive=True)
    if routing not in ALGORITHMS:
        raise ParameterError(f"is {routing!r}; there are {', '.join(ALGORITHMS)}", "routing")
    if floods is None:
        floods = flooded_edges(tree, variant)
    if routing == "flooding":
        floods = np.ones_like(floods)
    check_edges(tree, floods)
    if routing == "merging" and not rates.interests.are_disjoint:
        raise ParameterError(
            "merging is counted only where classes exclude each other and any set of them is one "
            "filter",
            "interests",
        )
    counted = _run(rates, routing, floods, seconds, np.random.default_rng(seed))
    found = _traffic_of(rates, routing, floods, counted, seconds)
    if refresh_period is None:
        return Flow(found, seconds, counted.events)
    number_of("refresh_period", refresh_period, positive=True)
    if routing != "identity":
        raise ParameterError(f"is {routing!r}; leases are counted for identity only", "routing")
    random = np.random.default_rng([seed, 1])
    renewals, events = _renewals(rates, floods, refresh_period, seconds, random)
    leased = replace(found, leasing_by_edge=renewals / seconds)
    return Flow(leased, seconds, counted.events + events)


def with_digests(flow: Flow, refresh_period: float) -> Flow:
    """The same with tables that are kept right by digests, as Sapwood does by default.

    One goes against every edge in a period, whatever its table holds.
    """
    number_of("refresh_period", refresh_period, positive=True)
    digests = np.ones_like(flow.traffic.edges.entries, dtype=float)
    kept = replace(flow.traffic, leasing_by_edge=digests / refresh_period)
    return replace(flow, traffic=kept)


def _renewals(
    rates: Rates, floods: Flags, period: float, seconds: float, random: Any
) -> tuple[Any, int]:
    """Renewals of leases by direction and link, filter by filter; how much happened."""
    shape = shape_of(rates.tree)
    end = 2 * period + seconds
    most = float((rates.live + rates.arrival_rate * end).sum(axis=0).max())
    leases = new_leases(
        (shape.parents, shape.first_child, shape.last_child), by_broker(floods),
        int(most + 10 * math.sqrt(most)) + 1000,
    )  # fmt: skip
    times = (float(period), 2.0 * period, float(end))
    events = 0
    for filter in range(rates.interests.filters):
        live, arrival, departure = (
            np.ascontiguousarray(one[:, filter])
            for one in (rates.live, rates.arrival_rate, rates.departure_rate)
        )
        for _ in range(rates.copies):
            events += run_leases(
                leases, times, random, live.copy(), np.cumsum(arrival), departure.copy()
            )
    return leases.renewals[:, 1:], events


@dataclass(frozen=True, eq=False)
class _Counted:
    changes: Any
    passed: Any
    present: Any
    moved: Any
    lived: Any
    published: Any
    events: int


def _run(rates: Rates, routing: str, floods: Flags, seconds: float, random: Any) -> _Counted:
    tree, interests = rates.tree, rates.interests
    units, live, arrival = rates.copies, rates.live, rates.arrival_rate
    departure, publication = rates.departure_rate, rates.publication_rate
    if routing == "merging":  # one merger holds all classes: they have to be looked at together
        live, arrival, departure, publication = (
            np.repeat(one, units, axis=1) for one in (live, arrival, departure, publication)
        )
        units = 1
    brokers, filters = live.shape
    kinds = publication.shape[1]
    if brokers * max(filters, kinds) > CELLS_MAX:
        raise ParameterError(
            f"{brokers} brokers and {max(filters, kinds)} filters are more than can be counted "
            f"together ({CELLS_MAX:,} pairs): take fewer of either",
            "rates",
        )
    covers = np.zeros((0, 0), np.bool_) if interests.covers is None else interests.covers
    matches = np.zeros((0, 0), np.bool_) if interests.matches is None else interests.matches
    shape = shape_of(tree)
    tables = new_tables(
        (shape.parents, shape.first_child, shape.last_child), by_broker(floods),
        ALGORITHMS[routing], (np.array(covers), np.array(matches)), (brokers, filters, kinds),
    )  # fmt: skip
    clients = Clients(
        np.array(live), np.cumsum(arrival), np.array(departure), np.cumsum(publication),
        np.zeros(brokers, np.int64), np.zeros(brokers), np.zeros((brokers, kinds), np.int64),
    )  # fmt: skip
    events = run_units(units, float(seconds), random, tables, clients)
    return _Counted(
        tables.changes, tables.passed, tables.present, clients.moved, clients.lived,
        clients.published.sum(axis=1), int(events),
    )  # fmt: skip


def _traffic_of(
    rates: Rates, routing: str, floods: Flags, counted: _Counted, seconds: float
) -> Traffic:
    changes, entries = counted.changes[:, 1:] / seconds, counted.present[:, 1:] / seconds
    if routing == "simple":  # each subscription is told by itself to all that do not flood
        sums = both_sides(rates.tree, counted.moved[:, None] / seconds)
        lived = both_sides(rates.tree, counted.lived[:, None] / seconds)
        changes, entries = (
            np.where(floods, 0.0, np.stack([one[:, 0] for one in each])) for each in (sums, lived)
        )
    edges = EdgeTraffic(counted.passed[:, 1:] / seconds, changes, entries)
    return Traffic(rates.tree, edges, np.zeros_like(entries), counted.published / seconds)
