"""Constraints that a few values fulfil."""

from __future__ import annotations

from sapwood.filters.constraint import Constraint
from sapwood.filters.values import Value


def members_of(constraint: Constraint) -> list[Value] | None:
    """The values of a constraint that allows finitely many, and not that the value is missing."""
    texts, numbers = constraint.texts, constraint.numbers
    if constraint.missing or texts.has_patterns or len(numbers) & 1 or len(texts.ranges) & 1:
        return None
    members: list[Value] = []
    for (low, _), (high, _) in zip(numbers[::2], numbers[1::2], strict=True):
        if low != high:
            return None
        members.append(low)
    for low_text, high_text in zip(texts.ranges[::2], texts.ranges[1::2], strict=True):
        if high_text != low_text + "\0":
            return None
        members.append(low_text)
    return members + [value for value in (False, True) if constraint.matches(value)]
