"""A stored time is due when it has come, and when it makes no sense."""

from __future__ import annotations

from math import inf, nan

import pytest

from sapwood.protocol.due import is_due


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
    ],
)
def test_a_time_is_due_unless_it_lies_within_its_period(at: float, expected: bool) -> None:
    assert is_due(at, 10.0, period=2.0) is expected
