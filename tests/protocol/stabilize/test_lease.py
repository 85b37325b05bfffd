"""Leases from hop to hop: told again, or gone."""

from __future__ import annotations

from protocol.stabilize.refreshed import PERIOD, handle, link_up, new_broker, refreshing, tell, want
from sapwood.filters import Filter
from sapwood.protocol.effects import Send
from sapwood.protocol.events import NeighbourAway, NeighbourBack, Tick
from sapwood.protocol.messages import Advertise, EdgeRouting, Subscribe, TableComplete, Unsubscribe

ONE, TWO = Filter("a = 1"), Filter("a = 2")


def test_every_period_tells_every_entry_again() -> None:
    broker = new_broker(scheme="hop-lease", advertisements_required=True)
    tell(broker, "c.1", Advertise("1", "a = 1"))
    tell(broker, "N", Advertise("1", "a = 1"))
    want(broker, "c.1", "a = 1")
    assert handle(broker, Tick(), PERIOD) == [
        Send("N", EdgeRouting("covering")),
        Send("N", Advertise(ONE.id, "a = 1")),
        Send("N", Subscribe(ONE.id, "a = 1")),
        Send("M", EdgeRouting("covering")),
        Send("M", Advertise(ONE.id, "a = 1")),
    ]


def test_what_is_not_told_in_a_whole_period_is_removed_as_one_change() -> None:
    broker = new_broker(scheme="hop-lease")
    handle(broker, Tick(), 0.0)
    want(broker, "N", "a = 1", "a = 2")
    lease = refreshing(broker).lease_seconds
    assert lease > PERIOD
    handle(broker, Tick(), lease)  # told in this period
    tell(broker, "N", Subscribe("2", "a = 2"), lease + 1)
    effects = handle(broker, Tick(), 2 * lease)
    assert [one for one in effects if one == Send("M", Unsubscribe(ONE.id))]
    assert broker.subscriptions.texts("N") == {"2": "a = 2"}
    assert refreshing(broker).counts["expired"] == 1


def test_clients_and_those_who_are_away_keep_their_entries() -> None:
    broker = new_broker(scheme="hop-lease")
    want(broker, "c.1", "a = 1")
    want(broker, "N", "a = 2")
    handle(broker, NeighbourAway("N"), 1.0)
    for number in range(1, 6):
        handle(broker, Tick(), number * 40.0)
    handle(broker, NeighbourBack("N"), 201.0)
    handle(broker, Tick(), 239.0)
    assert len(broker.subscriptions) == 2
    assert refreshing(broker).counts["expired"] == 0


def test_what_is_stale_is_not_expired() -> None:
    broker = new_broker(scheme="hop-lease")
    want(broker, "N", "a = 1")
    handle(broker, link_up("N", "hop-lease", restarted=True), 1.0)
    for at in (2.0, 40.0):
        handle(broker, Tick(), at)
    assert (len(broker.subscriptions), refreshing(broker).counts["expired"]) == (1, 0)
    tell(broker, "N", TableComplete(), 41.0)
    assert len(broker.subscriptions) == 0


def test_flags_of_strangers_are_forgotten() -> None:
    broker = new_broker(scheme="hop-lease")
    refreshing(broker).leases.flags = {"stranger": {("s", "x"): None}}
    handle(broker, Tick(), 1.0)
    assert refreshing(broker).leases.flags == {}
