"""The values a notification may carry, and the checks at the border.

A value is a bool, an integer of 64 bits, a finite float or a text. Checks go by exact type: a
NumPy float is a subclass of float and would compare by its own rules, an enum member of its own
type would change its face on the wire. Names and texts must survive UTF-8, hence no lone
surrogates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TypeAlias

from sapwood.errors import (
    AttributeNameError,
    IntegerOutOfRangeError,
    MalformedTextError,
    NotFiniteError,
    TextTooLongError,
    TooManyAttributesError,
    UnsupportedTypeError,
)
from sapwood.filters.limits import DEFAULT_LIMITS, Limits

Value: TypeAlias = bool | int | float | str
"""What an attribute may hold."""

Number: TypeAlias = int | float
"""Numbers are one type: int and float compare exactly with each other."""

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1

_UNFIT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_CHARS_MAX = 40


def check_attributes(
    attributes: Mapping[str, Value], limits: Limits = DEFAULT_LIMITS
) -> Mapping[str, Value]:
    """Refuse a mapping that no notification can have; give it back otherwise."""
    if not isinstance(attributes, Mapping):
        raise UnsupportedTypeError(
            "a notification is a mapping from attribute names to values, "
            f"not {_type_name(attributes)}"
        )
    if len(attributes) > limits.attributes_max:
        raise TooManyAttributesError(
            f"{len(attributes)} attributes; a notification has at most {limits.attributes_max}"
        )
    for name, value in attributes.items():
        check_name(name, limits)
        check_value(value, name, limits)
    return attributes


def check_name(name: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Refuse a name that no attribute can have; give it back otherwise."""
    if type(name) is not str:
        raise AttributeNameError(f"an attribute name is a text, not {_type_name(name)}: {name!r}")
    if not name:
        raise AttributeNameError("an attribute name is empty; it needs at least one character")
    if len(name) > limits.attribute_name_chars_max:
        raise AttributeNameError(
            f"the attribute name {shorten(name)} has {len(name)} characters; "
            f"at most {limits.attribute_name_chars_max} are allowed"
        )
    if not name.isidentifier():  # identifiers, the usual case, hold nothing unfit
        unfit = _UNFIT_IN_NAMES.search(name)
        if unfit:
            raise AttributeNameError(
                f"the attribute name {shorten(name)} holds {unfit.group()!r}; "
                "control characters and lone surrogates are not allowed"
            )
    return name


def check_value(
    value: Value, attribute: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Value:
    """Refuse a value that no attribute can hold; give it back otherwise.

    `attribute` names the culprit in the message; without it the value stands in a filter.
    """
    kind = type(value)
    if kind is str:
        return _check_text(value, attribute, limits)  # type: ignore[arg-type]
    if kind is float:
        if not isfinite(value):  # type: ignore[arg-type]
            raise NotFiniteError(f"{_place(attribute)} is {value}; numbers must be finite")
    elif kind is int:
        if not INTEGER_MIN <= value <= INTEGER_MAX:  # type: ignore[operator]
            raise IntegerOutOfRangeError(
                f"{_place(attribute)} is an integer beyond 64 bits; "
                f"the range is {INTEGER_MIN} to {INTEGER_MAX}"
            )
    elif kind is not bool:
        raise UnsupportedTypeError(
            f"{_place(attribute)} is of type {_type_name(value)}; a value is bool, int, float or "
            f"str{_remedy(value)}"
        )
    return value


def normalised_number(value: Number) -> Number:
    """The one form of a number: an integer where that is exact and fits 64 bits.

    So ``1`` and ``1.0`` have the same text, and so have ``0`` and ``-0.0``.
    """
    if type(value) is float and value.is_integer() and INTEGER_MIN <= value <= INTEGER_MAX:
        return int(value)
    return value


def shorten(text: str) -> str:
    """A text in quotes for a message, without its tail if it is long."""
    shown = text if len(text) <= _SHOWN_CHARS_MAX else text[:_SHOWN_CHARS_MAX] + "..."
    return repr(shown)


def _check_text(text: str, attribute: str | None, limits: Limits) -> str:
    if text.isascii():
        size = len(text)
    else:
        surrogate = _SURROGATE.search(text)
        if surrogate:
            raise MalformedTextError(
                f"{_place(attribute)} holds the lone surrogate {surrogate.group()!r} at "
                f"position {surrogate.start()}; a text must be encodable as UTF-8"
            )
        size = len(text.encode())
    if size > limits.text_bytes_max:
        raise TextTooLongError(
            f"{_place(attribute)} is a text of {size} bytes; "
            f"at most {limits.text_bytes_max} are allowed (larger data belongs into the payload)"
        )
    return text


def _place(attribute: str | None) -> str:
    return "a value in a filter" if attribute is None else f"attribute {shorten(attribute)}"


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _remedy(value: object) -> str:
    """What to write instead, where that is clear."""
    if value is None:
        return " (leave the attribute out where it has no value)"
    if isinstance(value, bytes | bytearray | memoryview):
        return " (opaque data belongs into the payload)"
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return " (values do not nest: use names with dots, or the payload)"
    if isinstance(value, str):
        return " (convert it with str())"
    if type(value).__name__.startswith("bool"):  # NumPy's
        return " (convert it with bool())"
    if hasattr(value, "__index__"):
        return " (convert it with int())"
    return " (convert it with float())" if hasattr(value, "__float__") else ""
