"""No text costs more than so much work, whether it is accepted or refused; counted, not timed.

Each of these shapes took seconds to minutes, or an answer about it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from sapwood.errors import FilterTooLargeError
from sapwood.filters import box, constraint
from sapwood.filters.filter import Filter
from sapwood.filters.syntax import forget_texts

COMPARISONS_MAX = 60_000
"""Of two constraints. One takes a few microseconds, and more with patterns, which are fewer."""


def likes(count: int, mark: str = "a") -> str:
    return " or ".join(f"x like '%{n:03d}_{mark}%{n}'" for n in range(count))


def product(count: int) -> str:
    return " and ".join(f"(a{n} = 1 or b{n} = 2)" for n in range(count))


def product_of_likes(count: int) -> str:
    return " and ".join(f"(a{n} like '%x_{n}%' or b{n} = 2)" for n in range(count))


def stairs(count: int) -> str:
    return " or ".join(f"(a > {n} and b < {n} and c > {count - n})" for n in range(count))


def quotes(count: int) -> str:
    return " or ".join(f"(symbol = 'S{n}' and price > {n * 7919 % 1000})" for n in range(count))


SHAPES = [likes, product, product_of_likes, stairs, quotes]


Compare = Callable[[constraint.Constraint, constraint.Constraint], object]


class Count:
    """How often constraints were compared."""

    def __init__(self) -> None:
        self.comparisons = 0

    def counting(self, compare: Compare) -> Compare:
        """The same comparison, counted."""

        def counted(one: constraint.Constraint, other: constraint.Constraint) -> object:
            self.comparisons += 1
            return compare(one, other)

        return counted


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Count]:
    forget_texts()
    count = Count()
    for name in ("covers", "overlaps", "union", "intersection"):
        counting = count.counting(getattr(constraint.Constraint, name))
        monkeypatch.setattr(constraint.Constraint, name, counting)
    yield count
    forget_texts()


def read(text: str) -> Filter | None:
    try:
        return Filter(text)
    except FilterTooLargeError:
        return None


@pytest.mark.parametrize("size", [10, 40, 400])
@pytest.mark.parametrize("shape", SHAPES)
def test_reading_a_text_is_bounded(counted: Count, shape: Callable[[int], str], size: int) -> None:
    text = shape(size)
    if len(text) > 2**16:
        text = shape(size // 2)
    read(text)
    assert counted.comparisons < COMPARISONS_MAX


@cache
def largest(shape: Callable[[int], str]) -> Filter:
    """The largest filter of a shape that is accepted, about."""
    sizes = (100, 45, 20, 8, 6, 4)
    return next(found for size in sizes if (found := read(shape(size))) is not None)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_is_accepted_is_accepted_as_others_are_told_it(
    shape: Callable[[int], str],
) -> None:
    found = largest(shape)
    forget_texts()
    assert Filter(str(found) + " ") == found


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_comparing_filters_is_bounded(counted: Count, shape: Callable[[int], str]) -> None:
    found, other = largest(shape), largest(stairs)
    for question in (
        lambda: found.covers(found),
        lambda: found.covers(other),
        lambda: other.covers(found),
        lambda: found.overlaps(other),
        lambda: found.merge(other),
    ):
        counted.comparisons = 0
        question()
        assert counted.comparisons < 4 * COMPARISONS_MAX


def test_a_refusal_names_the_remedy() -> None:
    with pytest.raises(FilterTooLargeError, match="split it into several filters"):
        Filter(likes(1000))


def test_many_alternatives_by_one_value_are_no_work() -> None:
    """As people write them: each symbol with its price."""
    assert len(Filter(quotes(500)).boxes) == 500


def test_patterns_and_long_lists_weigh_more() -> None:
    (simple,), (pattern,), (values,) = (
        Filter(text).boxes
        for text in ("x = 1", "x like '%a_b%'", f"x in ({', '.join(map(str, range(0, 400, 2)))})")
    )
    assert box.weight(simple) == 1
    assert box.weight(pattern) == 1 + box.PATTERN_WORK
    assert box.weight(values) > 5
