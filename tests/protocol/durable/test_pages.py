"""Where notifications are in the journal: pages that grow, go, move, and are read back."""

from __future__ import annotations

import pytest

from sapwood.protocol.durable.pages import SPAN_BYTES, Page, Pages, Place, PlacedRun, runs_in
from sapwood.protocol.durable.records import (
    Entry,
    JournalDamageError,
    Moved,
    Run,
    encode,
)


def written(*places: tuple[int, int, int], size: int = 100, page_bytes: int = 250) -> Pages:
    """Two notifications at each place: segment, byte and position of the record."""
    pages = Pages(page_bytes)
    for number, place in enumerate(places):
        pages.append(2 * number, 2, size, float(number), Place(*place))
    return pages


def shape(pages: Pages) -> list[tuple[int, int, int]]:
    return [(page.first, page.count, page.segment) for page in pages]


def test_a_page_ends_with_its_size_its_span_or_its_segment() -> None:
    assert shape(written((1, 0, 1), (1, 9, 2), (1, 20, 3))) == [(0, 4, 1), (4, 2, 1)]
    assert shape(written((1, 0, 1), (1, SPAN_BYTES + 1, 2))) == [(0, 2, 1), (2, 2, 1)]
    assert shape(written((1, 0, 1), (2, 9, 2))) == [(0, 2, 1), (2, 2, 2)]


def test_one_record_is_never_divided() -> None:
    assert shape(written((1, 0, 1), (1, 0, 1), (1, 0, 1))) == [(0, 6, 1)]


def test_pages_are_found_by_number() -> None:
    pages = written((1, 0, 1), (2, 0, 2), (3, 0, 3))
    assert [page.first for number in range(6) if (page := pages.find(number))] == [0, 0, 2, 2, 4, 4]
    assert pages.find(6) is None
    pages.release(3)
    assert shape(pages) == [(2, 2, 2), (4, 2, 3)]
    first = pages.find(0)
    assert first is not None
    assert first.first == 2, "the first behind it"


def test_the_oldest_go_by_size_and_age_and_the_last_stays_while_it_is_written() -> None:
    pages = written((1, 0, 1), (2, 0, 2))
    assert pages.too_old(200, -1.0) is None
    assert pages.too_old(100, -1.0) is pages.oldest
    pages.drop_oldest()
    assert pages.too_old(10, -1.0) is None
    assert pages.too_old(10, 1.5) is pages.oldest


def test_what_was_moved_is_put_in_its_place_once() -> None:
    pages = written((1, 0, 1), (2, 0, 2), (3, 0, 3))
    moved = Page(2, 2, 100, 1.0, 9, 0, 10, 9, is_moved=True)
    pages.insert(moved)
    assert shape(pages) == [(0, 2, 1), (2, 2, 2), (4, 2, 3)], "the first writing is still here"
    first = pages.find(2)
    assert first is not None
    pages.remove(first)
    pages.insert(moved)
    assert shape(pages) == [(0, 2, 1), (2, 2, 9), (4, 2, 3)]
    assert pages.needed == 1
    assert [page.first for page in pages.before(3)] == [0]
    assert pages.size == 300


def test_runs_are_numbered_from_the_end() -> None:
    records = [
        Entry(0.0, 0, (Run(("a", "b"), 2, b"x"), Run(("b",), 1, b"y"))),
        Entry(0.0, 0, (Run(("a",), 3, b""),)),
    ]
    data = b"".join(map(encode, records))
    assert runs_in(data, "a", 15, is_moved=False) == [
        PlacedRun(10, 2, b"x"),
        PlacedRun(12, 3, b""),
    ]
    assert runs_in(data, "b", 3, is_moved=False) == [PlacedRun(0, 2, b"x"), PlacedRun(2, 1, b"y")]


def test_what_was_moved_is_read_from_where_it_is_now() -> None:
    record = Entry(0.0, 0, (Run(("a",), 9, b"later"),), changes=(Moved("a", 4, 0.0, ((2, b"x"),)),))
    data = encode(record)
    assert runs_in(data, "a", 6, is_moved=True) == [PlacedRun(4, 2, b"x")]
    assert runs_in(data, "a", 20, is_moved=False) == [PlacedRun(11, 9, b"later")]


def test_damaged_bytes_are_an_error() -> None:
    data = encode(Entry(0.0, 0))
    with pytest.raises(JournalDamageError, match="damaged"):
        runs_in(data[:-1] + b"?", "a", 1, is_moved=False)
    with pytest.raises(JournalDamageError, match="damaged"):
        runs_in(data[:-1], "a", 1, is_moved=False)
