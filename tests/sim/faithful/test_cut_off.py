"""A site that is cut off for minutes keeps its place, and resumes without loss (virtual time)."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.routing.algorithms import HIERARCHICAL, PEER_TO_PEER
from sapwood.sim.faithful.network import FaithfulNetwork

MINUTES = 10
SENT = 60 * MINUTES


def site_and_hub(variant: str) -> FaithfulNetwork:
    """A hub, another site, and a site with one below it; a client at either end."""
    network = FaithfulNetwork(Random(3), config={"routing_variant": variant})
    network.add_broker("H")
    network.add_broker("S1", ("H",), is_hidden=True)
    network.add_broker("S2", ("H",))
    network.add_broker("S3", ("S2",), is_hidden=True)
    for route in (("H", "S1"), ("H", "S2"), ("S2", "S3")):
        assert network.driver.run_until(lambda route=route: network.is_joined(*route), 60.0)  # type: ignore[misc]
    for client, broker in (("near.1", "S1"), ("far.1", "S3")):
        network.connect(client, broker)
        network.subscribe(client, "all", "n >= 0")
    network.driver.run(5.0)
    return network


@pytest.mark.slow
@pytest.mark.parametrize("variant", [PEER_TO_PEER, HIERARCHICAL])
def test_a_site_cut_off_for_minutes_keeps_its_place_and_resumes_without_loss(variant: str) -> None:
    network = site_and_hub(variant)
    before = {name: node.broker.tree.root for name, node in network.nodes.items()}
    assert before == dict.fromkeys(before, "H")
    network.refuse("H", "S2")
    network.cut("H", "S2")
    for number in range(SENT):
        for client in ("near.1", "far.1"):
            network.publish(client, {"n": number})
        network.driver.run(1.0)
    assert network.nodes["S2"].broker.tree.root == "S2", "it goes on by itself"
    for here, there in (("H", "S2"), ("S2", "H")):
        assert network.nodes[here].broker.neighbours.away() == [there], "its place is kept"
    assert not network.is_idle()
    network.refuse("H", "S2", is_refused=False)
    assert network.driver.run_until(lambda: network.is_joined("H", "S2"), 60.0)
    assert network.driver.run_until(network.is_idle, 60.0)
    assert {node.broker.tree.root for node in network.nodes.values()} == {"H"}
    assert network.nodes["S2"].broker.tree.parent == "H"
    for client in ("near.1", "far.1"):
        came = [(one.publisher, one.sequence) for one in network.clients[client].deliveries]
        for publisher in ("near.1", "far.1"):
            wanted = [(publisher, number) for number in range(1, SENT + 1)]
            assert [one for one in came if one[0] == publisher] == wanted, "once and in order"
        assert network.clients[client].reports == [], "nobody is told of a loss"
    assert network.problems() == []
