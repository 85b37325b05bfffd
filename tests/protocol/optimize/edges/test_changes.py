"""Changes of the tree where edges flood: edges are switched first, and then the change is made."""

from __future__ import annotations

from random import Random

from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import peer_to_peer
from sapwood.sim.edge_routing.validity import invalid_edges
from sapwood.sim.network import Network

AUTO = EdgeRoutingSettings(choice="auto", period_seconds=1000.0)
LINKS = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B2", "B5")]


def network() -> Network:
    """A client at each broker that wants everything; edges towards B4 flood."""
    net = Network(Random(1), {"edges": AUTO, "routing": "identity", "settle_interval": 0.0})
    net.build_tree(LINKS, lambda random: 0.01, peer_to_peer(LINKS, "identity"))
    for name in net.brokers:
        net.connect(f"c{name}", name)
        net.subscribe(f"c{name}", "s", "x > 0", settle=False)
    net.kernel.run(1.0)
    for here, there in (("B1", "B2"), ("B5", "B2"), ("B2", "B3"), ("B3", "B4")):
        for effect in net.brokers[here].edges.flood(there):
            net._effects[type(effect)](net._stations[here], effect)
        net.kernel.run(net.kernel.now + 0.1)
    return net


def test_a_ring_with_flooding_edges_is_refused_switched_and_changed() -> None:
    net = network()
    got: dict[str, list[str]] = {name: [] for name in net.clients}
    net.deliveries = lambda session, data: got[session].append(str(data))
    wrong: list[str] = []
    net.watch = lambda name: wrong.extend(invalid_edges(net.brokers))
    assert net.brokers["B2"].neighbours["B3"].is_flooded
    request = net.exchange("B1", ("B2", "B3"), ("B1", "B4"))
    for at in range(200):
        net.publish("cB1", {"x": 1})
        net.publish("cB4", {"x": 1})
        net.kernel.run(2.0 + at / 20)
    net.kernel.run(30.0)
    ended = net.changes["B1", request]
    assert ended.outcome == "completed", ended
    assert net.brokers["B1"].neighbours.is_in_tree("B4")
    assert wrong == []
    assert {session: len(got[session]) for session in got} == dict.fromkeys(
        ("cB1", "cB2", "cB3", "cB4", "cB5"), 400
    )
    assert net.problems() == []
