"""Schemes of living brokers in scenarios: right again within their bounds, whatever the fault."""

from __future__ import annotations

import pytest

from sapwood.errors import ScenarioError
from sapwood.routing.algorithms import ALGORITHMS
from sapwood.sim.scenario.stabilization import COMPARED
from sim.test_published import SPOILT, assert_recovers, run, scenario


@pytest.mark.slow
@pytest.mark.parametrize("fault", SPOILT)
@pytest.mark.parametrize("scheme", COMPARED)
def test_convergence_within_the_bound(scheme: str, fault: str) -> None:
    assert_recovers(scenario(scheme, 1, fault))


@pytest.mark.slow
@pytest.mark.parametrize("fault", SPOILT)
@pytest.mark.parametrize("scheme", COMPARED)
def test_convergence_within_the_bound_many_seeds(scheme: str, fault: str) -> None:
    algorithms = list(ALGORITHMS)
    for seed in range(100, 110):
        algorithm = {"algorithm": algorithms[seed % len(algorithms)]}
        assert_recovers(scenario(scheme, seed, fault, routing=algorithm))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", COMPARED)
def test_convergence_in_hierarchical_routing_and_with_advertisements(scheme: str) -> None:
    assert_recovers(scenario(scheme, 3, "tables", routing={"variant": "hierarchical"}))
    advertised = {"routing": {"advertisements": "required"}, "workload": {"advertise": True}}
    assert_recovers(scenario(scheme, 5, "tables", **advertised))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", COMPARED)
def test_without_a_fault_nothing_is_mended(scheme: str) -> None:
    result = run(scenario(scheme, 2))
    assert (result.violations, result.faults) == (0, 0)


@pytest.mark.slow
def test_bounds_differ_as_their_formulas_do() -> None:
    """With d links, δ = 0.4 s, τ = 0.5 s: ρ + τ + (d + 4)δ for digests, two δ less for batches."""
    found = {scheme: run(scenario(scheme, 1, "tables")).bound for scheme in COMPARED}
    digest, batch, leased = (found[scheme] for scheme in COMPARED)
    assert digest is not None
    assert batch is not None
    assert leased is not None
    assert digest - batch == pytest.approx(2 * 0.4)
    assert batch > 30.5
    assert leased > 60.0


def test_off_does_not_recover() -> None:
    result = run(scenario("off", 1, "tables"))
    assert (result.recovered_after, result.bound) == (None, None)


@pytest.mark.parametrize(
    "given", [{"lease_period": 70.0}, {"unsubscriptions": "expire"}, {"renewal_rate": 1.0}]
)
def test_what_belongs_to_leases_of_clients_is_refused(given: dict[str, object]) -> None:
    (key,) = given
    with pytest.raises(ScenarioError, match=rf"stabilization.{key} goes with the schemes of"):
        scenario("digest", 1, stabilization=given)
