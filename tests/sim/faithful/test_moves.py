"""A client goes on elsewhere because its broker hangs, and the broker wakes up."""

from __future__ import annotations

import pytest

from sapwood.protocol.drops import Drop
from sapwood.protocol.fences import Fences
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


def test_nothing_of_the_past_comes_after_what_is_published_elsewhere() -> None:
    got, published, stale, is_told = moved_while_its_broker_hung()
    assert got == sorted(set(got))
    assert got[-1] == published
    assert stale > 0, "the old broker had something left, and it was not delivered"
    assert is_told


def test_without_fences_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fences, "move", lambda *arguments: False)
    got, _, stale, _ = moved_while_its_broker_hung()
    assert stale == 0
    assert got != sorted(got)
