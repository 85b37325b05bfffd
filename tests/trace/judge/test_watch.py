"""What can be seen at once is seen at once, and is what the verdict says at the end."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import TraceError, TraceRowError
from sapwood.trace.judge.checkers import check
from sapwood.trace.judge.watch import Watch
from tracing.files import bare_row
from tracing.making import Recorder
from tracing.random_traces import random_trace


def seen(trace: Recorder) -> list[tuple[str, int]]:
    """Violations: their kind, and the place of the row that showed it."""
    watch = Watch()
    return [
        (violation.kind, index)
        for index, row in enumerate(trace.rows)
        if (violation := watch.add(row)) is not None
    ]


def test_each_kind_at_its_row() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "x = 1")
    for sequence in (1, 2, 3):
        trace.publish(3, "bob.1", sequence, '{"x": 1}')
    trace.publish(3, "bob.1", 4, '{"x": 2}')
    for sequence in (1, 3, 2, 3, 4, 5):
        trace.deliver(4, "ann.1", "bob.1", sequence)
    assert seen(trace) == [
        ("out_of_order_fifo", 7),
        ("duplicated", 8),
        ("unexpected", 9),
        ("unexpected", 10),
    ]


def test_what_is_right_is_let_through() -> None:
    trace = Recorder()
    trace.publish(0, "bob.1", 1)
    trace.subscribe(1, "ann.1")
    trace.deliver(2, "ann.1", "bob.1", 1)
    trace.publish(5, "bob.1", 2)
    trace.publish(9, "bob.1", 3, None)
    trace.unsubscribe(10, "ann.1")
    trace.deliver(12, "ann.1", "bob.1", 3)
    trace.deliver(15, "dan.1", "bob.1", 3)
    trace.clock(16)
    assert seen(trace) == []


def test_what_was_owed_is_not_unexpected_however_late() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1)
    trace.unsubscribe(10, "ann.1")
    trace.publish(11, "bob.1", 2)
    trace.deliver(15, "ann.1", "bob.1", 1)
    trace.deliver(15, "ann.1", "bob.1", 2)
    assert seen(trace) == [("unexpected", 5)]


@given(st.integers(0, 2**32))
def test_whatever_it_reports_is_in_the_verdict(seed: int) -> None:
    rows = random_trace(Random(seed), orderly=True)
    watch = Watch(0.5)
    reported = [violation for row in rows if (violation := watch.add(row)) is not None]
    verdict = check(rows, 0.5, violations_max=10_000)
    assert [violation for violation in reported if violation not in verdict.violations] == []
    kinds = [violation.kind for violation in reported]
    assert kinds.count("duplicated") == verdict.duplicated
    assert kinds.count("unexpected") == verdict.unexpected


def test_a_settling_time_that_is_none() -> None:
    with pytest.raises(TraceError, match="settling time"):
        Watch(-1)


def test_a_row_that_lacks_what_it_needs() -> None:
    for columns in ({"publisher": "bob.1", "sequence": 1}, {"client": "ann.1"}):
        with pytest.raises(TraceRowError, match=r"^row 1 of B1\.1"):
            Watch().add(bare_row(kind="delivered", **columns))
