"""Identity-based routing: once per filter."""

from __future__ import annotations

from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry


def test_a_filter_is_told_with_the_first_and_taken_back_with_the_last() -> None:
    told, filter, same = (
        EdgeLedger("X", "identity"),
        Filter("a > 1"),
        Filter("not (a <= 1 or a is null)"),
    )
    told.add(Entry("A", "1", filter))
    assert told.take() == Difference([(filter.id, filter)], [])
    told.add(Entry("B", "2", same))
    assert told.take() == Difference([], [])
    told.remove(Entry("A", "1", filter))
    assert told.take() == Difference([], [])
    told.remove(Entry("B", "2", same))
    assert told.take() == Difference([], [filter.id])
