"""The usual conditions are recognised in what a filter holds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sapwood.bench.predicates import meanings, range_ends
from sapwood.filters import Filter

TEXTS: list[tuple[str, list[Any]]] = [
    ("x = 1", [("equal", 1)]),
    ("x = 'a'", [("equal", "a")]),
    ("x = true", [("bool", True)]),
    ("x in (1, 'a', false)", [("bool", False), ("equal", 1), ("equal", "a")]),
    ("x is not null", [("present", None)]),
    ("x is number", [("number", None)]),
    ("x is text", [("text", None)]),
    ("x <> 5", [("number", None), ("unequal", 5)]),
    ("x <> 'a'", [("text", None), ("unequal", "a")]),
    ("x prefix 'ab'", [("prefix", "ab")]),
    ("x suffix 'ab'", [("suffix", "ab")]),
    ("x contains 'ab'", [("contains", "ab")]),
    ("x like 'a%b'", []),
    ("x is null", []),
    ("x not in (1, 2)", []),
    ("x between 'a' and 'b'", []),
    ("x prefix 'a' and x suffix 'b'", []),
    ("x > 1 or x = 'a'", []),
    ("x <> ''", []),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_what_a_condition_is_found_by(text: str, expected: list[Any]) -> None:
    ((_, constraint),) = Filter(text).boxes[0]
    found = list(meanings(constraint))
    assert found == expected
    assert [type(what) for _, what in found] == [type(what) for _, what in expected]
    assert range_ends(constraint) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("x between 1 and 5", (1.0, 5.0)),
        ("x > 1", (math.nextafter(1.0, 2), math.inf)),
        ("x >= 1.5", (1.5, math.inf)),
        ("x < 0", (-math.inf, -5e-324)),
        ("x <= 0", (-math.inf, 0.0)),
        ("x < 9007199254740991", (-math.inf, 9007199254740990.0)),
        ("x < 9007199254740992", None),
        ("x > -9007199254740992", None),
        ("x > 1e300", None),
        ("x = 1", None),
        ("x > 'a'", None),
        ("x > 1 or x is null", None),
    ],
)
def test_the_ends_of_a_range(text: str, ends: tuple[float, float] | None) -> None:
    ((_, constraint),) = Filter(text).boxes[0]
    assert range_ends(constraint) == ends
