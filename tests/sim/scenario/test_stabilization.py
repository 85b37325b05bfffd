"""The section on schemes: what is refused, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import ScenarioError
from sapwood.protocol.stabilize.published.bounds import Delays
from sapwood.protocol.stabilize.published.schemes import SCHEMES
from sapwood.sim.scenario import Scenario, from_mapping

AROUND = Delays(4, 0.001, 0.251)


def scenario(**stabilization: Any) -> Scenario:
    return from_mapping(
        {
            "topology": {"shape": "chain", "brokers": 5},
            "delay": {"type": "uniform"},
            "settle": 3.0,
            "stabilization": stabilization,
            "workload": {
                "type": "classes",
                "arrival_rate": 1.0,
                "departure_rate": 0.1,
                "publication_rate": 1.0,
            },
        }
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_can_be_named_and_has_a_lease_that_is_long_enough(scheme: str) -> None:
    section = scenario(scheme=scheme).stabilization
    assert section.lease(AROUND) > SCHEMES[scheme].least_lease(60.0, AROUND)
    bound = section.bound(AROUND, 1)
    assert bound is not None
    assert bound > 120.0
    assert section.bound(AROUND, 2) == 2 * bound


def test_the_scheme_says_which_algorithm_edges_use_on_both_layers() -> None:
    routing = scenario(scheme="lease-merging-2").edge_routing
    assert (routing.algorithm, routing.advertisement_algorithm) == ("merging", "merging")
    assert scenario(scheme="rebuild").edge_routing.algorithm == "covering"
    assert scenario().edge_routing is scenario().routing or not scenario().is_stabilized


def test_without_a_scheme_there_is_no_bound() -> None:
    section = scenario().stabilization
    assert (section.bound(AROUND, 1), section.lease(AROUND), section.published) == (None, 0.0, None)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scheme": "lease-covering"}, "did you mean"),
        ({"scheme": "lease-simple", "refresh_period": 0.0}, "above 0"),
        ({"scheme": "lease-simple", "lease_period": -1.0}, "above 0"),
        ({"scheme": "lease-simple", "lease_period": 61.0}, "it must be more than 61"),
        ({"scheme": "rebuild", "lease_period": 62.0}, "it must be more than 62.008"),
        ({"scheme": "lease-flooding", "lease_period": 59.9}, "it must be more than 60"),
        ({"scheme": "lease-simple", "renewal_rate": -1.0}, "0 or more"),
        ({"scheme": "lease-simple", "refresh_period_min": 0.0}, "above 0"),
        (
            {
                "scheme": "rebuild",
                "periods": [{"brokers": [], "refresh_period": 1, "lease_period": 2}],
            },
            "goes with leases only",
        ),
        (
            {
                "scheme": "lease-simple",
                "periods": [{"brokers": ["B1"], "refresh_period": 5, "lease_period": 5.5}],
            },
            "it must be more than 6",
        ),
        (
            {
                "scheme": "lease-simple",
                "periods": [{"brokers": ["B9"], "refresh_period": 5, "lease_period": 9}],
            },
            "names 'B9'",
        ),
        ({"scheme": "lease-simple", "unsubscriptions": "never"}, "unsubscriptions"),
        ({"lease": 5}, "is no key here"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match="stabilization") as caught:
        scenario(**values)
    assert said in str(caught.value)


def test_with_flooding_a_lease_may_be_as_long_as_the_refresh_period() -> None:
    assert scenario(scheme="lease-flooding", lease_period=60.0).stabilization.lease(AROUND) == 60.0


def test_hierarchical_routing_counts_the_way_to_the_root_only() -> None:
    described = scenario(scheme="lease-identity")
    topology = described.topology.build(None)  # type: ignore[arg-type]
    assert described.control_delays(topology, described.delay).diameter == 4  # type: ignore[arg-type]
