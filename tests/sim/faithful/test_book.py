"""A site that is restarted while its only hub is gone for good finds the others."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.stabilize.book import BOOK_SECONDS
from sapwood.sim.faithful.network import FaithfulNetwork


def orphaned(down_seconds: float, *, forgets: bool = False) -> FaithfulNetwork:
    """A hub with two sites; the hub is lost while one site, whom nobody can dial, is down."""
    network = FaithfulNetwork(Random(5))
    network.add_broker("H")
    network.add_broker("S1", ("H",), is_hidden=True)
    network.add_broker("S2", ("H",))
    network.connect("C.1", "S2")
    network.subscribe("C.1", "all", "n >= 0")
    assert network.driver.run_until(
        lambda: network.is_joined("H", "S1") and network.is_joined("H", "S2"), 60.0
    )
    network.driver.run(20.0)
    network.crash("S1")
    network.crash("H")
    if forgets:
        network.sites["S1"].book = ()
    network.driver.run(down_seconds)
    network.restart("S1")
    return network


@pytest.mark.parametrize("down_seconds", [1.0, 100.0])
def test_a_site_without_its_hub_finds_the_others_after_a_restart(down_seconds: float) -> None:
    network = orphaned(down_seconds)
    assert network.driver.run_until(lambda: network.is_joined("S1", "S2"), 60.0)
    assert {node.broker.tree.root for node in network.nodes.values()} == {"S1"}
    network.connect("D.1", "S1")
    network.driver.run(1.0)  # tables are told
    network.publish("D.1", {"n": 1})

    assert network.driver.run_until(lambda: len(network.clients["C.1"].deliveries) == 1, 5.0)


def test_without_what_it_had_heard_it_finds_nobody() -> None:
    network = orphaned(1.0, forgets=True)
    assert not network.driver.run_until(lambda: network.is_linked("S1", "S2"), 200.0)


def test_what_was_heard_too_long_ago_is_of_no_use() -> None:
    network = orphaned(1.0)
    network.crash("S1")
    network.sites["S1"].book_at -= BOOK_SECONDS
    network.restart("S1")
    assert not network.driver.run_until(lambda: network.is_linked("S1", "S2"), 200.0)
