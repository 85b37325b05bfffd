"""The canonical form of a union of boxes: one form for one meaning.

A filter is a union of boxes, and the same set of notifications can be written as many unions:
``a > 1 or b = 2`` is also ``a > 1 or (b = 2 and not a > 1) or ...``. Routing wants to see at once
that two filters are the same, and to give them the same id.

The way there is the Blake canonical form of boolean functions, carried over from attributes with
two values to attributes with sets of values. Call a box *prime* if it lies inside the union and
no larger box does. The primes depend on the union's meaning alone. They are found by consensus:
the consensus of two boxes on attribute x has the union of their constraints on x and the
intersection on all others; it lies in the union of the two. Add consensus boxes and drop boxes
inside others until nothing changes, and the primes are what is left.

*Why none is missing.* Cut every attribute at all places where some box has a boundary; boxes are
then made of whole cells. Suppose some box made of cells lies in the union but inside no box of
the closed list, and take one with as few cells as possible. It is not a single cell, for a cell
of the union lies in some box entirely. So it can be split along one attribute into two smaller
boxes; each of these lies inside a box of the list, say P and Q. Their consensus on that attribute
contains both halves, hence the whole; and as the list is closed, it lies inside a box of the
list: a contradiction.

From the primes, those that the others cover together are dropped in a fixed order. All this is
exact without text patterns. With them, a union or a covering may go undetected: the result is
still right, and still stable (the form of a form is itself), but two texts of equal meaning may
keep two forms. The same holds where the budgets in `sapwood.filters.limits` are exceeded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from sapwood.filters.box import (
    Box,
    Budget,
    constraint_on,
    covered_by_union,
    covers,
    has_patterns,
    intersection,
    weight,
    without,
)
from sapwood.filters.constraint import Constraint
from sapwood.filters.limits import CANONICAL_WORK_MAX, PRIME_BOXES_MAX

Spend: TypeAlias = Callable[[int], object]
"""Announces work; may raise if that is too much."""

Demand: TypeAlias = tuple[str, Constraint]
"""An attribute, and the constraint that allows one value of it."""


def canonical(boxes: Iterable[Box]) -> tuple[Box, ...]:
    """The canonical list of boxes with the same union."""
    return canonical_of_reduced(reduce(boxes))


def canonical_of_reduced(reduced: list[Box]) -> tuple[Box, ...]:
    """The canonical list of boxes with the same union as what `reduce` returned."""
    if len(reduced) < 2:
        return tuple(reduced)
    smallest = _smallest_cover(reduced)
    if smallest is None:
        return tuple(reduced)
    if any(map(has_patterns, reduced)) and not _is_stable(smallest):
        return tuple(reduced)
    return tuple(smallest)


def reduce(boxes: Iterable[Box], spend: Spend | None = None) -> list[Box]:
    """An equal union, sorted, in which no box lies inside another and no two make one.

    Two boxes make one if they differ in a single attribute and the union of these two constraints
    is a constraint: the perfect merger of two filters (Jaeger 2007, 2.2.3). Work is announced by
    `spend` before it is done, which may raise.
    """
    current = sorted(set(boxes))
    while len(current) > 1:
        merged = current
        for name in _names_to_merge(current):
            merged = _merged_along(name, merged, spend)
        merged = sorted(_absorbed(merged, spend))
        if merged == current:
            break
        current = merged
    return current


def _names_to_merge(boxes: list[Box]) -> list[str]:
    """The attributes in which alone some boxes differ, sorted."""
    seen: set[tuple[str, Box]] = set()
    names: set[str] = set()
    for box in boxes:
        for name, _ in box:
            key = name, without(box, name)
            if key in seen:
                names.add(name)
            seen.add(key)
    return sorted(names)


def _absorbed(boxes: Iterable[Box], spend: Spend | None = None) -> list[Box]:
    """The boxes that lie inside no other one.

    A box that demands one value of an attribute covers only boxes that demand the same. So boxes
    are kept by their first such demand, and one is compared with those under its own demands and
    those without any. Those with fewer demands come first: what comes later covers none of them.
    """
    kept: dict[Demand | None, list[tuple[int, Box]]] = {}
    bits: dict[str, int] = {}
    demanding = [(box, [pair for pair in box if _is_point(pair[1])]) for box in boxes]
    for box, demands in sorted(demanding, key=lambda one: (len(one[0]), len(one[1]))):
        # A box covers only boxes that constrain all its attributes: a quick test for most pairs.
        names = sum(bits.setdefault(name, 1 << len(bits)) for name, _ in box)
        near = [kept[key] for key in (*demands, None) if key in kept]
        if spend is not None:
            spend(weight(box) * sum(map(len, near)))
        if any(not own & ~names and covers(other, box) for those in near for own, other in those):
            continue
        first = demands[0] if demands else None
        own_kind = [
            (own, other)
            for own, other in kept.get(first, ())
            if own != names or not covers(box, other)
        ]
        kept[first] = [*own_kind, (names, box)]
    return [box for those in kept.values() for _, box in those]


def _is_point(constraint: Constraint) -> bool:
    """Whether just one number or one text is allowed."""
    if constraint.missing or constraint.bools or constraint.has_patterns:
        return False
    numbers, texts = constraint.numbers, constraint.texts.ranges
    if not texts:
        return len(numbers) == 2 and numbers[0][0] == numbers[1][0]
    return not numbers and len(texts) == 2 and texts[1] == texts[0] + "\0"


def _merged_along(name: str, boxes: list[Box], spend: Spend | None = None) -> list[Box]:
    """The boxes, with those united that differ in one attribute only, as far as that is exact."""
    others = [box for box in boxes if constraint_on(box, name).is_anything]
    groups: dict[Box, list[Constraint]] = {}
    for box in boxes:
        constraint = constraint_on(box, name)
        if not constraint.is_anything:
            groups.setdefault(without(box, name), []).append(constraint)
    for rest, constraints in groups.items():
        if spend is not None and any(one.has_patterns for one in constraints):
            spend(len(constraints) * sum(weight(((name, one),)) for one in constraints) // 2)
        for constraint in _united(constraints):
            pairs = rest if constraint.is_anything else (*rest, (name, constraint))
            others.append(tuple(sorted(pairs)))
    return list(dict.fromkeys(others))


def _united(constraints: list[Constraint]) -> list[Constraint]:
    """The constraints, united until no two have an exact union.

    First neighbours are united, then neighbours of these, and so on: that way long lists of
    values take hardly longer than sorting them.
    """
    while len(constraints) > 1:
        halved: list[Constraint] = []
        for index in range(0, len(constraints) - 1, 2):
            left, right = constraints[index : index + 2]
            union = left.union(right)
            halved.extend((left, right) if union is None else (union,))
        if len(constraints) % 2:
            halved.append(constraints[-1])
        if len(halved) == len(constraints):
            return _united_one_by_one(constraints)
        constraints = halved
    return constraints


def _united_one_by_one(constraints: list[Constraint]) -> list[Constraint]:
    """The same, trying all pairs; for constraints with patterns, of which there are few."""
    result: list[Constraint] = []
    waiting = list(reversed(constraints))
    while waiting:
        constraint = waiting.pop()
        for index, other in enumerate(result):
            union = other.union(constraint)
            if union is not None:
                del result[index]
                waiting.append(union)
                break
        else:
            result.append(constraint)
    return result


def _smallest_cover(boxes: list[Box]) -> list[Box] | None:
    """The primes that are needed, sorted; None if the budget does not suffice to find them."""
    budget = Budget(CANONICAL_WORK_MAX)
    needed = _irredundant(_primes(boxes, budget), budget)
    return None if budget.is_exceeded else sorted(needed)


def _is_stable(boxes: list[Box]) -> bool:
    """Whether the canonical form of these boxes is themselves.

    Without patterns that is a theorem; with patterns it has to be seen.
    """
    return reduce(boxes) == boxes and _smallest_cover(boxes) == boxes


def _primes(boxes: list[Box], budget: Budget) -> list[Box]:
    """All maximal boxes of the union; something else if the budget is exceeded."""
    closed: list[Box] = []
    waiting = deque(boxes)
    if len(waiting) > PRIME_BOXES_MAX:
        budget.spend(2 * CANONICAL_WORK_MAX)
    while waiting and not budget.is_exceeded:
        box = waiting.popleft()
        if not budget.spend(len(closed) * weight(box)):
            break
        found = [new for other in closed for new in _consensus_boxes(box, other)]
        closed.append(box)
        for candidate in found:
            known = [*closed, *waiting]
            if not budget.spend(len(known) * weight(candidate)):
                break
            if not any(covers(other, candidate) for other in known):
                closed = [other for other in closed if not covers(candidate, other)]
                waiting = deque(other for other in waiting if not covers(candidate, other))
                waiting.append(candidate)
            if len(closed) + len(waiting) > PRIME_BOXES_MAX:
                budget.spend(CANONICAL_WORK_MAX)
                break
    return closed


def _consensus_boxes(left: Box, right: Box) -> list[Box]:
    """The consensus of two boxes on each attribute, where it is not inside one of the two.

    If one of them does not constrain the attribute, or allows all that the other allows, then the
    consensus lies inside that one.
    """
    result = []
    right_constraints = dict(right)
    for name, constraint in left:
        other = right_constraints.get(name)
        if other is None or constraint.covers(other) or other.covers(constraint):
            continue
        union = constraint.union(other)
        if union is None:
            continue
        rest = intersection(without(left, name), without(right, name))
        if rest is not None:
            pairs = rest if union.is_anything else (*rest, (name, union))
            result.append(tuple(sorted(pairs)))
    return result


def _irredundant(primes: list[Box], budget: Budget) -> list[Box]:
    """The primes without those that the others cover together.

    Boxes with many constraints go first, so that the text of what remains is short; the order is
    fixed, so that the result depends on nothing but the set of primes.
    """
    remaining = sorted(primes, key=lambda box: (-len(box), box))
    for box in list(remaining):
        if budget.is_exceeded:
            break
        others = [other for other in remaining if other is not box]
        if covered_by_union(box, others, budget):
            remaining = others
    return remaining
