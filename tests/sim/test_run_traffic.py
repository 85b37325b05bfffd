"""What the algorithms cost beside each other, on the workload made to show it.

Only on arrivals that overlap is control traffic in this order, too: a cover that comes late has to
replace what it covers. That identity-based routing never sends more than simple routing, and the
order of the tables, the swarm shows on every seed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sapwood.sim.run import Result, Simulation
from sapwood.sim.scenario import Scenario, load

NARROWING = Path(__file__).parents[2] / "scenarios" / "narrowing.toml"
ORDER = ("merging", "covering", "identity", "simple")


def run(scenario: Scenario, algorithm: str, variant: str) -> Result:
    routing = msgspec.structs.replace(scenario.routing, algorithm=algorithm, variant=variant)
    return Simulation(msgspec.structs.replace(scenario, routing=routing)).run()


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["peer-to-peer", "hierarchical"])
def test_the_order_of_the_algorithms(variant: str) -> None:
    scenario = load(NARROWING)
    results = [run(scenario, algorithm, variant) for algorithm in ORDER]
    flooding = run(scenario, "flooding", variant)
    control = [result.control_hops for result in results]
    assert control == sorted(control)
    assert len(set(control)) == len(ORDER)
    entries = [result.table_entries for result in results]
    assert entries == sorted(entries)
    assert len(set(entries)) == len(ORDER)
    assert flooding.control_hops == 0
    for result in results:
        assert result.violations == 0
        assert result.notification_hops <= flooding.notification_hops
