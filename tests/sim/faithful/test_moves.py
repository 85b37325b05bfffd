"""A client goes on elsewhere because its broker hangs, and the broker wakes up."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.drops import Drop
from sapwood.protocol.fences import Fences
from sapwood.sim.faithful.network import FaithfulNetwork
from sim.faithful.loading import Publisher, client, line, sequences


def moved_while_its_broker_hung() -> tuple[list[int], int, int, bool]:
    """What a reader gets of a publisher that moves from B1 to B3, and then B1 wakes up.

    The link of B1 stands still just before, so that B1 has something of the publisher when it
    stops; also how much was published, how much was stale, and whether the reader is told.
    """
    network = line(3)
    reader = client(network, "reader.1", "B2", "n >= 0")
    network.connect("writer.1", "B1", "B3", silence_seconds=1.0)
    writer = network.clients["writer.1"]
    assert network.driver.run_until(lambda: writer.is_connected, 5)
    load = Publisher(network, "writer.1", rate=400)
    network.driver.run(0.5)
    network.freeze("B1", "B2")
    network.driver.run(0.5)
    network.driver.hang(network.driver.hosts["B1"])
    assert network.driver.run_until(lambda: writer.session.broker == "B3", 10)
    network.driver.run(1.0)
    network.thaw("B1", "B2")
    network.driver.resume(network.driver.hosts["B1"])
    network.driver.run(5.0)
    load.stop()
    network.driver.run(5.0)
    stale = network.nodes["B2"].broker.drops.counts[Drop.STALE]
    return sequences(reader, "writer.1"), load.count, stale, bool(reader.reports)


@pytest.mark.slow
def test_nothing_of_the_past_comes_after_what_is_published_elsewhere() -> None:
    got, published, stale, is_told = moved_while_its_broker_hung()
    assert got == sorted(set(got))
    assert got[-1] == published
    assert stale > 0, "the old broker had something left, and it was not delivered"
    assert is_told


@pytest.mark.slow
def test_without_fences_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fences, "move", lambda *arguments: False)
    got, _, stale, _ = moved_while_its_broker_hung()
    assert stale == 0
    assert got != sorted(got)


@pytest.mark.slow
def test_what_the_old_broker_may_have_taken_is_not_published_again() -> None:
    """Its acknowledgements do not come back, but what was published has gone on from there."""
    network = line(3)
    reader = client(network, "reader.1", "B2", "n >= 0")
    network.connect("writer.1", "B1", "B3", silence_seconds=1.0)
    writer = network.clients["writer.1"]
    assert network.driver.run_until(lambda: writer.is_connected, 5)
    network.driver.freeze("B1", "writer.1")
    Publisher(network, "writer.1", rate=100, count=20)
    assert network.driver.run_until(lambda: writer.session.broker == "B3", 10)
    network.publish("writer.1", {"n": 20})
    network.driver.run(5.0)
    assert sequences(reader, "writer.1") == list(range(1, 22))
    assert sorted(writer.unconfirmed) == list(range(1, 21)), "nobody knows, and that is said"


def test_a_hello_that_went_astray_is_told_of_at_every_later_broker() -> None:
    """B3 has begun a stream and its welcome was lost; the client goes to B1, which is restarted.

    The neighbours of B1 know that the client has moved, and say so; B1 must hear from the client
    that it is the one they mean, or takes nothing of it.
    """
    network = line(3)
    reader = client(network, "reader.1", "B2", "n >= 0")
    network.connect("writer.1", "B3", "B1")
    writer = network.clients["writer.1"]
    ends = network.driver.ends_between
    assert network.driver.run_until(lambda: any(ends("B3", "writer.1")), 5, step=0.0005)
    network.driver.cut_after("B3", "writer.1", 1)
    assert network.driver.run_until(lambda: writer.session.broker == "B1", 10)
    network.driver.run(1.0)
    for broker in ("B1", "B3"):
        network.refuse("writer.1", broker)
    network.crash("B1")
    network.restart("B1")
    assert network.driver.run_until(lambda: network.is_joined("B1", "B2"), 10)
    network.driver.run(1.0)
    network.refuse("writer.1", "B1", is_refused=False)
    assert network.driver.run_until(lambda: writer.is_connected and writer.is_idle, 10)
    Publisher(network, "writer.1", rate=100, count=20)
    network.driver.run(3.0)
    assert sequences(reader, "writer.1") == list(range(1, 21))
    assert network.nodes["B1"].broker.drops.counts[Drop.STALE] == 0


@pytest.mark.slow
def test_a_client_that_has_moved_is_heard_after_the_tree_has_changed() -> None:
    """B1 comes back after so long that the others are joined by B2, and the tree turns round again.

    Whoever has been told that the client came from one neighbour hears it from another one then.
    """
    network = FaithfulNetwork(Random(2), delay=(0.0005, 0.02))
    hubs = {"B1": (), "B2": ("B1",), "B3": ("B1", "B2"), "B4": ("B1", "B2"), "B5": ("B1", "B2")}
    for name, joins in hubs.items():
        network.add_broker(name, joins)
    network.driver.run(8.0)
    readers = [client(network, f"reader.{number}", f"B{number}", "n >= 0") for number in (1, 3)]
    for name in ("B2", "B4", "B5"):
        network.connect(f"writer-{name}.1", "B3", name)
    network.driver.run(2.0)
    for name in ("B2", "B4", "B5"):
        network.refuse(f"writer-{name}.1", "B3")
        network.cut(f"writer-{name}.1", "B3")
    network.driver.run(10.0)
    assert [network.clients[f"writer-{name}.1"].session.broker for name in ("B2", "B4", "B5")] == [
        "B2",
        "B4",
        "B5",
    ]
    network.crash("B1")
    network.driver.run(20.0)
    network.restart("B1")
    network.driver.run(45.0)
    for name in ("B2", "B4", "B5"):
        network.publish(f"writer-{name}.1", {"n": 1})
    network.driver.run(2.0)
    for reader in readers:
        got = sorted(one.publisher for one in reader.deliveries)
        assert got == ["writer-B2.1", "writer-B4.1", "writer-B5.1"], reader.name
