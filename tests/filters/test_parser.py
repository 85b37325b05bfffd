"""The grammar: what is accepted, and literals that are refused."""

from __future__ import annotations

import pytest

from sapwood.errors import (
    FilterError,
    FilterTooDeepError,
    MixedTypesError,
    NameLiteralError,
    NumberLiteralError,
    PatternError,
    TextLiteralError,
)
from sapwood.filters import Filter
from sapwood.filters.expression import Condition, Constant, Expression, Not, Or
from sapwood.filters.limits import DEFAULT_LIMITS, Limits
from sapwood.filters.parser import read_expression


def read(text: str) -> Expression:
    return read_expression(text, DEFAULT_LIMITS)


def operand(text: str) -> object:
    tree = read(text)
    assert isinstance(tree, Condition)
    return tree.operands[0]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("X = 1 AND Y = 2", "X = 1 and Y = 2"),
        ("x NoT iN (1,2)", "not (x in (1, 2))"),
        ("x not between 1 and 2", "x < 1 or x > 2"),
        ("x not like 'a%'", "not x prefix 'a'"),
        ("x not prefix 'a' and x not suffix 'b' and x not contains 'c'",
         "not (x prefix 'a') and not (x suffix 'b') and not (x contains 'c')"),
        ("not exists x", "x is null"),
        ("exists x", "x is not null"),
        ("x is not number", "not (x is number)"),
        ("100 < price", "price > 100"),
        ("100 <= price and 7 = x and 8 <> y and 9 != y and 1 > z and 2 >= z",
         "price >= 100 and x = 7 and y <> 8 and y <> 9 and z < 1 and z <= 2"),
        ("true = urgent", "urgent = true"),
        ("'a' <= x", "x >= 'a'"),
        ("a = 1 or b = 1 and c = 1", "a = 1 or (b = 1 and c = 1)"),
        ("not a = 1 and b = 1", "(not a = 1) and b = 1"),
        ("x between 1 and 2 and y = 1", "(x between 1 and 2) and y = 1"),
        ("x\n=\t1", "x=1"),
        ("x>-5", "x > -5"),
        ("true and true", "true"),
        ("not true", "false"),
        ("TRUE = x", "x = true"),
        ("x like 'a!_b' escape '!'", "x = 'a_b'"),
        ("x like 'a''%' escape ''''", "x = 'a%'"),
        ("\"x\" = 1", "x = 1"),
        ("and_ = 1 and in.x = 2 and nothing = 3", "\"and_\" = 1 and \"in.x\" = 2 and nothing = 3"),
    ],
)  # fmt: skip
def test_ways_to_say_the_same(text: str, other: str) -> None:
    assert Filter(text) == Filter(other)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("007", 7),
        ("1.", 1),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1000),
        ("1.5E-3", 0.0015),
        ("1e+19", 1e19),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0" * 5000 + "1", 1),
        ("1e-400", 0),
        ("''", ""),
        ("'it''s'", "it's"),
        ("'a\nb'", "a\nb"),
        ("'\"'", '"'),
        ("true", True),
        ("False", False),
    ],
)
def test_literals(literal: str, value: object) -> None:
    read_value = operand(f"x = {literal}")
    assert read_value == value
    assert type(read_value) is type(value)


def test_quoted_names() -> None:
    tree = read('"a ""quoted"" näme" = 1')
    assert isinstance(tree, Condition)
    assert tree.name == 'a "quoted" näme'


def test_shapes() -> None:
    assert read("false") == Constant(False)
    assert isinstance(read("x = 1 or y = 2 or z = 3"), Or)
    assert isinstance(read("x is not text"), Not)


@pytest.mark.parametrize(
    ("error", "text", "message", "position", "length"),
    [
        (NumberLiteralError, "x = 9223372036854775808", "beyond 64 bits", 4, 19),
        (NumberLiteralError, "x = -9223372036854775809", "integers go from -9", 4, 20),
        (NumberLiteralError, "x = " + "9" * 5000, r"9\.\.\. \(5000 digits\)", 4, 5000),
        (NumberLiteralError, "x = 1e999", "beyond the largest number", 4, 5),
        (TextLiteralError, "x = '\ud800'", "lone surrogate", 4, 3),
        (NameLiteralError, '"" = 1', "name is empty", 0, 2),
        (NameLiteralError, '"a\tb" = 1', "control characters", 0, 5),
        (NameLiteralError, "y = 1 and " + "n" * 256 + " = 1", "256 characters", 10, 256),
        (MixedTypesError, "x between 1 and 'a'", "two bounds of one type", 2, 7),
        (MixedTypesError, "x not between 1 and true", "two bounds of one type", 6, 7),
        (PatternError, "x like 'a!b' escape '!'", "before 'b'", 2, 4),
        (PatternError, "x not like 'a' escape 'ab'", "exactly one character", 6, 4),
    ],
)
def test_refused_literals(
    error: type[FilterError], text: str, message: str, position: int, length: int
) -> None:
    with pytest.raises(error, match=message) as caught:
        read(text)
    assert type(caught.value) is error
    assert (caught.value.text, caught.value.position, caught.value.length) == (
        text,
        position,
        length,
    )


def test_limits_are_obeyed() -> None:
    limits = Limits(text_bytes_max=3, attribute_name_chars_max=3, filter_nesting_max=1)
    read_expression("abc = 'abc' and (x = 1)", limits)
    with pytest.raises(TextLiteralError, match="text of 4 bytes; at most 3"):
        read_expression("x = 'abcd'", limits)
    with pytest.raises(NameLiteralError, match="at most 3"):
        read_expression("abcd = 1", limits)
    with pytest.raises(FilterTooDeepError, match="more than 1 deep"):
        read_expression("((x = 1))", limits)
