"""Renewals of leases, counted: against brokers that renew, and against the formula."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.traffic.test_renewing import leased
from sapwood.analysis.traffic import (
    HIERARCHICAL,
    PEER_TO_PEER,
    complete_tree,
    rooted_tree,
    uniform_rates,
)
from sapwood.analysis.traffic.rates import Rates, rates
from sapwood.analysis.traffic.renewing import renewal_rate, renewals
from sapwood.errors import ParameterError
from sapwood.sim.flow import traffic, with_digests
from sim.flow.triangle import mean_of

pytestmark = pytest.mark.timeout(600)
"""The first run compiles."""

PERIOD = 600.0
TOLERANCE = 0.03
"""What the formula claims: it leaves out who was there before the last telling."""

CASES = [(1.0, HIERARCHICAL), (0.5, PEER_TO_PEER)]


def thirteen(live: float) -> Rates:
    """Three levels, clients at the leaves, three classes; they live for a period in the mean."""
    return uniform_rates(
        complete_tree(3, 3), subscriptions=live * 27, lifetime=PERIOD, publication_rate=0.001,
        classes=3,
    )  # fmt: skip


def counted(found: Rates, variant: str, seed: int) -> float:
    """Renewals by period in the whole network."""
    flow = traffic(
        found, "identity", variant, seconds=200 * PERIOD, seed=seed, refresh_period=PERIOD
    )
    return flow.traffic.leasing * PERIOD


@pytest.mark.slow
@pytest.mark.parametrize(("live", "variant"), CASES)
def test_the_formula_is_met_within_what_it_claims(live: float, variant: str) -> None:
    found = thirteen(live)
    formula = float(renewals(found, PERIOD, variant).sum()) * PERIOD
    flow = mean_of([counted(found, variant, seed) for seed in range(12)], 0.999)
    assert abs(flow.value - formula) <= TOLERANCE * formula + flow.half_width


@pytest.mark.slow
@pytest.mark.parametrize(("live", "variant"), CASES)
def test_brokers_renew_as_often(live: float, variant: str) -> None:
    """The real ones, message by message; firsts and lasts are counted apart."""
    found = thirteen(live)
    exact = mean_of([sum(leased(live, variant, seed).values()) for seed in range(4)], 0.999)
    flow = mean_of([counted(found, variant, seed) for seed in range(12)], 0.999)
    assert flow.agrees(exact), f"flow {flow}, exact {exact}"
    assert exact.half_width < 0.25 * exact.value


@pytest.mark.slow
def test_what_stays_for_ever_is_renewed_once_a_period_over_every_link() -> None:
    """Eq. 3.26: however many stand behind an entry, one of them renews it."""
    tree = rooted_tree([("A", "B"), ("B", "C")], "A")
    staying = rates(
        tree,
        arrival_rate=[[0.0], [0.0], [5e-8]],
        departure_rate=1e-8,
        publication_rate=0.0,
        copies=50,
    )
    flow = traffic(staying, "identity", HIERARCHICAL, seconds=6000.0, seed=3, refresh_period=60.0)
    renewed = flow.traffic.leasing_by_edge * 60
    assert renewed[0] == pytest.approx([50, 50], abs=3)
    assert renewed[0, 0] == renewed[0, 1]
    assert renewed[1].tolist() == [0, 0]


@pytest.mark.slow
def test_renewals_of_many_clients_of_one_broker() -> None:
    pair = rates(
        rooted_tree([("A", "B")], "A"),
        arrival_rate=[[0.0], [0.3]],
        departure_rate=0.1,
        publication_rate=0.0,
    )
    flow = traffic(pair, "identity", HIERARCHICAL, seconds=200_000.0, seed=1, refresh_period=1.0)
    present = -np.expm1(-3.0)
    assert flow.traffic.leasing == pytest.approx(
        present * renewal_rate(3.0, 0.1, 1.0), rel=TOLERANCE
    )


def test_digests_are_one_an_edge_and_period() -> None:
    flow = traffic(thirteen(1.0), "identity", seconds=10.0, seed=1)
    assert with_digests(flow, 60.0).traffic.leasing == pytest.approx(24 / 60)


def test_leases_of_other_algorithms_are_refused() -> None:
    with pytest.raises(ParameterError, match="leases are counted for identity only"):
        traffic(thirteen(1.0), "covering", seconds=10.0, seed=1, refresh_period=60.0)


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf")])
def test_a_period_that_is_none_is_refused(period: float) -> None:
    with pytest.raises(ParameterError, match="refresh_period"):
        traffic(thirteen(1.0), "identity", seconds=10.0, seed=1, refresh_period=period)
