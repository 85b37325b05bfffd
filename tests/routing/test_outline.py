"""Outlines: necessary conditions for a covering, never stricter than covering itself."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from routing.near import patterned_pools
from sapwood.filters import Filter
from sapwood.routing.covering import covers
from sapwood.routing.outline import HIGHEST, LOWEST, Outline, outline_of


def is_around(larger: Outline, smaller: Outline) -> bool:
    return (
        larger.lows.keys() <= smaller.lows.keys()
        and larger.points.items() <= smaller.points.items()
        and all(low <= smaller.lows[name] for name, low in larger.lows.items())
        and all(high >= smaller.highs[name] for name, high in larger.highs.items())
    )


@given(pool=patterned_pools)
def test_whoever_covers_has_an_outline_around(pool: list[Filter]) -> None:
    for left, right in itertools.permutations([one for one in pool if not one.is_empty], 2):
        if covers(left, right):
            assert is_around(outline_of(left), outline_of(right))


@pytest.mark.parametrize(
    ("text", "low", "high", "is_point"),
    [
        ("a is null", LOWEST, (1,), True),
        ("a = false", (1, 0), (1, 1), True),
        ("a = true", (1, 1), (1, 2), True),
        ("a is bool", (1, 0), (1, 2), False),
        ("a = 5", (2, 5, 0), (2, 5, 1), True),
        ("a > 5", (2, 5, 1), (3,), False),
        ("a = 'x'", (3, "x"), (3, "x\0"), True),
        ("a >= 'x'", (3, "x"), HIGHEST, False),
        ("a is not null", (1, 0), HIGHEST, False),
        ("a in (5, 'x')", (2, 5, 0), (3, "x\0"), False),
        ("a = 5 or a is null", LOWEST, (2, 5, 1), False),
        ("a contains 'x'", (3, ""), HIGHEST, False),
    ],
)
def test_places(text: str, low: object, high: object, is_point: bool) -> None:
    outline = outline_of(Filter(text))
    assert outline.lows == {"a": low}
    assert outline.highs == {"a": high}
    assert outline.points == ({"a": low} if is_point else {})
    assert outline.is_plain == ("contains" not in text)


def test_a_union_has_what_is_around_its_boxes() -> None:
    outline = outline_of(Filter("a = 1 and b = 2 and c > 3 or a = 1 and b = 4 and d = 5"))
    assert outline == Outline(
        points={"a": (2, 1, 0)},
        lows={"a": (2, 1, 0), "b": (2, 2, 0)},
        highs={"a": (2, 1, 1), "b": (2, 4, 1)},
        is_plain=False,
    )
    assert outline_of(Filter("true")) == Outline({}, {}, {}, is_plain=True)
