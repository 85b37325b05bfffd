"""Reading filters: limits, and that what is accepted can be passed on."""

from __future__ import annotations

import pytest
from hypothesis import given

from filters.oracle import Expression, text_of
from filters.strategies import patterned
from sapwood.errors import FilterTooDeepError, FilterTooLargeError, FilterTooLongError
from sapwood.filters.expression import And, Condition, Not
from sapwood.filters.limits import Limits
from sapwood.filters.syntax import parse, parse_expression


@given(patterned)
def test_the_canonical_text_is_read_to_the_same_boxes(expression: Expression) -> None:
    boxes, text = parse(text_of(expression))
    assert parse(text) == (boxes, text)


def test_expression_as_written() -> None:
    tree = parse_expression("not x = 1 and (y is not null)")
    assert isinstance(tree, And)
    assert [type(operand) for operand in tree.operands] == [Not, Not]
    flipped = parse_expression("100 < price")
    assert isinstance(flipped, Condition)
    assert (flipped.name, flipped.kind.operator, flipped.operands) == ("price", ">", (100,))


def test_too_long() -> None:
    with pytest.raises(FilterTooLongError, match="65537 bytes; at most 65536"):
        parse("x = 1".ljust(65537))
    parse("x = 1".ljust(65536))
    with pytest.raises(FilterTooLongError, match="12 bytes; at most 11"):
        parse("x = 'ééé'", Limits(filter_text_bytes_max=11))


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", ""), ("not (", ")")])
def test_too_deep(opening: str, closing: str) -> None:
    depth = 64 // (2 if opening == "not (" else 1)
    parse(opening * depth + "x = 1" + closing * depth)
    with pytest.raises(FilterTooDeepError, match="more than 64 deep"):
        parse(opening * (depth + 1) + "x = 1" + closing * (depth + 1))
    with pytest.raises(FilterTooDeepError, match="more than 64 deep"):
        parse(opening * 8000 + "x = 1" + closing * 8000)


def test_long_chains_are_not_deep() -> None:
    boxes, _ = parse(" or ".join(f"x = {n}" for n in range(2000)))
    assert len(boxes) == 1
    boxes, _ = parse(" and ".join(f"x <> {n}" for n in range(500)))
    assert len(boxes) == 1


def test_too_large() -> None:
    text = " and ".join(f"(x{n} = 1 or y{n} = 1)" for n in range(11))
    with pytest.raises(FilterTooLargeError, match="more than 1024"):
        parse(text)


def test_a_canonical_text_beyond_the_limit_is_refused() -> None:
    value = "v" * 600
    alternatives = " or ".join(f"x{n} = '{value}'" for n in range(4))
    more = " or ".join(f"y{n} = '{value}'" for n in range(4))
    limits = Limits(filter_text_bytes_max=8000)
    with pytest.raises(FilterTooLargeError, match="at most 8000 are allowed; split it"):
        parse(f"({alternatives}) and ({more})", limits)
