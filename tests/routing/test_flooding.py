"""Flooding: nothing is told."""

from __future__ import annotations

from sapwood.filters import Filter
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry


def test_nobody_is_told_of_anything() -> None:
    told, entry = EdgeLedger("X", "flooding"), Entry("A", "1", Filter("true"))
    told.add(entry)
    assert told.owed() == {}
    assert told.take() == Difference([], [])
    told.remove(entry)
    assert told.take() == Difference([], [])
