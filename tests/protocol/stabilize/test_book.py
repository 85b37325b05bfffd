"""The book of addresses: bounded in size and time."""

from __future__ import annotations

import math

import pytest

from sapwood.protocol.ports import Hint
from sapwood.protocol.stabilize.book import BOOK_MAX, BOOK_SECONDS, Book, Known


def hint(broker: str, age: float) -> Hint:
    return Hint(broker, (f"tcp://{broker}:1",), age)


def test_hints_come_before_what_was_heard_since_the_oldest_first() -> None:
    book = Book()
    book.learn("A", ("tcp://new:1",), 4.0)
    book.take([hint("B", 5.0), hint("C", 50.0), hint("A", 1.0)], 10.0)
    assert list(book) == ["C", "B", "A"]
    assert book["A"] == Known(("tcp://new:1",), 4.0), "what was heard since is newer"
    assert book["C"].heard_at == -40.0
    assert [one.age for one in book.hints(20.0)] == [60.0, 15.0, 16.0]


def test_hints_do_not_make_it_larger_than_it_may_be() -> None:
    book = Book()
    book.learn("A", ("tcp://a:1",), 0.0)
    book.take([hint(f"X{number}", float(number)) for number in range(2 * BOOK_MAX)], 0.0)
    assert len(book) == BOOK_MAX
    assert "A" in book
    assert "X0" in book
    assert f"X{BOOK_MAX}" not in book


@pytest.mark.parametrize("age", [-1.0, BOOK_SECONDS + 1.0, math.nan, math.inf])
def test_ages_that_cannot_be_or_are_too_old_are_left_out(age: float) -> None:
    book = Book()
    book.take([hint("A", age)], 0.0)
    assert book == {}


def test_what_is_not_heard_of_again_goes() -> None:
    book = Book()
    for name, heard_at in (("A", 0.0), ("B", 9.0), ("C", math.nan), ("D", 1e12)):
        book[name] = Known(("tcp://a:1",), heard_at)
    book.forget_old(BOOK_SECONDS + 5.0)
    assert {name: known.heard_at for name, known in book.items()} == {
        "B": 9.0,
        "D": BOOK_SECONDS + 5.0,
    }


def test_others_come_first_the_next_time() -> None:
    book = Book()
    book.learn("A", ("tcp://a:1",), 0.0)
    book.learn("B", ("tcp://b:1",), 1.0)
    book.put_last("A")
    assert list(book) == ["B", "A"]
    assert book["A"].heard_at == 0.0
