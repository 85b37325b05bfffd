"""Duplicates, FIFO and causal order at a client, by hand."""

from __future__ import annotations

import pytest

from sapwood.trace.judge.checkers import check
from sapwood.trace.judge.ordering import in_client_order
from tracing.making import Recorder


def found(trace: Recorder) -> list[tuple[str, str, list[str | None]]]:
    """Violations of order: kind, client, and the notifications of their rows."""
    return [
        (violation.kind, violation.client, [row.notification for row in violation.rows])
        for violation in check(trace.rows).violations
        if violation.kind.startswith("out_of_order")
    ]


def orders(trace: Recorder) -> list[int | None]:
    return [row.sequence for row in in_client_order(trace.rows)]


def test_by_the_clients_own_count() -> None:
    trace = Recorder(counts=False)
    trace.deliver(1, "ann.1", "bob.1", 1, client_order=3, broker="B2")
    trace.deliver(2, "ann.1", "bob.1", 2, client_order=1)
    trace.deliver(3, "ann.1", "bob.1", 3, client_order=2, broker="B3")
    assert orders(trace) == [2, 3, 1]


def test_without_it_by_the_steps_of_its_broker_even_if_the_clock_was_set_back() -> None:
    trace = Recorder(counts=False)
    trace.deliver(9, "ann.1", "bob.1", 3, session=2)
    trace.deliver(5, "ann.1", "bob.1", 1, client_order=1)
    trace.deliver(2, "ann.1", "bob.1", 2)
    trace.deliver(1, "ann.1", "bob.1", 4, session=2)
    assert orders(trace) == [1, 2, 3, 4]


def test_without_it_at_several_brokers_by_time() -> None:
    trace = Recorder(counts=False)
    trace.deliver(5, "ann.1", "bob.1", 2)
    trace.deliver(2, "ann.1", "bob.1", 1, broker="B2")
    assert orders(trace) == [1, 2]


def test_fifo_counts_first_deliveries_that_come_late() -> None:
    trace = Recorder()
    for sequence in (2, 5, 3, 1, 4, 3, 6):
        trace.deliver(1, "ann.1", "bob.1", sequence)
    verdict = check(trace.rows)
    assert (verdict.out_of_order_fifo, verdict.out_of_order_causal) == (3, 3)
    late = [notes for kind, _, notes in found(trace) if kind == "out_of_order_fifo"]
    assert late == [["bob.1:5", f"bob.1:{sequence}"] for sequence in (3, 1, 4)]


def test_publishers_and_their_sessions_are_independent() -> None:
    trace = Recorder()
    for publisher, sequence in [("bob.1", 2), ("bob.2", 1), ("cec.1", 1), ("bob.1", 3)]:
        trace.deliver(1, "ann.1", publisher, sequence)
    trace.deliver(1, "dan.1", "bob.1", 1)
    assert found(trace) == []


def answered(order_of_bob: int) -> Recorder:
    """Bob publishes an answer, at a place of his own order; cec hears answer and question."""
    trace = Recorder(counts=False)
    trace.publish(1, "ann.1", 1, client_order=1)
    trace.deliver(2, "bob.1", "ann.1", 1, client_order=2)
    trace.publish(3, "bob.1", 1, client_order=order_of_bob)
    trace.deliver(4, "cec.1", "bob.1", 1, client_order=1)
    trace.deliver(5, "cec.1", "ann.1", 1, client_order=2)
    return trace


def test_an_answer_before_its_question() -> None:
    assert found(answered(order_of_bob=3)) == [
        ("out_of_order_causal", "cec.1", ["bob.1:1", "ann.1:1"])
    ]


def test_what_was_published_before_the_question_came_is_no_answer() -> None:
    assert found(answered(order_of_bob=1)) == []


def test_an_earlier_notification_of_the_same_publisher_is_a_cause_too() -> None:
    """Bob heard ann's second; cec hears bob, then ann's first."""
    trace = Recorder()
    trace.publish(1, "ann.1", 1)
    trace.publish(1, "ann.1", 2)
    trace.deliver(2, "bob.1", "ann.1", 2)
    trace.publish(3, "bob.1", 1)
    trace.publish(3, "bob.1", 2)
    trace.deliver(4, "cec.1", "bob.1", 2)
    trace.deliver(5, "cec.1", "ann.1", 1)
    assert found(trace) == [("out_of_order_causal", "cec.1", ["bob.1:2", "ann.1:1"])]


def test_hearing_oneself_is_no_violation_unless_late() -> None:
    trace = Recorder()
    trace.publish(1, "ann.1", 1)
    trace.deliver(2, "ann.1", "ann.1", 1)
    trace.publish(3, "ann.1", 2)
    trace.deliver(4, "bob.1", "ann.1", 2)
    trace.publish(5, "bob.1", 1)
    trace.deliver(6, "ann.1", "bob.1", 1)
    trace.deliver(7, "ann.1", "ann.1", 2)
    assert found(trace) == [("out_of_order_causal", "ann.1", ["bob.1:1", "ann.1:2"])]


def test_a_session_knows_nothing_of_the_one_before() -> None:
    trace = Recorder()
    trace.publish(1, "ann.1", 1)
    trace.deliver(2, "bob.1", "ann.1", 1)
    trace.publish(3, "bob.2", 1)
    trace.deliver(4, "cec.1", "bob.2", 1)
    trace.deliver(5, "cec.1", "ann.1", 1)
    assert found(trace) == []


def test_a_circle_of_causes_is_survived() -> None:
    trace = Recorder()
    trace.deliver(1, "ann.1", "bob.1", 1)
    trace.publish(2, "ann.1", 1)
    trace.deliver(1, "bob.1", "ann.1", 1)
    trace.publish(2, "bob.1", 1)
    trace.deliver(3, "cec.1", "ann.1", 1)
    trace.deliver(4, "cec.1", "bob.1", 1)
    assert found(trace) == [("out_of_order_causal", "cec.1", ["ann.1:1", "bob.1:1"])]


@pytest.mark.slow
def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    trace = Recorder()
    for number in range(5_000):
        trace.publish(number, f"c{number}.1", 1)
        trace.deliver(number + 0.5, f"c{number + 1}.1", f"c{number}.1", 1)
    trace.deliver(9e9, "judge.1", "c4999.1", 1)
    trace.deliver(9e9, "judge.1", "c0.1", 1)
    assert found(trace) == [("out_of_order_causal", "judge.1", ["c4999.1:1", "c0.1:1"])]
