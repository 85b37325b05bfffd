"""Filter expressions as trees, and their way to boxes.

Logic has three values: a condition can be true, false or unknown. For each expression there is a
set of notifications where it is true and a set where it is false; what is in neither is unknown.
``not`` swaps the two sets, ``and`` is true where both sides are true and false where one is
false, ``or`` the other way round. So negation never reaches a set: it only decides which of the
two is asked for, down to the single condition, whose kind knows both.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeAlias

import msgspec

from sapwood.errors import FilterTooLargeError
from sapwood.filters.box import (
    EVERYTHING,
    PATTERN_WORK,
    Box,
    Budget,
    intersection,
    make_box,
    weight,
)
from sapwood.filters.kinds import Kind
from sapwood.filters.limits import Limits
from sapwood.filters.normal_form import reduce


class Constant(msgspec.Struct, frozen=True):
    """``true``, which matches everything, or ``false``, which matches nothing."""

    value: bool


class Condition(msgspec.Struct, frozen=True):
    """A condition on one attribute, such as ``price > 100``."""

    name: str
    kind: Kind
    operands: tuple[object, ...]


class Not(msgspec.Struct, frozen=True):
    """``not operand``"""

    operand: Expression


class And(msgspec.Struct, frozen=True):
    """All operands, joined by ``and``."""

    operands: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True):
    """All operands, joined by ``or``."""

    operands: tuple[Expression, ...]


Expression: TypeAlias = Constant | Condition | Not | And | Or


class Work:
    """The work of reading one text: refused as soon as it would be too much."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._budget = Budget(limits.filter_work_max)

    def spend(self, work: int) -> None:
        """Announce work; a FilterTooLargeError if that is more than the limits allow."""
        if not self._budget.spend(work):
            raise FilterTooLargeError(
                "the filter takes more than the work allowed to read one "
                f"({self._limits.filter_work_max} comparisons; patterns count "
                f"{PATTERN_WORK} each); split it into several filters"
            )


def boxes_where(
    expression: Expression, wanted: bool, limits: Limits, work: Work | None = None
) -> list[Box]:
    """Where the expression is true (`wanted`) or false (not `wanted`), as a union of boxes.

    The boxes are reduced (see `sapwood.filters.normal_form.reduce`). Refuses an expression that
    needs more boxes on the way than the limits allow, or more work.
    """
    work = Work(limits) if work is None else work
    match expression:
        case Constant(value):
            return [EVERYTHING] if value is wanted else []
        case Condition(name, kind, operands):
            box = make_box([(name, (kind.true if wanted else kind.false)(*operands))])
            return [] if box is None else [box]
        case Not(operand):
            return boxes_where(operand, not wanted, limits, work)
        case And(operands) if wanted:
            return _product(operands, wanted, limits, work)
        case Or(operands) if not wanted:
            return _product(operands, wanted, limits, work)
        case And(operands) | Or(operands):
            return _sum(operands, wanted, limits, work)


def _sum(operands: tuple[Expression, ...], wanted: bool, limits: Limits, work: Work) -> list[Box]:
    """The union over the operands."""
    boxes: list[Box] = []
    for operand in operands:
        boxes.extend(boxes_where(operand, wanted, limits, work))
        if len(boxes) > limits.filter_boxes_max:
            boxes = reduce(boxes, work.spend)
            _check_size(boxes, limits)
    return reduce(boxes, work.spend)


def _product(
    operands: tuple[Expression, ...], wanted: bool, limits: Limits, work: Work
) -> list[Box]:
    """The intersection over the operands.

    Neighbours are intersected first, then neighbours of the results, and so on: that way long
    chains of conditions on one attribute take hardly longer than short ones.
    """
    factors = [boxes_where(operand, wanted, limits, work) for operand in operands]
    while len(factors) > 1:
        halved = [
            _meets(factors[index], factors[index + 1], limits, work)
            for index in range(0, len(factors) - 1, 2)
        ]
        factors = halved + factors[len(halved) * 2 :]
    return factors[0]


def _meets(left: list[Box], right: list[Box], limits: Limits, work: Work) -> list[Box]:
    """Each box of one list with each box of the other."""
    meets: dict[Box, None] = {}
    sizes = [weight(other) for other in right]
    for box in left:
        own = weight(box)
        work.spend(sum(own * size for size in sizes))
        for other in right:
            meet = intersection(box, other)
            if meet is not None:
                _check_patterns(meet, limits)
                meets[meet] = None
        _check_size(meets, limits)
    return reduce(meets, work.spend)


def _check_size(boxes: Sized, limits: Limits) -> None:
    if len(boxes) > limits.filter_boxes_max:
        raise FilterTooLargeError(
            "written as alternatives of conjunctions, the filter has more than "
            f"{limits.filter_boxes_max} of them; split it into several filters"
        )


def _check_patterns(box: Box, limits: Limits) -> None:
    for name, constraint in box:
        count = len(constraint.texts.required) + len(constraint.texts.excluded)
        if count > limits.filter_patterns_max:
            raise FilterTooLargeError(
                f"the attribute {name!r} has to fulfil more than {limits.filter_patterns_max} "
                "patterns (like, suffix, contains) at once; split the filter into several"
            )
