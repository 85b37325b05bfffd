"""Connections that break in the middle of a change: streams go on, and so does the change."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.oracle import Oracle, Tree

LINKS = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B1", "B4")]


def loaded() -> FaithfulNetwork:
    """Four brokers in a line, each with a client that wants everything."""
    network = FaithfulNetwork(Random(7), delay=(0.01, 0.05))
    for number in range(1, 5):
        network.add_broker(f"B{number}", (f"B{number - 1}",) if number > 1 else ())
    assert network.driver.run_until(
        lambda: all(network.is_joined(*link) for link in LINKS[:3]), 60.0
    )
    for number in range(1, 5):
        network.connect(f"C{number}.1", f"B{number}")
        network.subscribe(f"C{number}.1", "all", "n >= 0")
    network.driver.run(5.0)
    return network


def publish_for(network: FaithfulNetwork, seconds: float) -> None:
    start = network.kernel.now
    for step in range(int(seconds * 20)):
        for number in range(1, 5):
            at = start + step / 20
            network.kernel.at(at, network.publish, f"C{number}.1", {"n": step})


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS, ids="-".join)
@pytest.mark.parametrize("moment", ["locked", "gray"])
def test_an_outage_in_the_middle_loses_nothing(link: tuple[str, str], moment: str) -> None:
    network = loaded()
    publish_for(network, 8.0)
    request = network.exchange("B1", ("B2", "B3"), ("B1", "B4"))

    def has_come() -> bool:
        ring = network.nodes["B1"].broker.turning.ring
        return ring is not None and (moment == "locked" or ring.is_gray)

    assert network.driver.run_until(has_come, 10.0, step=0.002)
    network.cut(*link)
    assert network.driver.run_until(lambda: ("B1", request) in network.changes, 60.0)
    network.driver.run(20.0)
    oracle = Oracle(network.clients, Tree((), 0.0))
    assert list(oracle.order()) == []
    assert [str(pair) for pair in oracle.lost()] == []
    assert network.problems() == []
    assert network.problems_at_rest() == []
    tree = [one for one in LINKS if network.is_joined(*one)]
    is_done = network.changes["B1", request].outcome == "completed"
    assert tree == [one for one in LINKS if one != (("B2", "B3") if is_done else ("B1", "B4"))]


@pytest.mark.slow
def test_a_flush_that_was_sent_into_a_broken_connection_comes_when_it_is_back() -> None:
    """One end has completed the change then, and the other has not: who is whose parent differs."""
    network = loaded()
    publish_for(network, 8.0)
    request = network.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    below, above = network.nodes["B3"].broker, network.nodes["B4"].broker
    assert network.driver.run_until(lambda: below.turning.ring is not None, 5.0, step=0.001)
    assert network.driver.run_until(lambda: below.turning.ring is None, 5.0, step=0.001)
    assert above.turning.ring is not None
    network.cut("B3", "B4")
    assert network.driver.run_until(lambda: above.tree.kept != {}, 5.0, step=0.01)
    assert (below.tree.parent, above.tree.parent) == ("B4", "B3")
    assert network.driver.run_until(lambda: ("B1", request) in network.changes, 60.0)
    assert network.changes["B1", request].outcome == "completed"
    network.driver.run(20.0)
    oracle = Oracle(network.clients, Tree((), 0.0))
    assert list(oracle.order()) == []
    assert [str(pair) for pair in oracle.lost()] == []
    assert network.problems_at_rest() == []
