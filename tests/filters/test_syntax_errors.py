"""What people are told about a text that cannot be read."""

from __future__ import annotations

import itertools

import pytest

from sapwood.errors import FilterError, FilterSyntaxError, UnterminatedTextError
from sapwood.filters import Filter

VALUE = "a value (number, 'text', true or false)"
CONDITION = "a condition such as price > 100"
OPERATOR = "an operator (=, <>, !=, <, <=, >, >=, between, in, like, prefix, suffix, contains, is)"


def error_of(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        Filter(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("price > and x = 1", 9, f"expected {VALUE}, found 'and'"),
        ("price >", 8, f"expected {VALUE}, found the end of the filter"),
        ("price > x", 9,
         f"expected {VALUE}, found 'x'; a text stands in single quotes ('x'), "
         "and attributes are not compared"),
        ('x = "IBM"', 5,
         f"expected {VALUE}, found '\"IBM\"'; a text stands in single quotes: 'IBM'"),
        ("x = null", 5,
         f"expected {VALUE}, found 'null'; a missing attribute is asked for with is null"),
        ("x == 5", 4, f"expected {VALUE}, found '='; equality is written ="),
        ("x = 1.5.2", 5, f"expected {VALUE}, found '1.5.2'"),
        ("x in ()", 7, f"expected {VALUE}, found ')'"),
        ("x in (1 2)", 9, "expected a comma or ), found '2'"),
        ("x in 1", 6, "expected (, found '1'"),
        ("x between 1", 12, "expected and, found the end of the filter"),
        ("urgent", 7,
         f"expected {OPERATOR}, found the end of the filter; a name alone is no condition: "
         "write urgent = true or exists urgent"),
        ("a = 1 and urgent or b = 2", 18,
         f"expected {OPERATOR}, found 'or'; a name alone is no condition: "
         "write urgent = true or exists urgent"),
        ("x # 5", 3, f"expected {OPERATOR}, found '#'"),
        ("5 5", 3, "expected a comparison (=, <>, !=, <, <=, >, >=), found '5'"),
        ("5 = 5", 5,
         "expected an attribute name, found '5'; one side of a comparison is an attribute"),
        ("exists 5", 8,
         "expected an attribute name, found '5'; one side of a comparison is an attribute"),
        ("x not 5", 7, "expected one of between, in, like, prefix, suffix, contains, found '5'"),
        ("x is 5", 6, "expected not or one of null, number, text, bool, found '5'"),
        ("x like 5", 8, "expected a text in single quotes, found '5'"),
        ("", 1, f"expected {CONDITION}, found the end of the filter"),
        ("a = 1 and", 10, f"expected {CONDITION}, found the end of the filter"),
        ("number = 1", 1,
         f"expected {CONDITION}, found 'number'; as a name, the keyword number is written "
         '"number"'),
        ("!x = 1", 1, f"expected {CONDITION}, found '!'; negation is written not"),
        ("a = 1 && b = 1", 7,
         "expected and, or or the end of the filter, found '&&'; "
         "conditions are joined with and"),
        ("a = 1 b = 2", 7, "expected and, or or the end of the filter, found 'b'"),
        ("x = 'it's'", 9,
         "expected and, or or the end of the filter, found 's'; a quote inside a text is doubled"),
        ("(a = 1", 7, "expected ), found the end of the filter"),
    ],
)  # fmt: skip
def test_messages(text: str, column: int, problem: str) -> None:
    error = error_of(text)
    assert type(error) is FilterSyntaxError
    assert (error.column, error.problem) == (column, problem)
    assert error.summary == f"filter: column {column}: {problem}"
    assert error.expected


def test_unterminated() -> None:
    error = error_of("x = 'abc")
    assert type(error) is UnterminatedTextError
    assert error.problem == "the text that begins here has no closing '; a ' inside is doubled"
    assert error.position == 4
    error = error_of('a = 1 and "b = 2')
    assert type(error) is UnterminatedTextError
    assert error.problem.startswith("the name that begins here has no closing")


def test_the_whole_message() -> None:
    assert str(error_of("price > and x = 1")) == (
        "filter: column 9: expected a value (number, 'text', true or false), found 'and'\n"
        "  price > and x = 1\n"
        "          ^^^"
    )


def test_lines() -> None:
    error = error_of("a = 1\nand b =\nor c = 1")
    assert (error.line, error.column) == (3, 1)
    assert str(error).endswith("\n  or c = 1\n  ^^")
    assert error.summary.startswith("filter: line 3, column 1: ")


@pytest.mark.slow
def test_every_text_gives_an_error_of_ours_or_a_filter() -> None:
    pieces = ["x", "=", "5", "'a'", "(", ")", "not", "in", "and", "is", "null", '"', "'", "\0", "é"]
    errors = []
    for three in itertools.product(pieces, repeat=3):
        try:
            Filter(" ".join(three))
        except FilterError as error:
            errors.append(error)
    assert len(errors) > 3000
    assert all(error.position is not None and error.excerpt for error in errors)
