"""What the algorithms cost beside each other, on the workload made to show it.

Only on arrivals that overlap is control traffic in this order, too: a cover that comes late has to
replace what it covers. That identity-based routing never sends more than simple routing, and the
order of the tables up to covering, the swarm shows on every seed. Tables under merging are the
smallest here and wherever all filters are about one attribute, but not always, as shown below.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.network import Network
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


def entries_of(algorithm: str) -> list[str]:
    """What the far end of a chain of three holds when all is quiet."""
    links = [("A", "B"), ("B", "C")]
    network = Network(Random(1))
    network.build_tree(links, lambda random: 0.01, peer_to_peer(links, algorithm))
    for broker, filters in (
        ("A", ("n = 1 and m between 3 and 4", "n = 2 and m between 3 and 4")),
        ("B", ("n = 1 and m between 0 and 5", "n = 2 and m between 3 and 9")),
    ):
        network.connect(f"{broker}.1", broker)
        for name, filter in enumerate(filters):
            network.subscribe(f"{broker}.1", str(name), filter, settle=False)
    network.kernel.run()
    return sorted(str(entry.filter) for entry in network.brokers["C"].subscriptions)


def test_a_merger_may_cost_more_further_on() -> None:
    """B's filters cover each of A's, but neither covers the merger of A's, nor do they merge."""
    wide = ["m between 0 and 5 and n = 1", "m between 3 and 9 and n = 2"]
    assert entries_of("covering") == wide
    assert entries_of("merging") == sorted([*wide, "m between 3 and 4 and n in (1, 2)"])
