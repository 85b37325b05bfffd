"""Simple routing with leases: every subscription for itself."""

from __future__ import annotations

from protocol.stabilize.published.publishing import entries, new_broker, subscribe, tick, told
from sapwood.protocol.messages import Subscribe


def test_every_renewal_is_passed_on() -> None:
    broker = new_broker("lease-simple")
    for now in (1.0, 2.0):
        assert subscribe(broker, "a", "x = 1", now) == ["N + x = 1", "M + x = 1"]
        assert subscribe(broker, "b", "x = 1", now) == ["N + x = 1", "M + x = 1"]
        assert subscribe(broker, "N", "x = 1", now) == ["M + x = 1"]


def test_the_same_id_from_another_destination_replaces_nothing() -> None:
    """Printed is that every entry with the id goes, wherever it came from."""
    broker = new_broker("lease-simple")
    told(broker, "N", Subscribe("1", "x = 1"), 1.0)
    told(broker, "M", Subscribe("1", "x = 2"), 1.0)
    assert entries(broker) == ["M x = 2", "N x = 1"]
    told(broker, "N", Subscribe("1", "x = 3"), 2.0)
    assert entries(broker) == ["M x = 2", "N x = 3"]


def test_of_two_filters_under_one_id_both_are_renewed_until_the_wrong_one_expires() -> None:
    broker = new_broker("lease-simple")
    told(broker, "a", Subscribe("1", "x = 1"), 1.0)
    told(broker, "M", Subscribe("a/1", "x = 2"), 1.0)  # a fault has made it up
    renewed = told(broker, "a", Subscribe("1", "x = 1"), 5.0)
    assert [(one.destination, one.message.filter) for one in renewed] == [  # type: ignore[union-attr]
        ("N", "x = 1"),
        ("M", "x = 1"),
    ]
    tick(broker, 10.0)
    told(broker, "a", Subscribe("1", "x = 1"), 15.0)
    assert tick(broker, 20.0)[0] == "N + x = 1"
    assert entries(broker) == ["a x = 1"]
