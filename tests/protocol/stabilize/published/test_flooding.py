"""Flooding with leases: nobody is told of anything."""

from __future__ import annotations

from protocol.stabilize.published.publishing import entries, new_broker, subscribe, tick


def test_nobody_is_told_and_what_is_not_renewed_expires() -> None:
    broker = new_broker("lease-flooding")
    assert subscribe(broker, "a", "x = 1", 1.0) == []
    assert subscribe(broker, "b", "x = 2", 1.0) == []
    assert tick(broker, 10.0) == []
    assert subscribe(broker, "b", "x = 2", 11.0) == []
    assert tick(broker, 20.0) == []
    assert entries(broker) == ["b x = 2"]


def test_a_bogus_entry_of_a_neighbour_expires() -> None:
    broker = new_broker("lease-flooding")
    subscribe(broker, "N", "x = 1", 1.0)
    assert (tick(broker, 10.0), tick(broker, 20.0)) == ([], [])
    assert entries(broker) == []
