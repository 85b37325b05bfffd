"""A conjunction of constraints on different attributes: a box in the space of notifications.

A `Box` is a tuple of ``(name, constraint)``, sorted by name, without attributes that may be
anything; so the box ``()`` matches everything, and boxes of equal meaning are equal (without text
patterns). A box that cannot match does not exist: functions answer None instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from sapwood.filters.constraint import ANYTHING, Constraint
from sapwood.filters.values import Value

Box: TypeAlias = tuple[tuple[str, Constraint], ...]

EVERYTHING: Box = ()
"""The box without constraints."""


def make_box(constraints: Iterable[tuple[str, Constraint]]) -> Box | None:
    """The box of these constraints, on distinct attributes; None if one of them is empty."""
    kept = []
    for name, constraint in constraints:
        if constraint.is_empty:
            return None
        if not constraint.is_anything:
            kept.append((name, constraint))
    kept.sort()
    return tuple(kept)


def matches(box: Box, attributes: Mapping[str, Value]) -> bool:
    """Whether the attributes fulfil every constraint."""
    get = attributes.get
    for name, constraint in box:
        if not constraint.matches(get(name)):
            return False
    return True


def constraint_on(box: Box, name: str) -> Constraint:
    """What the box demands of an attribute; anything, if it does not mention it."""
    for own_name, constraint in box:
        if own_name == name:
            return constraint
    return ANYTHING


def without(box: Box, name: str) -> Box:
    """The box without its demand on one attribute."""
    return tuple(pair for pair in box if pair[0] != name)


def has_patterns(box: Box) -> bool:
    """Whether text patterns are involved, which limit what can be decided."""
    return any(constraint.has_patterns for _, constraint in box)


def intersection(left: Box, right: Box) -> Box | None:
    """What is in both boxes; None if that is certainly nothing."""
    if not left or left == right:
        return right
    if not right:
        return left
    merged = dict(left)
    for name, constraint in right:
        own = merged.get(name)
        if own is not None:
            constraint = own.intersection(constraint)
            if constraint.is_empty:
                return None
        merged[name] = constraint
    return tuple(sorted(merged.items()))


def overlaps(left: Box, right: Box) -> bool:
    """Whether the boxes may have something in common; no is always right."""
    constraints = dict(left)
    for name, constraint in right:
        own = constraints.get(name)
        if own is not None and not own.overlaps(constraint):
            return False
    return True


def covers(larger: Box, smaller: Box) -> bool:
    """Whether `smaller` is inside `larger`; yes is always right, and no too without patterns.

    As boxes are not empty, that is so if and only if it is so attribute by attribute.
    """
    if len(larger) > len(smaller):
        return False
    constraints = dict(smaller)
    with_patterns = []
    for name, constraint in larger:
        other = constraints.get(name)
        if other is None:
            return False
        if constraint.texts.required or constraint.texts.excluded:
            with_patterns.append((constraint, other))  # costs more: later, if at all
        elif not constraint.covers(other):
            return False
    return all(constraint.covers(other) for constraint, other in with_patterns)


def difference(box: Box, removed: Box) -> list[Box]:
    """What remains of a box when another is cut out of it, as a list of boxes.

    Attribute by attribute, the part outside is split off and the rest narrowed to the part
    inside, so without patterns the pieces are disjoint.
    """
    if not overlaps(box, removed):
        return [box]
    pieces = []
    rest = dict(box)
    for name, constraint in removed:
        own = rest.get(name, ANYTHING)
        for outside in own.difference(constraint):
            pieces.append(tuple(sorted({**rest, name: outside}.items())))
        rest[name] = own.intersection(constraint)
    return pieces


PATTERN_WORK = 8
"""How many times as long a comparison takes for each text pattern that is involved, about."""

_VALUES_PER_WORK = 32
_SYMBOLS_PER_WORK = 32


def weight(box: Box) -> int:
    """How many comparisons of simple boxes one with this box is worth, about.

    Text patterns are compared symbol by symbol, and long lists of values one by one.
    """
    work = 1
    for _, constraint in box:
        texts = constraint.texts
        work += (len(constraint.numbers) + len(texts.ranges)) // _VALUES_PER_WORK
        for pattern in (*texts.required, *texts.excluded):
            work += PATTERN_WORK + len(pattern.symbols) // _SYMBOLS_PER_WORK
    return work


class Budget:
    """Work that may still be done, counted in comparisons of two simple boxes (`weight`)."""

    __slots__ = ("left",)

    def __init__(self, work_max: int) -> None:
        self.left = work_max

    def spend(self, work: int) -> bool:
        """Take work from what is left; whether there was enough."""
        self.left -= work
        return self.left >= 0

    @property
    def is_exceeded(self) -> bool:
        """Whether more was asked for than there was."""
        return self.left < 0


_LOOK = 8
"""A look whether two boxes overlap costs that much less than a comparison."""


def covered_by_union(box: Box, boxes: Iterable[Box], budget: Budget) -> bool:
    """Whether a union of boxes contains a box, even if none of them does so alone.

    What a box covers is cut out of the rest until nothing remains; first the one that leaves the
    fewest pieces. Yes is always right. No is right without text patterns, unless the budget is
    exceeded.
    """
    others = list(boxes)
    if not budget.spend(len(others) * weight(box) // _LOOK):
        return False
    remaining = [(box, [other for other in others if overlaps(other, box)])]
    while remaining:
        piece, candidates = remaining.pop()
        if not candidates or not budget.spend(len(candidates) * weight(piece)):
            return False
        constraints = dict(piece)
        nearest = min(candidates, key=lambda other: _excess(other, constraints))
        for rest in difference(piece, nearest):
            others = [other for other in candidates if other is not nearest]
            remaining.append((rest, [other for other in others if overlaps(other, rest)]))
    return True


def _excess(box: Box, constraints: Mapping[str, Constraint]) -> int:
    """How many constraints of a box are not fulfilled by all that fulfils the given ones."""
    excess = 0
    for name, constraint in box:
        other = constraints.get(name)
        if other is None or not constraint.covers(other):
            excess += 1
    return excess
