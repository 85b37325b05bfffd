"""Renewals under the rule that works: one representative per filter and neighbour (handover).

Eq. 3.26 counts one renewal of every entry in a refresh period, x / rho. That is what one renewing
subscription causes for as long as it lives. Where several stand behind an entry, one of them is the
*representative*, and its renewals are passed on. When it goes, another one that was renewed no
later than the neighbour was told takes over; if there is none, one renewal is sent at once. Both
make the next renewal come earlier than a period after the last.

Between two tellings, at times 0 and G, all that are alive at time 0 could step in, each until it is
renewed (v, between 0 and rho) or gone (L). The successor is always the one with the latest v, so a
telling is due exactly when none is left: G is the largest min(v, L) of them. It ends either by a
renewal, or by a departure, and then one is sent at once, or, if nobody is there at all, the entry
ends. As those who could step in are Poisson distributed, the chances of all of this have closed
forms; who was there before the last telling is remembered by its length alone. What comes out is
the rate of a Markov chain over lengths and endings, by numerical integration.

Left out are that memory's further past, and that a subscription which was not yet renewed may be
renewed sooner than a period after it came. Where subscriptions live as long as a refresh period or
longer, the result is within 3% of simulations; where they live shorter and are many, it is too
high.

Further up in the tree, what stands behind an entry are entries of other neighbours: they come and
go more slowly, and are renewed at the rate that was found for them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, number_of
from sapwood.analysis.traffic.flows import DOWN, UP, Flows, flows
from sapwood.analysis.traffic.predicting import PEER_TO_PEER, Traffic, predict
from sapwood.analysis.traffic.rates import Rates

_NODES = 40
_ROUNDED = 12


def renewal_rate(live: float, departure_rate: float, refresh_period: float) -> float:
    """Renewals per second that are passed on for an entry while it is there.

    `live` is how many subscriptions stand behind it in the mean, counting the times without any.
    """
    live = number_of("live", live)
    ratio = number_of("departure_rate", departure_rate) * number_of(
        "refresh_period", refresh_period, positive=True
    )
    return _rate(round(live, _ROUNDED), round(ratio, _ROUNDED)) / refresh_period


@lru_cache(4096)
def _rate(n: float, mu: float) -> float:
    """With the refresh period as the unit of time."""
    if n < 1e-9 or mu == 0.0:
        return 1.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    times, weights = (nodes + 1) / 2, weights / 2
    gaps = np.append(times, 1.0)
    chain = _Chain(n, mu, times, weights, gaps)
    return chain.rate()


def renewals_of_one(
    departure_rate: float, refresh_period: float, *, at_random: bool = True
) -> float:
    """How often a client renews one subscription in the mean, over an exponential lifetime.

    The papers do not say when the first renewal comes. At a random time within the first period
    there are as many as periods in a lifetime, whatever the distribution of lifetimes; one period
    after the subscription, one for each full period that it lives.
    """
    ratio = number_of("departure_rate", departure_rate, positive=True) * number_of(
        "refresh_period", refresh_period, positive=True
    )
    return 1 / ratio if at_random else float(1 / np.expm1(ratio))


class Supporters(NamedTuple):
    """What stands behind an entry: how many, how many go per second, how many renewals come."""

    live: float
    departures: float
    renewals: float


def predict_renewed(rates: Rates, refresh_period: float, variant: str = PEER_TO_PEER) -> Traffic:
    """What identity-based routing with leases carries, with renewals as the rule has them."""
    traffic = predict(rates, "identity", variant, refresh_period=refresh_period)
    found = renewals(rates, refresh_period, variant)
    return replace(traffic, leasing_by_edge=found)


def renewals(rates: Rates, refresh_period: float, variant: str = PEER_TO_PEER) -> Floats:
    """Renewals per second against each edge, where the first comes at any time within a period.

    Edges away from the root are looked at from the leaves up, then those towards it from the root
    down: each after all behind it.
    """
    number_of("refresh_period", refresh_period, positive=True)
    sums, tree = flows(rates), rates.tree
    found = np.zeros((2, tree.links, rates.interests.filters))
    for index in range(rates.interests.filters):
        own = [
            Supporters(live, arrivals, live / refresh_period)
            for live, arrivals in zip(
                rates.live[:, index].tolist(), rates.arrival_rate[:, index].tolist(), strict=True
            )
        ]
        edges = _Edges(sums, index, own, refresh_period)
        for broker in range(len(tree.brokers) - 1, 0, -1):
            found[DOWN, broker - 1, index] = edges.down(broker)
        if variant == PEER_TO_PEER:
            for broker in range(1, len(tree.brokers)):
                found[UP, broker - 1, index] = edges.up(broker)
    return np.asarray(found.sum(axis=-1) * rates.copies)


class _Edges:
    """The entries of one filter, edge by edge."""

    def __init__(
        self, sums: Flows, index: int, own: list[Supporters], refresh_period: float
    ) -> None:
        self.sums, self.index, self.own, self.period = sums, index, own, refresh_period
        self.children, self.parents = sums.tree.children, sums.tree.parents
        self.edges: dict[tuple[int, int], Supporters] = {}

    def down(self, broker: int) -> float:
        """Renewals of the entry at the parent of a broker."""
        behind = [self.edges[DOWN, kid] for kid in self.children[broker]]
        return self._add(DOWN, broker, [self.own[broker], *behind])

    def up(self, broker: int) -> float:
        """Renewals of the entry of its parent at a broker."""
        parent = self.parents[broker]
        behind = [self.edges[DOWN, kid] for kid in self.children[parent] if kid != broker]
        if parent:
            behind.append(self.edges[UP, parent])
        return self._add(UP, broker, [self.own[parent], *behind])

    def _add(self, way: int, broker: int, behind: list[Supporters]) -> float:
        live, departures, renewed = (float(sum(part)) for part in zip(*behind, strict=True))
        wanted = float(self.sums.live[way, broker - 1, self.index])
        arrivals = float(self.sums.arrivals[way, broker - 1, self.index])
        there = -float(np.expm1(-wanted))
        rate = 0.0
        if live:
            rate = there * renewal_rate(live, departures / live, live / renewed)
        self.edges[way, broker] = Supporters(there, arrivals * float(np.exp(-wanted)), rate)
        return rate


class _Chain:
    """Tellings as states: after a renewal (A) or at once (B), by the length of the gap before.

    Rows and columns: A by gap, B by gap, and the start (C): the first subscription of an entry.
    """

    def __init__(self, n: float, mu: float, times: Floats, weights: Floats, gaps: Floats) -> None:
        self.n, self.mu = n, mu
        self.times, self.weights, self.gaps = times, weights, gaps
        self.alive = np.exp(-mu * times)
        self.count = len(gaps)

    def left(self, gap: float, at: Floats) -> Floats:
        """How many of those there at a telling would be renewed later than `at`."""
        recent = np.minimum(1 - at, gap)
        earlier = np.maximum(1 - gap - at, 0.0)
        return np.asarray(self.n * (recent - np.expm1(-self.mu * gap) * earlier))

    def density(self, gap: float, at: Floats) -> Floats:
        """Of those: per unit of time at which they are renewed."""
        return self.n * np.where(at > 1 - gap, 1.0, -np.expm1(-self.mu * gap))

    def after_renewal(self, gap: float) -> tuple[Floats, float]:
        """Chances of the next states, and the mean time until then, after a renewal."""
        mu, alive = self.mu, self.alive
        left = self.left(gap, self.times)
        none = np.exp(-alive * left)
        renewed = self.density(gap, self.times) * alive * (1 - alive) * none
        gone = mu * alive * none * (1 + (1 - alive) * left)
        row = self._row(gap, renewed, gone, float(np.exp(-mu)))
        return row, self._mean(1 - (1 - alive) * none)

    def at_once(self, gap: float) -> tuple[Floats, float]:
        """The same after a telling at once: the representative is the next to be renewed."""
        mu, alive, times = self.mu, self.alive, self.times
        everybody = float(self.left(gap, np.array(0.0)))
        later = self.left(gap, times)
        first = self.density(gap, times) * np.exp(later - everybody) * self.weights
        first = first / first.sum()
        # By when the first would be renewed (rows) and when it ends (columns).
        before = times[None, :] < times[:, None]
        covering = np.where(before, later[:, None], later[None, :])
        none = np.exp(-alive[None, :] * covering)
        died = np.where(before, 1 - alive[None, :], (1 - alive)[:, None])
        gone = mu * alive[None, :] * none * (died * covering + before)
        renewed = np.where(before, 0.0, self.density(gap, times)[None, :] * alive * died * none)
        row = self._row(gap, first @ renewed, first @ gone, 0.0)
        row[: len(times)] += first * alive
        # Until the first would be renewed it is enough if it, or another one, is there; from then
        # on it must have gone before.
        lasts = np.where(before, 1 - died * none, died * (1 - none))
        return row, self._mean(first @ lasts)

    def start(self) -> tuple[Floats, float]:
        """The same after the first subscription: alone, renewed at any time within a period."""
        mu, alive = self.mu, self.alive
        row = np.zeros(2 * self.count + 1)
        row[: len(self.times)] = alive * self.weights
        gone = mu * alive * (1 - self.times) * self.weights
        nobody = np.exp(-self.n * (1 - alive))
        row[self.count : self.count + len(self.times)] = gone * (1 - nobody)
        row[-1] = float(gone @ nobody)
        return row, self._mean(alive * (1 - self.times))

    def _row(self, gap: float, renewed: Floats, gone: Floats, full: float) -> Floats:
        others = self.alive * (self.left(gap, np.array(0.0)) - self.left(gap, self.times))
        nobody = np.exp(-(others + self.n * (1 - self.alive)))
        size = len(self.times)
        row = np.zeros(2 * self.count + 1)
        row[:size] = renewed * self.weights
        row[size] = full
        row[self.count : self.count + size] = gone * (1 - nobody) * self.weights
        row[-1] = float((gone * nobody) @ self.weights)
        return row

    def _mean(self, chance_left: Floats) -> float:
        return float(chance_left @ self.weights)

    def rate(self) -> float:
        """Tellings that are renewals, per unit of time in which there is an entry."""
        steps = [self.after_renewal(float(gap)) for gap in self.gaps]
        steps += [self.at_once(float(gap)) for gap in self.gaps]
        steps.append(self.start())
        moves = np.array([row / row.sum() for row, _ in steps])
        seconds = np.array([mean for _, mean in steps])
        size = len(moves)
        equations = np.vstack([(moves.T - np.eye(size))[:-1], np.ones(size)])
        share = np.linalg.solve(equations, np.eye(size)[-1])
        return float((1 - share[-1]) / (share @ seconds))
