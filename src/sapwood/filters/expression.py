"""Filter expressions as trees, and their way to boxes.

Logic has three values: a condition can be true, false or unknown. For each expression there is a
set of notifications where it is true and a set where it is false; what is in neither is unknown.
``not`` swaps the two sets, ``and`` is true where both sides are true and false where one is
false, ``or`` the other way round. So negation never reaches a set: it only decides which of the
two is asked for, down to the single condition, whose kind knows both.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.errors import FilterTooLargeError
from sapwood.filters.box import EVERYTHING, Box, intersection, make_box
from sapwood.filters.kinds import Kind
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


def boxes_where(expression: Expression, wanted: bool, boxes_max: int) -> list[Box]:
    """Where the expression is true (`wanted`) or false (not `wanted`), as a union of boxes.

    Refuses an expression that needs more than `boxes_max` boxes on the way.
    """
    match expression:
        case Constant(value):
            return [EVERYTHING] if value is wanted else []
        case Condition(name, kind, operands):
            box = make_box([(name, (kind.true if wanted else kind.false)(*operands))])
            return [] if box is None else [box]
        case Not(operand):
            return boxes_where(operand, not wanted, boxes_max)
        case And(operands) if wanted:
            return _product(operands, wanted, boxes_max)
        case Or(operands) if not wanted:
            return _product(operands, wanted, boxes_max)
        case And(operands) | Or(operands):
            return _sum(operands, wanted, boxes_max)


def _sum(operands: tuple[Expression, ...], wanted: bool, boxes_max: int) -> list[Box]:
    """The union over the operands."""
    boxes: list[Box] = []
    for operand in operands:
        boxes.extend(boxes_where(operand, wanted, boxes_max))
        if len(boxes) > boxes_max:
            boxes = reduce(boxes)
            _check_size(boxes, boxes_max)
    return reduce(boxes)


def _product(operands: tuple[Expression, ...], wanted: bool, boxes_max: int) -> list[Box]:
    """The intersection of the operands: each box of one with each box of the next."""
    boxes = [EVERYTHING]
    for operand in operands:
        factors = boxes_where(operand, wanted, boxes_max)
        meets: dict[Box, None] = {}
        for box in boxes:
            for factor in factors:
                meet = intersection(box, factor)
                if meet is not None:
                    meets[meet] = None
            _check_size(meets, boxes_max)
        boxes = reduce(meets) if len(meets) > 1 else list(meets)
    return boxes


def _check_size(boxes: list[Box] | dict[Box, None], boxes_max: int) -> None:
    if len(boxes) > boxes_max:
        raise FilterTooLargeError(
            f"written as alternatives of conjunctions, the filter has more than {boxes_max} "
            "of them; split it into several filters"
        )
