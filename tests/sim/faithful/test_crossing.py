"""Brokers that dial each other at the same time: one connection stays, and the stream with it."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.stabilize.settings import TreeSettings
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import QUICK_LINK, Publisher, sequences

pytestmark = pytest.mark.slow

BEACONS = TreeSettings()
NO_BEACONS = TreeSettings(protocol="off")


def dialling_each_other(
    seed: int, delay: tuple[float, float], tree: TreeSettings = BEACONS
) -> FaithfulNetwork:
    config = {"link": QUICK_LINK, "tree": tree}
    network = FaithfulNetwork(Random(seed), config=config, delay=delay)
    network.add_broker("B1", ("B2",))
    network.add_broker("B2", ("B1",))
    return network


def cross_at_first(seeds: range, delay: tuple[float, float], tree: TreeSettings) -> None:
    """The first connections: neither side dials again."""
    for seed in seeds:
        network = dialling_each_other(seed, delay, tree)
        network.driver.run(5)
        assert network.is_linked("B1", "B2")
        assert network.driver.connections <= 2, seed
        assert len(network.nodes["B1"].lines) == len(network.nodes["B2"].lines) == 1
        assert network.count("resumed") <= 1


def cross_again(seeds: range, delay: tuple[float, float]) -> None:
    """Under load, and after the connection was cut: nothing is lost, nothing begins anew."""
    for seed in seeds:
        network = dialling_each_other(seed, delay)
        left, _ = network.connect("a.1", "B1"), network.connect("b.1", "B2")
        network.subscribe("a.1", "all", "n >= 0")
        network.driver.run(5)
        load = Publisher(network, "b.1", rate=50)
        for _ in range(5):
            network.driver.run(1)
            network.cut("B1", "B2")
        load.stop()
        assert network.driver.run_until(network.is_idle, 20)
        assert sequences(left, "b.1") == list(range(1, load.count + 1)), seed
        assert left.reports == []


@pytest.mark.parametrize("tree", [BEACONS, NO_BEACONS], ids=["beacons", "no beacons"])
@pytest.mark.parametrize("delay", [(0.0, 0.0), (0.02, 0.02), (0.0, 0.3)])
def test_one_of_two_connections_that_cross_stays(
    delay: tuple[float, float], tree: TreeSettings
) -> None:
    cross_at_first(range(60), delay, tree)


@pytest.mark.parametrize("delay", [(0.02, 0.02), (0.0, 0.3)])
def test_a_stream_survives_connections_that_cross(delay: tuple[float, float]) -> None:
    cross_again(range(40), delay)
