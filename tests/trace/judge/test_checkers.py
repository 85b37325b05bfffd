"""Each count of the verdict, by traces written by hand; then against the definitions' own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from sapwood.errors import TraceError, TraceRowError
from sapwood.filters import Filter, Notification
from sapwood.trace.judge.checkers import Checker, check
from sapwood.trace.judge.filterbook import Finder
from sapwood.trace.judge.verdict import Verdict
from sapwood.trace.schema import Row, RunSettings
from tracing.making import Recorder


def counts(recorder: Recorder, settle: float = 2.0, **settings: object) -> dict[str, int]:
    """The counts that are not zero."""
    run = {"r": RunSettings(**settings)} if settings else None  # type: ignore[arg-type]
    verdict = check(recorder.rows, settle, settings=run)
    named = verdict.counts()
    assert named["delivered"] == (
        named["expected"] - named["lost"] + named["early"] + named["unexpected"]
        + named["duplicated"]
    )  # fmt: skip
    return {name: count for name, count in named.items() if count}


def test_nothing_at_all() -> None:
    assert check([]) == Verdict()
    assert check([]).is_correct


def test_a_delivery_as_it_should_be() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "price > 100")
    trace.publish(5, "bob.1", 1, '{"price": 120}')
    trace.publish(5, "bob.1", 2, '{"price": 80}')
    trace.deliver(5.1, "ann.1", "bob.1", 1)
    trace.clock(9)
    assert counts(trace) == {"published": 2, "expected": 1, "delivered": 1}
    assert check(trace.rows).is_correct


def test_a_loss_shows_its_rows() -> None:
    trace = Recorder()
    subscribed = trace.subscribe(0, "ann.1")
    published = trace.publish(5, "bob.1", 1)
    trace.clock(7)
    assert counts(trace) == {"published": 1, "expected": 1, "lost": 1}
    verdict = check(trace.rows)
    assert not verdict.is_correct
    (found,) = verdict.violations
    assert (found.kind, found.run, found.notification, found.client, found.rows) == (
        "lost", "r", "bob.1:1", "ann.1", (subscribed, published),
    )  # fmt: skip


def test_the_publisher_itself_is_a_subscriber_like_any_other() -> None:
    trace = Recorder()
    trace.subscribe(0, "bob.1")
    trace.publish(5, "bob.1", 1)
    trace.clock(7)
    assert counts(trace) == {"published": 1, "expected": 1, "lost": 1}


# --- when something is expected -----------------------------------------------------------


@pytest.mark.parametrize(
    ("published_at", "lost"), [(1.9, 0), (2.0, 1), (7.0, 1), (7.9, 1), (8.0, 0), (9.0, 0)]
)
def test_expected_from_settling_to_settling_time_before_the_end(
    published_at: float, lost: int
) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(published_at, "bob.1", 1)
    trace.unsubscribe(10, "ann.1")
    trace.clock(20)
    assert counts(trace).get("lost", 0) == lost


@pytest.mark.parametrize(("trace_end", "lost"), [(6.9, 0), (7.0, 1), (8.0, 1)])
def test_expected_only_if_the_trace_goes_on_long_enough(trace_end: float, lost: int) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1)
    trace.clock(trace_end, broker="B2")
    assert counts(trace).get("lost", 0) == lost


@pytest.mark.parametrize(("published_at", "lost"), [(0.4, 0), (0.5, 1), (0.6, 1)])
def test_a_settled_row_settles_sooner(published_at: float, lost: int) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.settle(0.5, "ann.1", message="subscribed")
    trace.publish(published_at, "bob.1", 1)
    trace.clock(20)
    assert counts(trace).get("lost", 0) == lost


def test_a_late_settled_row_does_not_excuse_a_loss() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(3, "bob.1", 1)
    trace.settle(5, "ann.1")
    trace.clock(20)
    assert counts(trace) == {"published": 1, "expected": 1, "lost": 1}


@pytest.mark.parametrize("message", ["advertised", "unsubscribed"])
def test_a_settled_row_of_something_else_settles_nothing(message: str) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.settle(0.5, "ann.1", message=message)
    trace.publish(1, "bob.1", 1)
    trace.clock(20)
    assert counts(trace) == {"published": 1}


def test_a_settled_row_of_another_filter_or_client_settles_nothing() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "a = 1")
    trace.settle(0.5, "ann.1", "b = 1")
    trace.settle(0.5, "ann.2", "a = 1")
    trace.publish(1, "bob.1", 1, '{"a": 1, "b": 1}')
    trace.clock(20)
    assert counts(trace) == {"published": 1}


def test_a_settled_row_does_not_settle_the_next_subscription() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.settle(0.5, "ann.1")
    trace.unsubscribe(10, "ann.1")
    trace.subscribe(20, "ann.1")
    trace.publish(21, "bob.1", 1)
    trace.clock(30)
    assert counts(trace) == {"published": 1}


def test_subscribing_again_changes_nothing() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.subscribe(9, "ann.1")
    trace.publish(10, "bob.1", 1)
    trace.unsubscribe(20, "ann.1")
    trace.publish(30, "bob.1", 2)
    trace.clock(40)
    assert counts(trace) == {"published": 2, "expected": 1, "lost": 1}


def test_a_subscription_may_end_in_other_words() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "x > 1 and x > 2")
    trace.unsubscribe(10, "ann.1", "not (x <= 2 or x is null)")
    trace.publish(20, "bob.1", 1, '{"x": 3}')
    trace.clock(40)
    assert counts(trace) == {"published": 1}


def test_a_subscription_may_end_at_another_broker() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", broker="B2")
    trace.unsubscribe(10, "ann.1", broker="B1")
    trace.publish(20, "bob.1", 1)
    trace.clock(40)
    assert counts(trace) == {"published": 1}


def test_any_of_several_subscriptions_is_enough_and_gives_one_pair() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "a = 1")
    trace.subscribe(0, "ann.1", "b = 1")
    trace.subscribe(4, "ann.1", "c = 1")
    trace.publish(5, "bob.1", 1, '{"a": 1, "b": 1, "c": 1}')
    trace.unsubscribe(6, "ann.1", "a = 1")
    trace.publish(6.5, "bob.1", 2, '{"a": 1, "c": 1}')
    trace.deliver(7, "ann.1", "bob.1", 2)
    trace.clock(20)
    assert counts(trace) == {
        "published": 2, "expected": 2, "lost": 1, "delivered": 1,
    }  # fmt: skip


def test_sessions_of_a_client_are_clients() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.unsubscribe(3, "ann.1")
    trace.subscribe(4, "ann.2")
    trace.publish(10, "bob.1", 1)
    trace.publish(10, "bob.2", 1)
    trace.deliver(11, "ann.2", "bob.1", 1)
    trace.deliver(11, "ann.1", "bob.2", 1)
    trace.clock(20)
    assert counts(trace) == {
        "published": 2, "expected": 2, "lost": 1, "unexpected": 1, "delivered": 2,
    }  # fmt: skip


# --- what is delivered without being expected ---------------------------------------------


@pytest.mark.parametrize(
    ("delivered_at", "kind"),
    [(0.9, "unexpected"), (1.0, "early"), (12.0, "early"), (12.1, "unexpected")],
)
def test_early_while_in_force_else_unexpected(delivered_at: float, kind: str) -> None:
    trace = Recorder()
    trace.publish(0.5, "bob.1", 1)
    trace.subscribe(1, "ann.1")
    trace.unsubscribe(10, "ann.1")
    trace.deliver(delivered_at, "ann.1", "bob.1", 1)
    trace.clock(30)
    assert counts(trace) == {"published": 1, "delivered": 1, kind: 1}


def test_what_was_expected_is_not_unexpected_however_late() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1)
    trace.unsubscribe(10, "ann.1")
    trace.deliver(15, "ann.1", "bob.1", 1)
    assert counts(trace) == {"published": 1, "expected": 1, "delivered": 1}


def test_unexpected_without_a_matching_subscription() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "x = 1")
    published = trace.publish(5, "bob.1", 1, '{"x": 2}')
    delivered = trace.deliver(6, "ann.1", "bob.1", 1)
    trace.clock(30)
    assert counts(trace) == {"published": 1, "delivered": 1, "unexpected": 1}
    assert check(trace.rows).violations[0].rows == (published, delivered)


def test_unexpected_if_never_published() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    first = trace.deliver(5, "ann.1", "bob.1", 1)
    trace.deliver(6, "ann.1", "bob.1", 1)
    trace.clock(30)
    assert counts(trace) == {"delivered": 2, "unexpected": 1, "duplicated": 1}
    assert check(trace.rows).violations[0].rows == (first,)


def test_every_delivery_beyond_the_first_is_a_duplicate() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1)
    first = trace.deliver(6, "ann.1", "bob.1", 1)
    second = trace.deliver(7, "ann.1", "bob.1", 1)
    third = trace.deliver(7, "ann.1", "bob.1", 1, broker="B2")
    trace.clock(30)
    assert counts(trace) == {"published": 1, "expected": 1, "delivered": 3, "duplicated": 2}
    found = [violation.rows for violation in check(trace.rows).violations]
    assert found == [(first, second), (first, third)]


def test_a_notification_recorded_twice_was_published_once_and_first() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(1, "bob.1", 1, broker="B2")
    trace.publish(5, "bob.1", 1)
    trace.clock(30)
    assert counts(trace) == {"published": 1}


def test_without_attributes_nobody_can_say() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1, None)
    trace.deliver(6, "ann.1", "bob.1", 1)
    trace.publish(7, "bob.1", 2, None)
    trace.clock(30)
    assert counts(trace) == {"published": 2, "unjudged": 1}


# --- advertisements -----------------------------------------------------------------------


def advertising(**times: float) -> Recorder:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.add(times["start"], "advertised", client="bob.1", filter="x > 0")
    if "settled" in times:
        trace.settle(times["settled"], "bob.1", "x > 0", message="advertised")
    trace.publish(5, "bob.1", 1, '{"x": 1}')
    if "end" in times:
        trace.add(times["end"], "unadvertised", client="bob.1", filter="x > 0")
    trace.clock(30)
    return trace


@pytest.mark.parametrize(
    ("times", "lost"),
    [
        ({"start": 3.0}, 1),
        ({"start": 3.1}, 0),
        ({"start": 3.1, "settled": 5.0}, 1),
        ({"start": 3.1, "settled": 5.1}, 0),
        ({"start": 3.0, "end": 5.0}, 1),
        ({"start": 0.0, "end": 4.9}, 0),
    ],
)
def test_required_advertisements(times: dict[str, float], lost: int) -> None:
    trace = advertising(**times)
    assert counts(trace, advertisements_required=True).get("lost", 0) == lost
    assert counts(trace)["lost"] == 1


def test_an_advertisement_must_match_and_be_the_publishers() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.add(0, "advertised", client="bob.1", filter="x > 9")
    trace.add(0, "advertised", client="cec.1", filter="x > 0")
    trace.publish(5, "bob.1", 1, '{"x": 1}')
    trace.clock(30)
    assert counts(trace, advertisements_required=True) == {"published": 1}


# --- gaps ---------------------------------------------------------------------------------


def gapped(published_at: float, client_broker: str = "B2") -> Recorder:
    """Broker B2 has a gap from 10 to 20; a subscriber there hears nothing."""
    trace = Recorder()
    trace.subscribe(0, "ann.1", broker=client_broker)
    trace.clock(10, broker="B2")
    trace.add(20, "trace_gap", broker="B2", session=2)
    trace.subscribe(21, "ann.1", broker=client_broker, session=2)
    trace.publish(published_at, "bob.1", 1, broker="B1")
    trace.clock(60, broker="B1")
    return trace


@pytest.mark.parametrize(
    ("published_at", "kind"),
    [(7.9, "lost"), (8.0, "unjudged"), (15.0, "unjudged"), (20.0, "unjudged"), (21.0, "lost")],
)
def test_a_delivery_may_be_in_a_gap(published_at: float, kind: str) -> None:
    found = counts(gapped(published_at))
    assert {"lost", "unjudged"} & found.keys() == {kind}


def test_a_gap_of_another_broker_hides_nothing() -> None:
    assert counts(gapped(15, client_broker="B1"))["lost"] == 1


def test_an_unsubscription_may_be_in_a_gap_until_the_subscription_is_seen_again() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.add(10, "trace_gap")
    trace.publish(30, "bob.1", 1, broker="B2")
    trace.subscribe(40, "ann.1")
    trace.publish(50, "bob.1", 2, broker="B2")
    trace.clock(60)
    assert counts(trace) == {"published": 2, "unjudged": 1, "expected": 1, "lost": 1}


@pytest.mark.parametrize(("sequence", "kind"), [(2, "unjudged"), (4, "unexpected")])
def test_a_publication_may_be_in_a_gap(sequence: int, kind: str) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", broker="B2")
    trace.publish(5, "bob.1", 1)
    trace.clock(10)
    trace.add(20, "trace_gap", session=2)
    trace.publish(25, "bob.1", 3, session=2)
    for delivered in (1, sequence, 3) if sequence == 2 else (1, 3, sequence):
        trace.deliver(26, "ann.1", "bob.1", delivered, broker="B2")
    trace.clock(60)
    assert counts(trace)[kind] == 1


def test_a_publication_before_a_gap_is_not_in_it() -> None:
    """The second must have been published before the third was: there is no such row."""
    trace = Recorder()
    trace.subscribe(0, "ann.1", broker="B2")
    trace.publish(5, "bob.1", 1)
    trace.publish(7, "bob.1", 3)
    trace.clock(10)
    trace.add(20, "trace_gap")
    for sequence in (1, 2, 3):
        trace.deliver(26, "ann.1", "bob.1", sequence, broker="B2")
    trace.clock(60)
    assert counts(trace) == {"published": 2, "expected": 2, "delivered": 3, "unexpected": 1}


def test_a_publication_by_a_client_that_no_row_speaks_of_may_be_in_any_gap() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", broker="B2")
    trace.deliver(5, "ann.1", "bob.1", 1, broker="B2")
    trace.add(10, "trace_gap")
    trace.deliver(15, "ann.1", "bob.1", 2, broker="B2")
    assert counts(trace) == {"unjudged": 2}


def test_a_subscription_may_be_in_a_gap() -> None:
    trace = Recorder()
    trace.publish(5, "bob.1", 1)
    trace.deliver(6, "ann.1", "bob.1", 1, broker="B2")
    trace.clock(8, broker="B2")
    trace.add(10, "trace_gap", broker="B2")
    trace.publish(15, "bob.1", 2)
    trace.deliver(16, "ann.1", "bob.1", 2, broker="B2")
    trace.deliver(17, "ann.1", "bob.1", 2, broker="B2")
    assert counts(trace) == {
        "published": 2, "unexpected": 1, "unjudged": 1, "duplicated": 1, "delivered": 2,
    }  # fmt: skip


def test_a_gap_that_comes_first_reaches_back_to_the_beginning() -> None:
    trace = Recorder()
    trace.publish(5, "bob.1", 1)
    trace.deliver(6, "ann.1", "bob.1", 1, broker="B2", session=2)
    late = Row(run="r", broker="B2", session=1, step=1, at=4, kind="trace_gap")
    trace.rows.append(late)
    assert counts(trace) == {"published": 1, "unjudged": 1}


def test_what_is_delivered_is_judged_across_a_gap() -> None:
    trace = gapped(15)
    trace.deliver(22, "ann.1", "bob.1", 1, broker="B2", session=2)
    assert counts(trace) == {"published": 1, "expected": 1, "delivered": 1}


# --- runs, settings, order of rows --------------------------------------------------------


def test_each_run_by_itself() -> None:
    one, two = Recorder("one"), Recorder("two")
    one.subscribe(0, "ann.1")
    one.publish(5, "bob.1", 1)
    one.clock(30)
    two.subscribe(0, "ann.1")
    two.deliver(6, "ann.1", "bob.1", 1)
    checker = Checker()
    for row in [*two.rows, *one.rows]:
        checker.add(row)
    runs = checker.verdicts()
    assert list(runs) == ["one", "two"]
    assert (runs["one"].lost, runs["two"].unexpected) == (1, 1)
    total = checker.verdict()
    assert (total.published, total.lost, total.unexpected, total.delivered) == (1, 1, 1, 1)
    assert [violation.run for violation in total.violations] == ["one", "two"]


@pytest.mark.parametrize(
    ("argument", "stated", "lost"),
    [(None, None, 1), (None, 5.0, 0), (1.0, 5.0, 1), (5.0, 1.0, 0), (0.0, 5.0, 1)],
)
def test_the_settling_time(argument: float | None, stated: float | None, lost: int) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(3, "bob.1", 1)
    trace.clock(30)
    settings = {"r": RunSettings(settle_seconds=stated)}
    assert check(trace.rows, argument, settings=settings).lost == lost


def test_a_settling_time_that_is_none() -> None:
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(TraceError, match="settling time"):
            check([], wrong)


def test_rows_may_come_in_any_order() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1)
    trace.publish(6, "bob.1", 2, broker="B2")
    trace.deliver(7, "ann.1", "bob.1", 2)
    trace.deliver(8, "ann.1", "bob.1", 1)
    trace.clock(30)
    assert check(trace.rows[::-1]) == check(trace.rows)
    assert check(trace.rows).out_of_order_fifo == 1


def test_a_checker_can_be_asked_again_and_go_on() -> None:
    trace = Recorder()
    checker = Checker()
    checker.add(trace.subscribe(0, "ann.1"))
    checker.add(trace.publish(5, "bob.1", 1))
    assert checker.verdict().lost == 0
    checker.add(trace.clock(30))
    assert (checker.verdict().lost, checker.verdict().lost) == (1, 1)
    checker.add(trace.deliver(31, "ann.1", "bob.1", 1))
    assert checker.verdict().lost == 0


def test_a_row_that_is_there_twice_is_refused() -> None:
    trace = Recorder()
    row = trace.clock(1)
    with pytest.raises(TraceRowError, match=r"row 1 of B1\.1 in run 'r' \(clock\) comes after row"):
        check([row, row])


def test_violations_are_kept_up_to_a_number_of_each_kind() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    for sequence in range(1, 8):
        trace.publish(5, "bob.1", sequence)
    for _ in range(4):
        trace.deliver(6, "ann.1", "bob.1", 1)
    trace.clock(30)
    verdict = check(trace.rows, violations_max=2)
    assert (verdict.lost, verdict.duplicated) == (6, 3)
    kinds = [violation.kind for violation in verdict.violations]
    assert kinds == ["lost", "lost", "duplicated", "duplicated"]


@pytest.mark.parametrize(
    ("kind", "columns", "problem"),
    [
        ("delivered", {"publisher": "bob.1", "sequence": 1}, "has no client"),
        ("delivered", {"client": "ann.1", "sequence": 1}, "None:1"),
        ("published", {"client": "ann.1", "publisher": "ann.1"}, "ann.1:None"),
        ("published", {"client": "a.1", "publisher": "a.1", "sequence": 0}, "sequence from 1"),
        ("subscribed", {"filter": "true"}, "has no client"),
        ("subscribed", {"client": "ann.1"}, "has no filter"),
        ("subscribed", {"client": "ann.1", "filter": "x >"}, r"\(subscribed\): filter: column"),
        ("settled", {"client": "ann.1"}, "has no filter"),
    ],
)
def test_a_row_that_lacks_what_it_needs_is_named(
    kind: str, columns: dict[str, object], problem: str
) -> None:
    trace = Recorder()
    trace.add(1, kind, **columns)
    with pytest.raises(TraceRowError, match=rf"^row 1 of B1\.1 in run 'r' .*{problem}"):
        check(trace.rows)


@pytest.mark.parametrize("text", ["", "[1]", '{"x": null}', '{"x": 1e999}', '{"": 1}'])
def test_attributes_that_no_notification_has_are_refused(text: str) -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1")
    trace.publish(5, "bob.1", 1, text)
    trace.clock(30)
    with pytest.raises(TraceRowError, match="has wrong attributes"):
        check(trace.rows)


def test_unknown_kinds_are_left_alone() -> None:
    trace = Recorder()
    trace.add(1, "sneezed", client="ann.1", filter="no filter (")
    assert counts(trace) == {}


def test_a_finder_from_outside_is_used() -> None:
    trace = Recorder()
    trace.subscribe(0, "ann.1", "x = 1")
    trace.publish(5, "bob.1", 1, '{"x": 2}')
    trace.clock(30)
    asked = []

    def make_finder(filters: Sequence[Filter]) -> Finder:
        def find(notification: Notification) -> Iterable[int]:
            asked.append((len(filters), dict(notification)))
            return range(len(filters))

        return find

    assert check(trace.rows, make_finder=make_finder).lost == 1
    assert asked == [(1, {"x": 2})]
