"""Constraints that allow a few values know them."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.filters import (
    ANY_BOOL,
    MISSING,
    NOTHING,
    PRESENT,
    Constraint,
    between,
    contains,
    equal,
    none_of,
    one_of,
    prefix,
)
from sapwood.matching.members import members_of


@pytest.mark.parametrize(
    ("constraint", "members"),
    [
        (equal(1), [1]),
        (equal("a"), ["a"]),
        (equal(True), [True]),
        (one_of([2, 1.5, "b", "a", False]), [1.5, 2, "a", "b", False]),
        (ANY_BOOL, [False, True]),
        (NOTHING, []),
        (none_of([1]), None),
        (between(1, 2), None),
        (prefix("a"), None),
        (contains("a"), None),
        (PRESENT, None),
        (MISSING, None),
        (Constraint(missing=True, numbers=equal(1).numbers), None),
        (one_of(["a", "a\0"]), None),
    ],
)
def test_finite_constraints_have_members(constraint: Constraint, members: list[Any] | None) -> None:
    found = members_of(constraint)
    assert found == members
    assert list(map(type, found or [])) == list(map(type, members or []))
