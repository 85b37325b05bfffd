"""Links that cost: counted once, whatever becomes of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood.analysis.delivery.cost import Prices
from sapwood.protocol.effects import OpenLink
from sapwood.protocol.events import FramesReceived
from sapwood.protocol.tree import Topology
from sapwood.sim.optimizing.network import CostedNetwork
from sapwood.sim.optimizing.setup import TICK_SECONDS

LINKS = np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 3.0], [4.0, 3.0, 0.0]])
PRICES = Prices(("A", "B", "C"), np.array([1.0, 10.0, 100.0]), LINKS)


def network() -> CostedNetwork:
    """A-B-C, with a publisher at A and a subscriber at C."""
    made = CostedNetwork(PRICES, Random(1), {"routing": "identity"})
    made.build(Topology(("A", "B", "C"), (("A", "B"), ("B", "C"))), "identity")
    made.connect("p.1", "A")
    made.connect("s.1", "C")
    made.subscribe("s.1", "all", "job = 1", settle=False)
    made.kernel.run()
    return made


def publish(made: CostedNetwork, count: int) -> None:
    client = made.clients["p.1"]
    frames = [client.notification({"job": 1}, 0.0, b"", 0.0)[1] for _ in range(count)]
    made.publishes("A", count)
    made.handle("A", FramesReceived("p.1", b"".join(frames)))
    made.kernel.run()


def test_a_notification_costs_its_links_and_its_brokers() -> None:
    made = network()
    publish(made, 3)
    made.settle_up()
    made.settle_up()
    assert made.cost == 3 * (1 + 2 + 10 + 3 + 100)
    assert made.hops_counted == 6


def test_a_link_that_goes_is_paid_and_prices_hold_for_what_was_sent_before() -> None:
    made = network()
    publish(made, 1)
    told: list[float] = []
    made.told_of_prices.append(lambda: told.append(made.link_cost("A", "B")))
    made.change_prices(Prices(PRICES.brokers, 2 * PRICES.processing, 2 * PRICES.links))
    assert (made.cost, told) == (116.0, [4.0])
    publish(made, 1)
    made.cut_link("B", "C")
    made.settle_up()
    assert made.cost == 116.0 + 232.0


def test_a_new_link_takes_as_long_as_it_costs() -> None:
    made = network()
    made._open(made._stations["A"], OpenLink("C", ()))
    assert made.directions["A", "C"].delay(Random(1)) == pytest.approx(4 * TICK_SECONDS)
    assert made.tree_links() == [("A", "B"), ("B", "C")]
