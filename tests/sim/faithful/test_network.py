"""Networks of whole nodes: what a network does to brokers and clients, and the rows it makes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from sapwood.errors import TopologyError
from sapwood.protocol.clients import SUBSCRIBED
from sapwood.protocol.subscribing import Subscribing
from sapwood.sim.faithful.driver import Crash
from sapwood.sim.faithful.host import Clock
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import Publisher, client, line, sequences


def test_brokers_link_and_clients_are_served() -> None:
    network = line(3)
    left, right = client(network, "a.1", "B1", "n > 1"), client(network, "b.1", "B3")
    for number in range(4):
        network.publish("b.1", {"n": number})
    network.driver.run(1)
    assert sequences(left, "b.1") == [3, 4]
    assert right.accepted_at.keys() == {1, 2, 3, 4}
    assert network.is_idle()
    assert network.problems() == network.problems_at_rest() == []


@pytest.mark.slow
def test_what_is_spoilt_heals_by_itself_at_brokers_and_for_clients() -> None:
    network = line(3)
    one = client(network, "a.1", "B1", "n > 1")
    client(network, "b.1", "B3")
    network.driver.run(40)  # some have compared by then
    for name, source in (("B1", "a.1"), ("B2", "B1")):
        broker = network.nodes[name].broker
        subscribing = broker.machines[0]
        assert isinstance(subscribing, Subscribing)
        (entry,) = broker.subscriptions.of(source)
        subscribing.leave(source, entry.id, SUBSCRIBED)
        broker.tell_all()  # and that is lost
    network.publish("b.1", {"n": 5})
    network.driver.run(35)
    assert sequences(one, "b.1") == []
    network.publish("b.1", {"n": 6})
    network.driver.run(1)
    assert sequences(one, "b.1") == [2]
    assert network.problems_at_rest() == []
    assert sum(node.broker.reports()["refresh"]["mismatch"] for node in network.nodes.values()) == 2


def test_names_are_used_once() -> None:
    network = line(1)
    network.connect("a.1", "B1")
    with pytest.raises(TopologyError, match="already"):
        network.add_broker("B1")
    with pytest.raises(TopologyError, match="no broker 'B7'"):
        network.connect("b.1", "B7")
    with pytest.raises(TopologyError, match="that name"):
        network.connect("a.1", "B1")


def test_nobody_dials_a_hidden_broker_but_its_clients() -> None:
    network = FaithfulNetwork(Random(1))
    network.add_broker("B1", ("B2",))
    network.add_broker("B2", is_hidden=True)
    network.driver.run(30)
    assert not network.is_linked("B1", "B2")
    assert {name for name, _ in network.join_failures} == {"B1"}
    network.add_broker("B3")
    site = network.sites["B2"]
    assert network.driver.route("B3", "B2").is_reachable is False
    assert network.driver.route("B2", "B3").is_reachable is True
    assert site.config.addresses == ()
    client(network, "a.1", "B2", "true")


@pytest.mark.parametrize("how", list(Crash))
def test_a_broker_comes_back_with_its_next_session_and_its_data_directory(how: Crash) -> None:
    network = line(3)
    site = network.sites["B2"]
    assert network.driver.run_until(lambda: site.data.neighbours == ("B1", "B3"), 5)
    network.crash("B2", how)
    assert "B2" not in network.nodes
    assert network.is_formed("B1", "B2")
    network.driver.run(1)
    node = network.restart("B2")
    assert (node.config.session, node.config.expected) == (2, ("B1", "B3"))
    assert network.restart("B2") is node
    assert network.driver.run_until(
        lambda: network.is_joined("B1", "B2") and network.is_joined("B2", "B3"), 20
    )


def test_a_broker_at_the_edge_that_stops_leaves_the_tree() -> None:
    network = line(3)
    network.stop("B3")
    assert network.driver.run_until(lambda: "B3" not in network.nodes, 5)
    network.driver.run(1)
    assert not network.is_formed("B2", "B3")
    assert network.is_formed("B1", "B2")


@pytest.mark.slow
def test_a_client_moves_to_another_broker() -> None:
    network = line(2)
    other = client(network, "a.1", "B1", "n >= 0")
    moving = network.connect("b.1", "B2", "B1")
    network.subscribe("b.1", "all", "n >= 0")
    assert network.driver.run_until(lambda: moving.is_connected, 5)
    load = Publisher(network, "b.1", rate=100)
    network.driver.run(1)
    network.crash("B2", Crash.SILENT)
    network.driver.run(10)
    load.stop()
    network.driver.run(1)
    assert [home.broker for home in moving.homes] == ["B2", "B1"]
    assert (moving.home(0.0), moving.home(1e9)) == ("", "B1")
    got = sequences(other, "b.1")
    assert got == sorted(set(got))
    assert len(got) > 700
    lost = set(range(1, load.count + 1)) - set(got)
    assert lost <= moving.unconfirmed
    assert moving.reports


def test_a_client_leaves() -> None:
    network = line(1)
    leaving = client(network, "a.1", "B1", "n >= 0")
    network.disconnect("a.1")
    network.driver.run(1)
    assert not leaving.is_connected
    assert network.nodes["B1"].peers == {}
    assert [one.name for one in leaving.ended] == ["n >= 0"]


def test_advertisements() -> None:
    network = line(2, advertisements_required=True)
    subscriber = client(network, "a.1", "B1", "n >= 0")
    publisher = client(network, "b.1", "B2")
    network.publish("b.1", {"n": 1})
    network.driver.run(1)
    network.advertise("b.1", "mine", "n = 2")
    network.driver.run(1)
    network.publish("b.1", {"n": 2})
    network.driver.run(1)
    network.unadvertise("b.1", "mine")
    network.driver.run(1)
    network.publish("b.1", {"n": 2})
    network.driver.run(1)
    assert sequences(subscriber, "b.1") == [2]
    assert len(publisher.refused) == 2


def test_rows_are_in_virtual_time_and_in_the_order_of_clients() -> None:
    rows: list[tuple[str, int, float, str, dict[str, Any]]] = []

    def record(broker: str, session: int, at: float, kind: str, **fields: Any) -> None:
        rows.append((broker, session, at, kind, fields))

    network = FaithfulNetwork(Random(1), record=record)
    network.add_broker("B1", clock=Clock(1e6, 1.01))
    network.add_broker("B2", ("B1",), clock=Clock(5.0, 0.99))
    network.driver.run(1)
    client(network, "a.1", "B1", "n >= 0")
    client(network, "b.1", "B2")
    for number in range(3):
        network.publish("b.1", {"n": number})
    network.driver.run(2)
    kinds = [kind for _, _, _, kind, _ in rows]
    assert kinds.count("published") == kinds.count("forwarded") == kinds.count("delivered") == 3
    assert {"subscribed", "settled"} <= set(kinds)
    assert all(0 <= at <= network.kernel.now for _, _, at, _, _ in rows)
    delivered = [fields for _, _, _, kind, fields in rows if kind == "delivered"]
    assert [one["sequence"] for one in delivered] == [1, 2, 3]
    assert [one["client_order"] for one in delivered] == [1, 2, 3]
    published = [fields for _, _, _, kind, fields in rows if kind == "published"]
    assert [one["attributes"] for one in published] == ['{"n":0}', '{"n":1}', '{"n":2}']
