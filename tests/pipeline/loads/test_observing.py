"""From rows to subscriptions: who stayed where, for how long."""

from __future__ import annotations

from sapwood.analysis.traffic.fitting import Stay
from sapwood.pipeline.loads.observing import stays_of
from tracing.making import Recorder


def test_subscriptions_begin_once_and_end_in_any_words() -> None:
    trace = Recorder()
    trace.subscribe(1, "ann.1", "x = 1")
    trace.subscribe(2, "ann.1", "(x = 1)")
    trace.subscribe(3, "bob.1", "x = 1", broker="B2")
    trace.unsubscribe(5, "ann.1", "not x <> 1")
    trace.unsubscribe(6, "ann.1", "x = 1")
    trace.subscribe(7, "ann.1", "x > 2")
    filters, stays = stays_of(trace.rows)
    assert filters == ("x = 1", "x > 2")
    assert sorted(stays) == [
        Stay("B1", 0, 1.0, 5.0),
        Stay("B1", 1, 7.0, float("inf")),
        Stay("B2", 0, 3.0, float("inf")),
    ]


def test_nobody_subscribes() -> None:
    assert stays_of([]) == ((), [])
