"""Perfect mergers: one filter in place of two, with exactly the union of their meanings.

Routing tables shrink when two filters are replaced by one (Jaeger 2007, 2.2.3). A merger is
*perfect* if it matches nothing that neither of the two matches; only such mergers are made here,
so a merged routing table never forwards more than the one it came from.
"""

from __future__ import annotations

from sapwood.filters import box as boxes
from sapwood.filters.box import Box, Budget, covered_by_union, weight
from sapwood.filters.limits import COVER_WORK_MAX, MERGE_BOXES_MAX
from sapwood.filters.normal_form import canonical


def union_covers(larger: tuple[Box, ...], smaller: tuple[Box, ...]) -> bool:
    """Whether a union of boxes contains another; yes is always right.

    No is right too, unless text patterns are involved or the budget is exceeded.
    """
    if len(larger) == 1:
        only = larger[0]
        cost = weight(only)
        if cost > 1 and cost * len(smaller) > COVER_WORK_MAX:
            return False
        return all(boxes.covers(only, box) for box in smaller)
    budget = Budget(COVER_WORK_MAX)
    return all(covered_by_union(box, larger, budget) for box in smaller)


def perfect_merger(left: tuple[Box, ...], right: tuple[Box, ...]) -> tuple[Box, ...] | None:
    """The canonical union of two canonical filters if that is simple, else None.

    Simple is: one of them covers the other, or the union is a single box, which for two single
    boxes means that they differ in one attribute only.
    """
    if union_covers(left, right):
        return left
    if union_covers(right, left):
        return right
    if len(left) == len(right) == 1:
        return _merger_of_boxes(left[0], right[0])
    if len(left) + len(right) > MERGE_BOXES_MAX:
        return None
    union = canonical(left + right)
    return union if len(union) == 1 else None


def _merger_of_boxes(left: Box, right: Box) -> tuple[Box, ...] | None:
    """One box for two that differ in exactly one attribute, if the union there is exact.

    An attribute that only one of the two constrains would make that one the smaller: these cases
    are covering, and have been decided before.
    """
    if len(left) != len(right):
        return None
    different = None
    for index, (mine, other) in enumerate(zip(left, right, strict=True)):
        if mine != other:
            if mine[0] != other[0] or different is not None:
                return None
            different = index
    if different is None:
        return (left,)
    name, constraint = left[different]
    union = constraint.union(right[different][1])
    if union is None:
        return None
    pairs = () if union.is_anything else ((name, union),)
    return ((*left[:different], *pairs, *left[different + 1 :]),)
