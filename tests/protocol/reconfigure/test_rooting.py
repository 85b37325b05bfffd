"""What a change writes for the beacons: parents, paths, and what neighbours would say."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.reconfigure.messages import Lock
from sapwood.protocol.reconfigure.rooting import UNSETTLED
from sapwood.sim.faithful.network import FaithfulNetwork


def tree_of(*parents: str) -> FaithfulNetwork:
    """B1 is the root; each of the others dials the one that is given for it."""
    network = FaithfulNetwork(Random(1), delay=(0.001, 0.002))
    network.add_broker("B1")
    for number, parent in enumerate(parents, 2):
        network.add_broker(f"B{number}", (parent,))
    assert network.driver.run_until(
        lambda: all(node.broker.tree.root == "B1" for node in network.nodes.values()), 30.0
    )
    network.driver.run(10.0)
    return network


def standing(network: FaithfulNetwork) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        name: (node.broker.tree.parent, node.broker.tree.path)
        for name, node in network.nodes.items()
    }


def exchange(network: FaithfulNetwork, old: tuple[str, str], new: tuple[str, str]) -> None:
    request = network.exchange("B1", old, new)
    assert network.driver.run_until(lambda: ("B1", request) in network.changes, 30.0)
    assert network.changes["B1", request].outcome == "completed"


def test_the_side_without_the_root_is_turned_round() -> None:
    network = tree_of("B1", "B2", "B3", "B4")
    exchange(network, ("B2", "B3"), ("B1", "B4"))
    network.driver.run(1.0)
    assert standing(network) == {
        "B1": ("", ()),
        "B2": ("B1", ("B1",)),
        "B3": ("B4", ("B1", "B4")),
        "B4": ("B1", ("B1",)),
        "B5": ("B4", ("B1", "B4")),
    }
    after = standing(network)
    network.driver.run(30.0)
    assert standing(network) == after
    assert network.problems() == []
    assert network.problems_at_rest() == []


@pytest.mark.slow
def test_the_root_may_be_on_either_side() -> None:
    for old, new in ((("B2", "B3"), ("B1", "B3")), (("B1", "B2"), ("B1", "B3"))):
        network = tree_of("B1", "B2")
        exchange(network, old, new)
        network.driver.run(20.0)
        assert network.problems_at_rest() == []
        assert {name: node.broker.tree.root for name, node in network.nodes.items()} == {
            "B1": "B1",
            "B2": "B1",
            "B3": "B1",
        }


def test_a_lock_from_somebody_with_another_way_to_the_root_is_refused() -> None:
    network = tree_of("B1", "B2")
    rooting = network.nodes["B2"].broker.turning._rooting
    path = ("B1", "B2", "B3")
    right = Lock("B1.1/9", path, 2, "B1", ())
    assert rooting.misfit(path, 2, "B1", right) == ""
    for root, way in (("B9", ()), ("B1", ("B3",))):
        wrong = Lock("B1.1/9", path, 2, root, way)
        assert rooting.misfit(path, 2, "B1", wrong) == UNSETTLED


def test_while_locked_the_parent_stands_still_and_beacons_say_why() -> None:
    network = tree_of("B1", "B2")
    broker = network.nodes["B2"].broker
    broker.tree.locked, broker.tree.change = ("B1", "B3"), "B1.1/1"
    assert broker.tree.beacon(0.0).change == "B1.1/1"
    broker.tree.offers.clear()
    broker.tree._wake(network.kernel.now + 1000.0)
    assert broker.tree.parent == "B1"
    broker.tree.locked, broker.tree.change = (), ""
    broker.tree._wake(network.kernel.now + 1000.0)
    assert broker.tree.parent == ""
