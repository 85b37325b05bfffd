"""How the predicates of filters can be found by hashing: for the counting algorithm.

A filter holds the meaning of its conditions, not their wording (`sapwood.filters.constraint`).
Here the usual kinds of conditions are recognised in it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sapwood.filters.constraint import PRESENT, Constraint
from sapwood.filters.number_set import ALL_NUMBERS, LOWEST, NumberCuts
from sapwood.filters.text_set import ALL_TEXT_CUTS, TextSet, prefix_range
from sapwood.filters.values import Value

_EXACT_BELOW = 2.0**53
"""Ends of ranges from here on are left to Python: as floats they would be rounded."""

Meaning = tuple[str, Any]
"""A way of looking at a value (``equal``, ``prefix`` …), and what has to be found there."""


def meanings(constraint: Constraint) -> Iterator[Meaning]:
    """By what a constraint is found; by nothing, if it has to be evaluated.

    By several, if it is a set: no value has two of them. ``<>`` is found by the type of the value,
    and the value it excepts (``unequal``) has to be counted off.
    """
    if constraint == PRESENT:
        yield "present", None
        return
    members = _members(constraint)
    if members is not None:
        yield from (("bool" if type(member) is bool else "equal", member) for member in members)
    elif constraint.missing or constraint.bools:
        return
    elif not constraint.texts.ranges:
        yield from _number_meanings(constraint.numbers)
    elif not constraint.numbers:
        yield from _text_meanings(constraint.texts)


def range_ends(constraint: Constraint) -> tuple[float, float] | None:
    """The least and the greatest float of a constraint that is one range of numbers."""
    cuts = constraint.numbers
    if constraint.missing or constraint.bools or constraint.texts.ranges or cuts == ALL_NUMBERS:
        return None
    if not 1 <= len(cuts) <= 2 or (len(cuts) == 2 and cuts[0][0] == cuts[1][0]):
        return None
    if any(cut != LOWEST and abs(cut[0]) >= _EXACT_BELOW for cut in cuts):
        return None
    low, high = float(cuts[0][0]), math.inf
    if cuts[0][1]:
        low = math.nextafter(low, math.inf)
    if len(cuts) == 2:
        high = float(cuts[1][0])
        if not cuts[1][1]:
            high = math.nextafter(high, -math.inf)
    return low, high


def _number_meanings(cuts: NumberCuts) -> Iterator[Meaning]:
    if cuts == ALL_NUMBERS:
        yield "number", None
    elif len(cuts) == 3 and cuts[0] == LOWEST and cuts[1][0] == cuts[2][0]:
        yield "number", None
        yield "unequal", cuts[1][0]


def _text_meanings(texts: TextSet) -> Iterator[Meaning]:
    ranges = texts.ranges
    if texts.has_patterns:
        if ranges == ALL_TEXT_CUTS and len(texts.required) == 1 and not texts.excluded:
            word, literal = texts.required[0].literal_kind()
            if word != "like":
                yield word, literal
    elif ranges == ALL_TEXT_CUTS:
        yield "text", None
    elif ranges == prefix_range(ranges[0]):
        yield "prefix", ranges[0]
    elif len(ranges) == 3 and ranges[0] == "" and ranges[2] == ranges[1] + "\0":
        yield "text", None
        yield "unequal", ranges[1]


def _members(constraint: Constraint) -> list[Value] | None:
    """The values that a constraint allows, if they are finitely many and do not include missing."""
    numbers, texts = constraint.numbers, constraint.texts.ranges
    if constraint.missing or constraint.has_patterns or len(numbers) % 2 or len(texts) % 2:
        return None
    number_pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    text_pairs = list(zip(texts[::2], texts[1::2], strict=True))
    if any(low[0] != high[0] for low, high in number_pairs):
        return None
    if any(high != low + "\0" for low, high in text_pairs):
        return None
    bools = [value for value in (False, True) if constraint.matches(value)]
    return [*bools, *(low[0] for low, _ in number_pairs), *(low for low, _ in text_pairs)]
