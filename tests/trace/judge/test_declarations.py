"""Subscriptions and advertisements over time."""

from __future__ import annotations

from sapwood.trace.judge.declarations import Declaration, DeclarationBook
from sapwood.trace.judge.filterbook import FilterBook
from tracing.making import Recorder


def book(trace: Recorder) -> DeclarationBook:
    declarations = DeclarationBook(FilterBook())
    for row in trace.rows:
        declarations.apply(row)
    return declarations


def one(trace: Recorder) -> Declaration:
    (declaration,) = book(trace).subscriptions.all
    return declaration


def test_from_its_row_to_the_row_that_ends_it() -> None:
    trace = Recorder()
    started = trace.subscribe(1, "ann.1")
    trace.subscribe(2, "ann.1")
    trace.settle(3, "ann.1")
    trace.settle(4, "ann.1")
    ended = trace.unsubscribe(5, "ann.1")
    trace.settle(6, "ann.1", message="unsubscribed")
    trace.unsubscribe(7, "ann.1")
    declaration = one(trace)
    assert (declaration.client, declaration.number, declaration.started, declaration.ended) == (
        "ann.1",
        0,
        started,
        ended,
    )
    assert (declaration.settled, declaration.seen) == (3, [1, 2, 3, 4])
    assert [declaration.validity(2).last_seen(at) for at in (1, 2.5, 9)] == [1, 2, 4]


def test_settled_by_its_row_or_by_time_whichever_is_first() -> None:
    trace = Recorder()
    trace.subscribe(1, "ann.1")
    trace.settle(3, "ann.1")
    assert [one(trace).settled_at(settle) for settle in (0.5, 2.0, 9.0)] == [1.5, 3.0, 3.0]


def test_when_it_counts() -> None:
    trace = Recorder()
    trace.subscribe(1, "ann.1")
    trace.unsubscribe(10, "ann.1")
    declaration = one(trace)
    times = (0.9, 1.0, 2.9, 3.0, 7.9, 8.0, 10.0, 10.1, 12.0, 12.1)
    assert [at for at in times if declaration.validity(2).was_in_force(at, 2)] == list(times[1:9])
    assert [at for at in times if declaration.validity(2).obliges(at, 2)] == [3.0, 7.9]
    assert [at for at in times if declaration.validity(2).is_settled(at)] == [3.0, 7.9, 8.0, 10.0]


def test_a_declaration_may_be_made_again() -> None:
    trace = Recorder()
    for at in (1.0, 3.0):
        trace.subscribe(at, "ann.1", "x = 1")
        trace.unsubscribe(at + 1, "ann.1", "x = 1")
    trace.subscribe(5, "ann.1", "x = 2")
    trace.subscribe(5, "bob.1", "x = 2")
    subscriptions = book(trace).subscriptions
    found = {
        client: {
            number: [declaration.started.at for declaration in declarations]
            for number, declarations in of.items()
        }
        for client in ("ann.1", "bob.1", "cec.1")
        for of in [subscriptions.of(client)]
    }
    assert found == {"ann.1": {0: [1.0, 3.0], 1: [5]}, "bob.1": {1: [5]}, "cec.1": {}}


def test_advertisements_are_kept_apart() -> None:
    trace = Recorder()
    trace.add(1, "advertised", client="ann.1", filter="true")
    trace.subscribe(1, "ann.1")
    trace.settle(2, "ann.1", message="advertised")
    trace.settle(3, "ann.1", message="subscribed")
    trace.add(4, "unadvertised", client="ann.1", filter="true")
    declarations = book(trace)
    (advertisement,), (subscription,) = (
        declarations.advertisements.all,
        declarations.subscriptions.all,
    )
    assert (advertisement.settled, subscription.settled) == (2, 3)
    assert (advertisement.ended is None, subscription.ended is None) == (False, True)


def test_a_settled_row_that_does_not_say_settles_both() -> None:
    trace = Recorder()
    trace.add(1, "advertised", client="ann.1", filter="true")
    trace.subscribe(1, "ann.1")
    trace.settle(2, "ann.1")
    declarations = book(trace)
    assert [
        c.settled for c in (*declarations.advertisements.all, *declarations.subscriptions.all)
    ] == [2, 2]
