"""Tables: what a neighbour is owed, and the difference to what it was told."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.protocol.reconfigure.published.tables import SIMPLE, Difference, Tables


def test_a_neighbour_is_owed_what_all_others_want() -> None:
    tables = Tables(Filter)
    for destination, key in (("A", "f"), ("B", "f"), ("B", "g"), ("@c", "h")):
        tables.add(destination, key, f"x = '{key}'")
    assert sorted(tables.owed("A")) == ["f", "g", "h"]
    assert sorted(tables.owed("B")) == ["f", "h"]
    assert sorted(tables.owed("B", without=("A",))) == ["h"]


def test_only_the_difference_is_told_and_once() -> None:
    tables = Tables(Filter)
    tables.add("B", "f", "x = 1")
    assert tables.difference("A") == Difference("A", [("f", "x = 1")], [])
    tables.add("C", "f", "x = 1")
    assert tables.difference("A") == Difference("A", [], [])
    tables.remove("B", "f")
    assert tables.difference("A") == Difference("A", [], [])
    tables.remove("C", "f")
    assert tables.difference("A") == Difference("A", [], ["f"])


def test_who_wants_a_notification_is_found_anew_after_a_change() -> None:
    tables = Tables(Filter)
    tables.add("A", "f", "x = 1")
    assert tables.wanting({"x": 1}) == ["A"]
    tables.add("B", "g", "x > 0")
    assert tables.wanting({"x": 1}) == ["A", "B"]
    tables.remove("A", "f")
    assert tables.wanting({"x": 1}) == ["B"]
    assert tables.forget("B") == {"g": "x > 0"}
    assert tables.wanting({"x": 1}) == []


def test_subscriptions_are_known_by_their_filter_or_by_themselves() -> None:
    identity, simple = Tables(Filter), Tables(Filter, SIMPLE)
    assert identity.key("c", "x = 1") == identity.key("d", "x=1")
    assert simple.key("c", "x = 1") != simple.key("d", "x = 1")
    with pytest.raises(ParameterError, match="algorithm: is 'magic'; wanted one of"):
        Tables(Filter, "magic")
