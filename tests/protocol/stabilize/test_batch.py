"""Batches: everything that is owed, every period, put in the place of what was there."""

from __future__ import annotations

from protocol.stabilize.refreshed import PERIOD, digest_of, handle, new_broker, tell, want
from sapwood.filters import Filter
from sapwood.protocol.effects import Send
from sapwood.protocol.events import Tick
from sapwood.protocol.messages import EdgeRouting, Whole

ONE = Filter("a = 1")


def test_every_period_tells_the_edge_and_both_tables() -> None:
    broker = new_broker(scheme="batch")
    want(broker, "c.1", "a = 1")
    lines = ((ONE.id, "a = 1"),)
    assert handle(broker, Tick(), PERIOD) == [
        Send(name, message)
        for name in ("N", "M")
        for message in (
            EdgeRouting("covering"),
            Whole("s", lines, digest_of(*lines)),
            Whole("a"),
        )
    ]


def test_a_batch_replaces_what_was_held_and_counts_as_a_sign_of_life() -> None:
    broker = new_broker(scheme="batch")
    want(broker, "N", "a = 1", "a = 2")
    lines = (("1", "a = 1"),)
    tell(broker, "N", Whole("s", lines, digest_of(*lines)), 50.0)
    assert broker.subscriptions.texts("N") == {"1": "a = 1"}
    assert broker.reports()["refresh"]["mismatch"] == 0
    tell(broker, "M", Whole("s"), 50.0)
    tell(broker, "c.1", Whole("s"), 50.0)
    effects = handle(broker, Tick(), 100.0)
    assert all(isinstance(one, Send) for one in effects)
