"""Renewals by representatives: against a plain simulation, and against brokers with leases."""

from __future__ import annotations

import heapq
from random import Random

import msgspec
import numpy as np
import pytest

from analysis.traffic.simulated import compared
from analysis.traffic.strategies import SEVEN, random_rates
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, predict
from sapwood.analysis.traffic.rates import rates, uniform_rates
from sapwood.analysis.traffic.renewing import (
    predict_renewed,
    renewal_rate,
    renewals,
    renewals_of_one,
)
from sapwood.analysis.traffic.tree import complete_tree, rooted_tree
from sapwood.errors import ParameterError
from sapwood.sim.run import Simulation
from sapwood.sim.scenario.scenario import Scenario

TOLERANCE = 0.03
"""What the module says of lifetimes that are not shorter than the refresh period."""


class Handover:
    """One broker with clients of its own and one neighbour, by the rule and nothing else."""

    def __init__(self, live: float, departure_rate: float, random: Random) -> None:
        self.random, self.departure_rate = random, departure_rate
        self.arrival_rate = live * departure_rate
        self.renewed_at: dict[int, float] = {}
        self.representative: int | None = None
        self.told_at = self.there_since = self.there = 0.0
        self.renewals = self.came = 0
        self.events: list[tuple[float, int, str, int]] = []
        self.planned = 0

    def run(self, seconds: float) -> float:
        """Renewals per second while there is an entry; the refresh period is a second."""
        self._plan(self.random.expovariate(self.arrival_rate), "comes", 0)
        now = 0.0
        while now < seconds:
            now, _, kind, number = heapq.heappop(self.events)
            getattr(self, kind)(now, number)
        if self.representative is not None:
            self.there += now - self.there_since
        return self.renewals / self.there

    def _plan(self, at: float, kind: str, number: int) -> None:
        self.planned += 1
        heapq.heappush(self.events, (at, self.planned, kind, number))

    def comes(self, now: float, _: int) -> None:
        self.came += 1
        self.renewed_at[self.came] = now
        self._plan(now + self.random.expovariate(self.departure_rate), "goes", self.came)
        self._plan(now + self.random.random(), "renews", self.came)
        self._plan(now + self.random.expovariate(self.arrival_rate), "comes", 0)
        if self.representative is None:
            self.representative, self.told_at, self.there_since = self.came, now, now

    def renews(self, now: float, number: int) -> None:
        if number not in self.renewed_at:
            return
        self.renewed_at[number] = now
        self._plan(now + 1.0, "renews", number)
        if number == self.representative:
            self.renewals += 1
            self.told_at = now

    def goes(self, now: float, number: int) -> None:
        del self.renewed_at[number]
        if number != self.representative:
            return
        if not self.renewed_at:
            self.representative = None
            self.there += now - self.there_since
            return
        order = sorted((at, other) for other, at in self.renewed_at.items())
        in_time = [other for at, other in order if at <= self.told_at]
        self.representative = in_time[-1] if in_time else order[0][1]
        if not in_time:
            self.renewals += 1
            self.told_at = now


@pytest.mark.slow
@pytest.mark.parametrize("departure_rate", [0.1, 1.0])
@pytest.mark.parametrize("live", [0.3, 1.0, 3.0, 10.0])
def test_clients_of_one_broker(live: float, departure_rate: float) -> None:
    seconds = 6_000 if live > 1 else 24_000
    found = Handover(live, departure_rate, Random(1)).run(seconds)
    assert renewal_rate(live, departure_rate, 1.0) == pytest.approx(found, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("live", [0.3, 1.0])
def test_few_clients_with_short_lives(live: float) -> None:
    found = Handover(live, 4.0, Random(1)).run(12_000)
    assert renewal_rate(live, 4.0, 1.0) == pytest.approx(found, rel=TOLERANCE)


@pytest.mark.slow
def test_many_clients_with_short_lives_are_overestimated() -> None:
    """As the module says; should that change, so should what it says."""
    found = Handover(10.0, 4.0, Random(1)).run(1_000)
    assert 1.2 * found < renewal_rate(10.0, 4.0, 1.0) < 1.5 * found


def leased(
    live: float, variant: str, seed: int, algorithm: str = "identity"
) -> dict[tuple[str, str], float]:
    """Renewals per refresh period against each edge of a leased network, lifetime as the period."""
    classes, period, leaves, periods = 3, 600.0, 9, 44
    subscriptions = live * leaves * classes
    scenario = msgspec.convert(
        {
            "name": "leases", "duration": period * periods, "settle_requests": False,
            "clients_at": "leaves", "topology": {"shape": "tree", "arity": 3, "brokers": 13},
            "routing": {"algorithm": algorithm, "variant": variant},
            "delay": {"type": "constant", "delay": 0.0001},
            "workload": {
                "type": "classes", "classes": classes, "publication_rate": 0.0001,
                "arrival_rate": subscriptions / period, "departure_rate": 1 / period,
                "initial_subscriptions": round(subscriptions),
            },
            "stabilization": {"scheme": f"lease-{algorithm}", "refresh_period": period},
        },
        Scenario,
    )  # fmt: skip
    simulation = Simulation(scenario, seed, check=False, digest=False)
    network = simulation.network
    before: dict[tuple[str, str], int] = {}

    def told(edge: tuple[str, str]) -> int:
        """Subscriptions that are no first ones: as many begin as end."""
        control = network.directions[edge[1], edge[0]].control
        return control["Subscribe"] - control["Unsubscribe"]

    network.kernel.at(4 * period, lambda: before.update({e: told(e) for e in network.directions}))
    simulation.run()
    return {edge: (told(edge) - before[edge]) / (periods - 4) for edge in network.directions}


@pytest.mark.slow
@pytest.mark.parametrize(("live", "variant"), [(1.0, HIERARCHICAL), (0.5, PEER_TO_PEER)])
def test_brokers_with_leases(live: float, variant: str) -> None:
    """Level by level: at the leaves, further up, and the edges towards the root."""
    tree = complete_tree(3, 3)
    found = uniform_rates(
        tree, subscriptions=live * 27, lifetime=600, publication_rate=1, classes=3
    )
    wanted = renewals(found, 600.0, variant) * 600
    runs = [leased(live, variant, seed) for seed in range(4)]
    for way in (DOWN, UP) if variant == PEER_TO_PEER else (DOWN,):
        for first, last in ((1, 4), (4, 13)):
            links = range(first, last)
            ends = [(tree.brokers[tree.parents[link]], tree.brokers[link]) for link in links]
            edges = [edge if way == DOWN else (edge[1], edge[0]) for edge in ends]
            totals = [sum(run[edge] for edge in edges) for run in runs]
            formula = float(wanted[way, first - 1 : last - 1].sum())
            error = float(np.std(totals, ddof=1)) / 2
            assert abs(np.mean(totals) - formula) < TOLERANCE * formula + 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("variant", [HIERARCHICAL, PEER_TO_PEER])
def test_simple_routing_renews_every_subscription(variant: str) -> None:
    """No rule is needed, so nothing is left out."""
    tree = complete_tree(3, 3)
    found = uniform_rates(tree, subscriptions=13.5, lifetime=600, publication_rate=1, classes=3)
    formula = predict(found, "simple", variant, refresh_period=600).leasing * 600
    totals = [sum(leased(0.5, variant, seed, "simple").values()) for seed in range(6)]
    assert compared("renewals", formula, totals, 0.999).holds


def test_how_often_a_client_renews() -> None:
    """10 or 1 times in 600 s (thesis 3.3.3), or 9.5 and 0.58 where the first is a period late."""
    assert [renewals_of_one(1 / 600, period) for period in (60, 600)] == pytest.approx([10, 1])
    late = [renewals_of_one(1 / 600, period, at_random=False) for period in (60, 600)]
    assert [round(one, 2) for one in late] == [9.51, 0.58]


def test_one_subscription_that_stays_is_renewed_once_in_a_period() -> None:
    assert renewal_rate(5.0, 0.0, 60.0) == pytest.approx(1 / 60)
    assert renewal_rate(1e-12, 1.0, 60.0) == pytest.approx(1 / 60)
    assert renewal_rate(0.001, 0.01, 60.0) == pytest.approx(1 / 60, rel=1e-3)


def test_the_unit_of_time_does_not_matter() -> None:
    assert renewal_rate(2.0, 1 / 60, 30.0) == pytest.approx(
        10 * renewal_rate(2.0, 1 / 6, 3.0) / 100
    )


@pytest.mark.parametrize("variant", [HIERARCHICAL, PEER_TO_PEER])
def test_the_rule_costs_more_than_the_formula_of_the_thesis(variant: str) -> None:
    found = random_rates(SEVEN, 3, live=1.0)
    plain = predict(found, "identity", variant, refresh_period=5.0)
    ruled = predict_renewed(found, 5.0, variant)
    assert (ruled.leasing_by_edge >= plain.leasing_by_edge * (1 - 1e-3)).all()
    assert plain.leasing < ruled.leasing < 2.5 * plain.leasing
    assert (ruled.changes, ruled.notifications) == (plain.changes, plain.notifications)


def test_nobody_renews_nothing() -> None:
    pair = rooted_tree([("A", "B")])
    found = rates(pair, arrival_rate=[[1.0], [0.0]], departure_rate=1, publication_rate=0)
    assert renewals(found, 10.0)[DOWN, 0] == 0.0
    assert renewals(found, 10.0)[UP, 0] > 0.0
    assert renewals(found, 10.0, HIERARCHICAL)[UP, 0] == 0.0


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="refresh_period: is 0"):
        renewal_rate(1.0, 1.0, 0.0)
    with pytest.raises(ParameterError, match="live: is -1"):
        renewal_rate(-1.0, 1.0, 1.0)
