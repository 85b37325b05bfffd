"""An idle network with default settings sends at most 60 bytes a second, link and direction."""

from __future__ import annotations

from random import Random

import pytest

from expecting import expect_none
from marking import few
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import client

BYTES_PER_SECOND_MAX = 60.0
SECONDS = 300.0
"""Ten comparisons of tables, an audit, a hundred beacons."""

TOPOLOGIES: dict[str, dict[str, tuple[str, ...]]] = {
    "pair": {"B1": (), "B2": ("B1",)},
    "chain": {"B1": (), **{f"B{n}": (f"B{n - 1}",) for n in range(2, 8)}},
    "ring": {"B1": (), "B2": ("B1",), "B3": ("B2",), "B4": ("B3", "B1")},
    "hubs": {"B1": (), "B2": ("B1",), **{f"B{n}": ("B1", "B2") for n in range(3, 7)}},
}


def received(network: FaithfulNetwork) -> dict[tuple[str, str], int]:
    """Bytes that came to a broker from another one, over the connections there are."""
    return {
        (end.other.host.name, name): end.received
        for name in network.nodes
        for end in network.driver.hosts[name].ends.values()
        if end.other.host.name in network.nodes
    }


@pytest.mark.slow
@pytest.mark.parametrize("entries", [0, 200])
@pytest.mark.parametrize("shape", few(TOPOLOGIES))
def test_an_idle_network_sends_little_whatever_its_tables_hold(shape: str, entries: int) -> None:
    joins = TOPOLOGIES[shape]
    network = FaithfulNetwork(Random(1))
    for name, others in joins.items():
        network.add_broker(name, others)
    network.driver.run(30.0)
    if entries:
        client(network, "c.1", "B2", *(f"x = {number}" for number in range(entries)))
    network.driver.run(60.0)
    before = received(network)
    network.driver.run(SECONDS)
    after = received(network)
    assert after.keys() == before.keys(), "no connection was lost"
    assert len(after) == 2 * sum(map(len, joins.values()))
    rates = {edge: (after[edge] - before[edge]) / SECONDS for edge in after}
    assert min(rates.values()) > 0.0
    expect_none(
        f"{there} sends {rate:.1f} bytes a second to {here}"
        for (there, here), rate in rates.items()
        if rate > BYTES_PER_SECOND_MAX
    )
