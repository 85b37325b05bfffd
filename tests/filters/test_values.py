"""Values at the border: what is let in, and how refusals read."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import (
    AttributeNameError,
    IntegerOutOfRangeError,
    InvalidNotificationError,
    MalformedTextError,
    NotFiniteError,
    TextTooLongError,
    TooManyAttributesError,
    UnsupportedTypeError,
)
from sapwood.filters.limits import Limits
from sapwood.filters.values import (
    INTEGER_MAX,
    INTEGER_MIN,
    Value,
    check_attributes,
    check_name,
    check_value,
    normalised_number,
    shorten,
)


class Colour(enum.IntEnum):
    RED = 1


class FakeScalar(float):
    """Looks like a NumPy scalar: a float of another type."""


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        0,
        INTEGER_MIN,
        INTEGER_MAX,
        0.5,
        -0.0,
        1e308,
        "",
        "é",
        "\U0010ffff",
        "x" * 65536,
    ],
)
def test_values_that_are_let_in(value: Value) -> None:
    assert check_value(value, "x") is value


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, UnsupportedTypeError,
         "attribute 'x' is of type NoneType; a value is bool, int, float or str "
         "(leave the attribute out where it has no value)"),
        (b"abc", UnsupportedTypeError,
         "attribute 'x' is of type bytes; a value is bool, int, float or str "
         "(opaque data belongs into the payload)"),
        ([1], UnsupportedTypeError,
         "attribute 'x' is of type list; a value is bool, int, float or str "
         "(values do not nest: use names with dots, or the payload)"),
        (FakeScalar(1), UnsupportedTypeError,
         f"attribute 'x' is of type {__name__}.FakeScalar; a value is bool, int, float or str "
         "(convert it with float())"),
        (Colour.RED, UnsupportedTypeError,
         f"attribute 'x' is of type {__name__}.Colour; a value is bool, int, float or str "
         "(convert it with int())"),
        (object, UnsupportedTypeError,
         "attribute 'x' is of type type; a value is bool, int, float or str"),
        (math.nan, NotFiniteError, "attribute 'x' is nan; numbers must be finite"),
        (-math.inf, NotFiniteError, "attribute 'x' is -inf; numbers must be finite"),
        (2**63, IntegerOutOfRangeError,
         "attribute 'x' is an integer beyond 64 bits; "
         "the range is -9223372036854775808 to 9223372036854775807"),
        ("a\ud800", MalformedTextError,
         "attribute 'x' holds the lone surrogate '\\ud800' at position 1; "
         "a text must be encodable as UTF-8"),
        ("é" * 32769, TextTooLongError,
         "attribute 'x' is a text of 65538 bytes; at most 65536 are allowed "
         "(larger data belongs into the payload)"),
    ],
)  # fmt: skip
def test_values_that_are_refused(value: Value, error: type[Exception], message: str) -> None:
    with pytest.raises(InvalidNotificationError) as caught:
        check_value(value, "x")
    assert type(caught.value) is error
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["x", "a.b", "with space", "é", "1", '"', "n" * 255])
def test_names_that_are_let_in(name: str) -> None:
    assert check_name(name) is name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "an attribute name is empty; it needs at least one character"),
        ("n" * 256,
         f"the attribute name '{'n' * 40}...' has 256 characters; at most 255 are allowed"),
        ("a\nb",
         "the attribute name 'a\\nb' holds '\\n'; control characters and lone surrogates "
         "are not allowed"),
        ("a\udfff",
         "the attribute name 'a\\udfff' holds '\\udfff'; control characters and lone surrogates "
         "are not allowed"),
        (5, "an attribute name is a text, not int: 5"),
    ],
)  # fmt: skip
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(AttributeNameError) as caught:
        check_name(name)
    assert str(caught.value) == message


def test_attributes() -> None:
    attributes = {"x": 1}
    assert check_attributes(attributes) is attributes
    with pytest.raises(TooManyAttributesError, match="3 attributes; a notification has at most 2"):
        check_attributes({"a": 1, "b": 1, "c": 1}, Limits(attributes_max=2))
    with pytest.raises(UnsupportedTypeError, match="names to values, not list"):
        check_attributes([("x", 1)])  # type: ignore[arg-type]
    with pytest.raises(AttributeNameError):
        check_attributes({"": 1})


def test_other_limits() -> None:
    with pytest.raises(TextTooLongError, match="text of 4 bytes; at most 3"):
        check_attributes({"x": "abcd"}, Limits(text_bytes_max=3))
    with pytest.raises(AttributeNameError, match="at most 3"):
        check_attributes({"abcd": 1}, Limits(attribute_name_chars_max=3))


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers()))
def test_normalised_numbers_are_equal_and_have_one_form(number: float) -> None:
    normalised = normalised_number(number)
    assert normalised == number
    if isinstance(normalised, float):
        assert not normalised.is_integer() or not INTEGER_MIN <= normalised <= INTEGER_MAX
    assert repr(normalised) != "-0.0"


def test_the_bounds_of_64_bits() -> None:
    assert type(normalised_number(-(2.0**63))) is int
    assert type(normalised_number(2.0**63)) is float


def test_shorten() -> None:
    assert shorten("a'b") == '"a\'b"'
    assert len(shorten("x" * 1000)) < 50


def test_a_mapping_need_not_be_a_dict() -> None:
    class Row(Mapping[str, Value]):
        def __getitem__(self, name: str) -> Value:
            return {"x": 1}[name]

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(["x"])

        def __len__(self) -> int:
            return 1

    row = Row()
    assert check_attributes(row) is row
