"""The causal past, by few direct causes; that it is right is shown in test_checkers_random.py."""

from __future__ import annotations

from sapwood.trace.judge.causes import Causes, Past, find_causes
from sapwood.trace.judge.ordering import in_client_order
from sapwood.trace.schema import Row
from tracing.making import Recorder


def by_client(rows: list[Row]) -> dict[str, list[Row]]:
    clients = dict.fromkeys(row.client or "" for row in rows)
    return {c: in_client_order(row for row in rows if row.client == c) for c in clients}


def causes_of(trace: Recorder, client: str, sequence: int) -> list[tuple[str, int]]:
    found = find_causes(by_client(trace.rows)).get(client, Causes())
    return sorted(found.between(sequence - 1, sequence))


def test_causes_by_sequence() -> None:
    causes = Causes()
    for sequence, keys in [(2, [("a", 1), ("b", 1)]), (7, [("c", 1)]), (4, [("d", 1)])]:
        causes.add(sequence, keys)
    assert causes.between(0, 9) == [("a", 1), ("b", 1), ("d", 1), ("c", 1)]
    assert causes.between(2, 4) == [("d", 1)]
    assert causes.between(4, 6) == []


def test_what_was_heard_since_the_one_before() -> None:
    trace = Recorder()
    for turn, (publisher, number) in enumerate([("a", 1), ("a", 2), ("b", 1)]):
        trace.deliver(turn, "p", publisher, number)
    trace.publish(5, "p", 1)
    trace.deliver(6, "p", "c", 1)
    trace.publish(7, "p", 2)
    trace.publish(8, "p", 3)
    assert causes_of(trace, "p", 1) == [("a", 2), ("b", 1)]
    assert causes_of(trace, "p", 2) == [("c", 1)]
    assert causes_of(trace, "p", 3) == []


def test_a_cause_that_another_implies_is_left_out() -> None:
    trace = Recorder()
    trace.publish(1, "a", 1)
    trace.deliver(2, "b", "a", 1)
    trace.publish(3, "b", 1)
    trace.deliver(4, "c", "a", 1)
    trace.deliver(5, "c", "b", 1)
    trace.publish(6, "c", 1)
    assert causes_of(trace, "c", 1) == [("b", 1)]


def test_the_order_in_which_clients_are_seen_does_not_matter_for_the_past() -> None:
    """The same with clocks that are wrong: the cause stays, and the past is the same."""
    trace = Recorder()
    trace.deliver(4, "c", "a", 1)
    trace.deliver(5, "c", "b", 1)
    trace.publish(6, "c", 1)
    trace.publish(101, "a", 1)
    trace.deliver(102, "b", "a", 1)
    trace.publish(103, "b", 1)
    assert causes_of(trace, "c", 1) == [("a", 1), ("b", 1)]
    past = Past(find_causes(by_client(trace.rows)))
    last = trace.deliver(200, "d", "c", 1)
    past.add(last)
    keys = [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("d", 1)]
    assert [past.known_by(key) for key in keys] == [last, last, last, None, None]


def test_everybody_hears_everything_one_cause_each() -> None:
    trace = Recorder()
    names = [f"c{number}" for number in range(6)]
    for turn in range(60):
        publisher = names[turn % 6]
        trace.publish(turn, publisher, turn // 6 + 1)
        for name in names:
            trace.deliver(turn + 0.5, name, publisher, turn // 6 + 1)
    found = find_causes(by_client(trace.rows))
    sizes = {len(found[name].between(n, n + 1)) for name in names for n in range(10)}
    assert sizes == {0, 1}


def test_clients_that_only_publish_or_only_listen_have_no_causes() -> None:
    trace = Recorder()
    trace.publish(1, "a", 1)
    trace.deliver(2, "b", "a", 1)
    trace.publish(3, "c", 1)
    trace.deliver(4, "c", "a", 1)
    assert find_causes(by_client(trace.rows)) == {}


def test_published_twice_counts_once_and_first() -> None:
    trace = Recorder()
    trace.deliver(1, "p", "a", 1)
    trace.publish(2, "p", 1)
    trace.deliver(3, "p", "a", 2)
    trace.publish(4, "p", 2)
    trace.deliver(5, "p", "a", 3)
    trace.publish(6, "p", 1)
    assert causes_of(trace, "p", 1) == [("a", 1)]
    assert causes_of(trace, "p", 2) == [("a", 2)]


def test_published_out_of_turn_names_all_it_heard() -> None:
    trace = Recorder()
    trace.deliver(1, "p", "a", 1)
    trace.deliver(1, "p", "b", 1)
    trace.publish(2, "p", 2)
    trace.deliver(3, "p", "a", 2)
    trace.publish(4, "p", 1)
    assert causes_of(trace, "p", 1) == [("a", 2), ("b", 1)]
    assert causes_of(trace, "p", 2) == [("a", 1), ("b", 1)]
