"""Filters are numbered by meaning, and each pair is evaluated once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from sapwood.errors import TraceRowError
from sapwood.filters import Filter, Notification
from sapwood.trace.judge.filterbook import FilterBook, Finder
from sapwood.trace.schema import Row
from tracing.files import bare_row


def about(filter: str | None) -> Row:
    return bare_row(kind="subscribed", filter=filter)


def published(attributes: str) -> Row:
    return bare_row(kind="published", attributes=attributes)


def test_one_number_for_one_meaning() -> None:
    book = FilterBook()
    texts = ["x > 1", "x > 2", "not (x <= 1 or x is null)", "x>1", "x > 2"]
    assert [book.number(about(text)) for text in texts] == [0, 1, 0, 0, 1]


def test_what_matches() -> None:
    book = FilterBook()
    for text in ("x > 1", "x > 2", "y = 'a'"):
        book.number(about(text))
    assert book.matching(published('{"x": 2}')) == {0}
    assert book.matching(published('{"x": 3, "y": "a"}')) == {0, 1, 2}
    assert book.matching(published("{}")) == frozenset()
    assert [book.matches(number, published('{"x": 2}')) for number in (0, 1, 2)] == [
        True, False, False,
    ]  # fmt: skip


def test_values_keep_their_types() -> None:
    book = FilterBook()
    for text in ("x = 1", "x = true", "x = '1'", "x = 9007199254740993"):
        book.number(about(text))
    texts = ['{"x": 1}', '{"x": 1.0}', '{"x": true}', '{"x": "1"}', '{"x": 9007199254740993}']
    assert [book.matching(published(text)) for text in texts] == [{0}, {0}, {1}, {2}, {3}]


def test_each_pair_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    matches = Filter.matches

    def counting(self: Filter, notification: Notification) -> bool:
        asked.append(str(self))
        return matches(self, notification)

    monkeypatch.setattr(Filter, "matches", counting)
    book = FilterBook()
    number = book.number(about("x = 1"))
    for _ in range(3):
        book.matching(published('{"x": 1}'))
        book.matches(number, published('{"x": 1}'))
    assert asked == ["x = 1", "x = 1"]  # once for each way of asking


def test_a_later_filter_is_not_forgotten() -> None:
    book = FilterBook()
    assert book.matching(published('{"x": 1}')) == frozenset()
    book.number(about("x = 1"))
    assert book.matching(published('{"x": 1}')) == {0}


def test_a_finder_is_made_anew_for_more_filters() -> None:
    made: list[int] = []

    def making(filters: Sequence[Filter]) -> Finder:
        made.append(len(filters))

        def find(notification: Notification) -> Iterable[int]:
            return [n for n, filter in enumerate(filters) if filter.matches(notification)]

        return find

    book = FilterBook(making)
    book.number(about("x = 1"))
    assert book.matching(published('{"x": 1}')) == {0}
    assert book.matching(published('{"x": 2}')) == frozenset()
    book.number(about("x > 0"))
    assert book.matching(published('{"x": 1}')) == {0, 1}
    assert made == [1, 2]


def test_a_filter_that_is_missing_or_wrong() -> None:
    with pytest.raises(TraceRowError, match=r"^row 1 of B1\.1 in run 'r' \(subscribed\) has no"):
        FilterBook().number(about(None))
    with pytest.raises(TraceRowError, match=r"^row 1 of B1\.1 .*: filter: column 5: [^\n]*$"):
        FilterBook().number(about("x = ("))
