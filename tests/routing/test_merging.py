"""Merging-based routing: perfect mergers of what stands, told without a gap."""

from __future__ import annotations

from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry


def entry(text: str) -> Entry:
    return Entry("A", text, Filter(text))


def told(*texts: str) -> list[tuple[str, Filter]]:
    return [(Filter(text).id, Filter(text)) for text in texts]


def test_a_merger_grows_and_shrinks_without_a_gap() -> None:
    table = EdgeLedger("X", "merging")
    table.add(entry("a = 1"))
    assert table.take() == Difference(told("a = 1"), [])
    table.add(entry("a = 2"))
    assert table.take() == Difference(told("a in (1, 2)"), [Filter("a = 1").id])
    table.remove(entry("a = 1"))
    assert table.take() == Difference(told("a = 2"), [Filter("a in (1, 2)").id])


def test_a_merger_hides_what_it_covers_and_what_it_makes_superfluous() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a > 5 and b = 1", "a <= 5 and b = 1", "a is number and b = 1 and c = 1"):
        table.add(entry(text))
    assert table.take() == Difference(told("a is number and b = 1"), [])
    table.remove(entry("a > 5 and b = 1"))
    rest = told("a is number and b = 1 and c = 1", "a <= 5 and b = 1")
    assert table.take() == Difference(rest, [Filter("a is number and b = 1").id])


def test_unions_stay_alone_and_may_cover_mergers() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a = 1 or b = 1", "a = 1 and c = 1", "a = 1 and c = 2", "a = 2"):
        table.add(entry(text))
    assert table.take() == Difference(told("a = 1 or b = 1", "a = 2"), [])
    table.remove(entry("a = 1 or b = 1"))
    rest = told("a = 2", "a = 1 and c in (1, 2)")
    assert dict(table.owed()) == dict(rest)
    assert table.take() == Difference(rest[1:], [Filter("a = 1 or b = 1").id])


def test_a_merger_equal_to_a_subscription_is_that_subscription() -> None:
    table = EdgeLedger("X", "merging")
    for text in ("a = 1", "a = 2"):
        table.add(entry(text))
    table.take()
    table.add(entry("a in (1, 2)"))
    assert table.take() == Difference([], [])
    table.remove(entry("a = 1"))
    assert table.take() == Difference([], [])


def test_what_stands_behind_mergers_is_what_covering_would_owe() -> None:
    ledger = EdgeLedger("N", "merging")
    for text in ("x = 1", "x = 2", "x in (1, 3)", "y = 1"):
        ledger.add(entry(text))
    standing = ("x = 2", "x in (1, 3)", "y = 1")
    assert ledger.standing().keys() == {Filter(text).id for text in standing}
    assert ledger.owed().keys() == {Filter(text).id for text in ("x in (1, 2, 3)", "y = 1")}
    plain = EdgeLedger("N", "identity")
    plain.add(entry("x = 1"))
    assert plain.standing() == plain.owed()
