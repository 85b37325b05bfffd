"""Arbitrary values in what brokers choose by."""

from __future__ import annotations

from random import Random

from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.sim.faithful.spoilt_choices import ChoiceSpoiler


def test_counts_costs_and_decisions_get_other_values() -> None:
    config = NodeConfig(id="B1", optimization=OptimizationSettings(mode="on"))
    node = Node(config, Random(1), lambda: "secret")
    before = node.broker.swapping.state(), node.broker.surroundings.state()
    spoiler = ChoiceSpoiler(Random(2), ["B1", "B2", "B3"])
    for _ in range(5):
        spoiler.spoil(node, 100.0)
    swapping = node.broker.swapping
    assert (swapping.state(), node.broker.surroundings.state()) != before
    assert swapping.promise is not None
    assert swapping.traffic.buckets[-1].sets
    assert node.broker.surroundings.heard
    assert node.broker.edge_choice.counted_at != float("-inf")
