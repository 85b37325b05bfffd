"""The outline of a filter: what can be compared at once to see that it does *not* cover another.

Asking `Filter.covers` of each pair of ten thousand filters takes minutes. An outline says, for
each attribute that a filter always constrains, between which two places of one order its allowed
values lie. A filter that covers another constrains no attribute that the other leaves free, and
its places lie around those of the other; what is known to be a single value has to be the same
value. These are necessary conditions only: they choose whom to ask.

Places of all types are in one order: missing, then bools, numbers, texts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sapwood.filters.box import Box, has_patterns
from sapwood.filters.constraint import FALSE_ALLOWED, TRUE_ALLOWED, Constraint
from sapwood.filters.filter import Filter

Place: TypeAlias = tuple[Any, ...]
"""The type's rank, then where in this type: comparable with every other place."""

_MISSING, _BOOLS, _NUMBERS, _TEXTS, _BEYOND = range(5)

LOWEST: Place = (_MISSING,)
"""Where all values begin."""
HIGHEST: Place = (_BEYOND,)
"""Where all values end."""

OUTLINES_MAX = 65_536
"""Outlines remembered: every neighbour of a broker asks for the same ones."""


class Outline(NamedTuple):
    """Between which places the allowed values of each attribute lie."""

    points: dict[str, Place]
    """Attributes with a single allowed value, and where it is."""
    lows: dict[str, Place]
    """Where the allowed values begin, of all attributes that are always constrained."""
    highs: dict[str, Place]
    """Where they end."""
    is_plain: bool
    """Whether the filter is one conjunction without text patterns: quickly compared."""


@lru_cache(maxsize=OUTLINES_MAX)
def outline_of(filter: Filter) -> Outline:
    """The outline of a filter that can match: of several boxes, what is around all of them."""
    first, *others = filter.boxes
    outline = _outline_of_box(first)
    for box in others:
        outline = _around_both(outline, _outline_of_box(box))
    return outline


def _outline_of_box(box: Box) -> Outline:
    lows = {name: _low(constraint) for name, constraint in box}
    highs = {name: _high(constraint) for name, constraint in box}
    points = {name: lows[name] for name, constraint in box if _is_point(constraint)}
    return Outline(points, lows, highs, not has_patterns(box))


def _around_both(left: Outline, right: Outline) -> Outline:
    names = [name for name in left.lows if name in right.lows]
    return Outline(
        {name: at for name, at in left.points.items() if right.points.get(name) == at},
        {name: min(left.lows[name], right.lows[name]) for name in names},
        {name: max(left.highs[name], right.highs[name]) for name in names},
        is_plain=False,
    )


def _low(constraint: Constraint) -> Place:
    """Where the allowed values begin."""
    if constraint.missing:
        return LOWEST
    if constraint.bools:
        return (_BOOLS, 0 if constraint.bools & FALSE_ALLOWED else 1)
    if constraint.numbers:
        return (_NUMBERS, *constraint.numbers[0])
    return (_TEXTS, constraint.texts.ranges[0])


def _high(constraint: Constraint) -> Place:
    """Where the allowed values end; an odd number of cuts means that they go on for ever."""
    texts, numbers = constraint.texts.ranges, constraint.numbers
    if texts:
        return HIGHEST if len(texts) & 1 else (_TEXTS, texts[-1])
    if numbers:
        return (_TEXTS,) if len(numbers) & 1 else (_NUMBERS, *numbers[-1])
    if constraint.bools:
        return (_BOOLS, 2 if constraint.bools & TRUE_ALLOWED else 1)
    return (_BOOLS,)


def _is_point(constraint: Constraint) -> bool:
    """Whether there is just one allowed value, so that what is inside is the same."""
    texts, numbers = constraint.texts.ranges, constraint.numbers
    kinds = constraint.missing + constraint.bools.bit_count() + bool(numbers) + bool(texts)
    if kinds != 1:
        return False
    if numbers:
        return len(numbers) == 2 and numbers[0][0] == numbers[1][0]
    return not texts or (len(texts) == 2 and texts[1] == texts[0] + "\0")
