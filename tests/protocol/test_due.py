"""A stored time is due when it has come, and when it makes no sense."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from sapwood.protocol.due import is_due, past


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (10.0, True),
        (9.0, True),
        (10.5, False),
        (12.0, False),
        (12.1, True),  # nobody stores a time that far ahead
        (inf, True),
        (-inf, True),
        (nan, True),
        (None, True),
        ("ghost", True),
    ],
)
def test_a_time_is_due_unless_it_lies_within_its_period(at: Any, expected: bool) -> None:
    assert is_due(at, 10.0, period=2.0) is expected


@pytest.mark.parametrize(
    ("since", "expected"),
    [(9.0, 9.0), (10.0, 10.0), (10.1, 10.0), (inf, 10.0), (nan, 10.0), (None, 10.0), ("x", 10.0)],
)
def test_nothing_has_been_so_since_a_time_to_come_or_since_no_time(
    since: Any, expected: float
) -> None:
    assert past(since, 10.0) == expected
