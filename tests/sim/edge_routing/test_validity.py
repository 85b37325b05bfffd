"""The rule for edges is looked at by what brokers really do."""

from __future__ import annotations

from random import Random

from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.network import Network


def test_flooding_everywhere_is_valid() -> None:
    net = Network(Random(1), {"routing": "flooding"})
    links = [("B1", "B2"), ("B2", "B3")]
    net.build_tree(links, lambda random: 0.0, peer_to_peer(links, "flooding"))
    assert list(invalid_edges(net.brokers)) == []
