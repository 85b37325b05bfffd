"""What an index reads: all forms of notifications; and what it refuses, unchanged by it."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict, UserDict
from collections.abc import Callable
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from matching.drawing import box_filter, events
from matching.model import Pair
from sapwood.errors import (
    AttributeNameError,
    IntegerOutOfRangeError,
    MalformedTextError,
    NotFiniteError,
    SapwoodError,
    TextTooLongError,
    TooManyAttributesError,
    UnsupportedTypeError,
)
from sapwood.filters import Filter, Notification, Value, check_attributes
from sapwood.filters.limits import DEFAULT_LIMITS
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import CHUNK


class Level(enum.IntEnum):
    HIGH = 3


class Label(str):
    __slots__ = ()


TEXT_MAX = DEFAULT_LIMITS.text_bytes_max
NAME_MAX = DEFAULT_LIMITS.attribute_name_chars_max

BAD_VALUES: list[tuple[Any, type[SapwoodError], str]] = [
    (math.nan, NotFiniteError, "nan"),
    (math.inf, NotFiniteError, "inf"),
    (-math.inf, NotFiniteError, "-inf"),
    (None, UnsupportedTypeError, "NoneType"),
    ({"deep": 1}, UnsupportedTypeError, "dict"),
    ([1], UnsupportedTypeError, "list"),
    ((1,), UnsupportedTypeError, "tuple"),
    (b"bytes", UnsupportedTypeError, "bytes"),
    (1j, UnsupportedTypeError, "complex"),
    (object(), UnsupportedTypeError, "object"),
    (np.float64(1.5), UnsupportedTypeError, "float64"),
    (np.int64(1), UnsupportedTypeError, "int64"),
    (np.bool_(True), UnsupportedTypeError, "bool"),
    (Level.HIGH, UnsupportedTypeError, "Level"),
    (Label("a"), UnsupportedTypeError, "Label"),
    (2**63, IntegerOutOfRangeError, "64 bits"),
    (-(2**63) - 1, IntegerOutOfRangeError, "64 bits"),
    (2**200, IntegerOutOfRangeError, "64 bits"),
    ("\ud800", MalformedTextError, r"\ud800"),
    ("a\udfff", MalformedTextError, r"\udfff"),
    ("a" * (TEXT_MAX + 1), TextTooLongError, str(TEXT_MAX)),
    ("é" * (TEXT_MAX // 2 + 1), TextTooLongError, str(TEXT_MAX)),
]

BAD_NAMES: list[tuple[Any, str]] = [
    ("", "empty"),
    ("tab\there", r"\t"),
    ("\x7f", r"\x7f"),
    ("a\x85", r"\x85"),
    ("\ud800", r"\ud800"),
    ("n" * (NAME_MAX + 1), str(NAME_MAX)),
    ("é" * (NAME_MAX + 1), str(NAME_MAX)),
    (5, "int"),
    (None, "NoneType"),
    (b"bytes", "bytes"),
    (Label("a"), "Label"),
]

BAD_EVENTS: list[tuple[Any, type[SapwoodError], str]] = [
    *(({name: value}, error, text) for name in ("a", "x") for value, error, text in BAD_VALUES),
    *(({name: 1}, AttributeNameError, text) for name, text in BAD_NAMES),
    ({f"n{number}": number for number in range(1025)}, TooManyAttributesError, "1025"),
    (5, UnsupportedTypeError, "int"),
    (None, UnsupportedTypeError, "NoneType"),
    ("a = 1", UnsupportedTypeError, "str"),
    ([("a", 1)], UnsupportedTypeError, "list"),
]
"""Attribute a is known to the index, attribute x is not."""


def pair_of_filters() -> Pair:
    pair = Pair()
    for key in range(40):
        pair.add(key, box_filter(Random(key)), key % 3)
    pair.add("a", Filter("a = 1 or a > 5"))
    return pair


PAIR = pair_of_filters()
SHORTLY = events(Random(1), 3)
AFTERWARDS = events(Random(2), 5)


def ask_one(index: CompiledIndex[Any], bad: Any) -> None:
    index.match(bad)


def ask_where(index: CompiledIndex[Any], bad: Any) -> None:
    index.destinations(bad, exclude=1)


def ask_in_front(index: CompiledIndex[Any], bad: Any) -> None:
    index.match_batch([bad, *SHORTLY])


def ask_behind(index: CompiledIndex[Any], bad: Any) -> None:
    index.match_batch([*SHORTLY, bad])


def ask_late(index: CompiledIndex[Any], bad: Any) -> None:
    index.match_batch([{"a": 1}] * (CHUNK + 10) + [bad])


@pytest.mark.parametrize("ask", [ask_one, ask_where, ask_in_front, ask_behind, ask_late])
def test_bad_input_is_refused_and_changes_nothing(ask: Callable[[Any, Any], None]) -> None:
    for bad, error, text in BAD_EVENTS:
        with pytest.raises(error) as refused:
            ask(PAIR.index, bad)
        assert type(refused.value) is error, repr(bad)[:80]
        assert text in str(refused.value)
        if isinstance(bad, dict) and len(bad) == 1 and error is not AttributeNameError:
            assert repr(next(iter(bad))) in str(refused.value), "the attribute is named"
        PAIR.check(AFTERWARDS)
    PAIR.check_destinations(AFTERWARDS)


def test_values_at_the_limits_are_read() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    for text in ("a > 0", "a < 0", "a >= ''", "exists a"):
        index.add(text, Filter(text))
    for value in (2**63 - 1, 1.7976931348623157e308, 5e-324):
        assert sorted(index.match({"a": value})) == ["a > 0", "exists a"]
    for value in (-(2**63), -1.7976931348623157e308, -5e-324):
        assert sorted(index.match({"a": value})) == ["a < 0", "exists a"]
    for text in ("", "a" * TEXT_MAX, "é" * (TEXT_MAX // 2), "\0", "\U0010ffff"):
        assert sorted(index.match({"a": text})) == ["a >= ''", "exists a"]
    for name in ("n" * NAME_MAX, "é" * NAME_MAX, " ", "日本 %", "\xa0"):
        assert index.match({name: 1}) == []
    assert index.match({f"n{number}": 1 for number in range(1024)}) == []


def test_every_form_of_notification_is_read() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("key", Filter("a = 1 and b = 'text'"))
    attributes: dict[str, Value] = {"a": 1, "b": "text"}
    forms: list[Any] = [
        attributes,
        Notification(attributes, payload=b"more"),
        OrderedDict(attributes),
        UserDict(attributes),
        MappingProxyType(attributes),
    ]
    for form in forms:
        assert index.match(form) == ["key"]
        assert index.destinations(form) == []
    assert index.match_batch(forms) == [["key"]] * len(forms)
    assert index.match_batch(forms[::-1]) == [["key"]] * len(forms)
    assert index.match_batch(tuple(forms)) == [["key"]] * len(forms)
    assert index.match_batch([*forms, {"a": 2}]) == [["key"]] * len(forms) + [[]]


def test_an_event_is_not_changed() -> None:
    event: dict[str, Value] = {"b": "é", "a": 1, "zz": 2.5}
    PAIR.index.match_batch([event])
    assert list(event.items()) == [("b", "é"), ("a", 1), ("zz", 2.5)]


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=4),
    st.binary(max_size=2),
)
any_names = st.one_of(
    st.sampled_from(["a", "b"]),
    st.text(st.characters(exclude_categories=(), max_codepoint=0x100), max_size=3),
    st.text(st.characters(exclude_categories=()), max_size=3),
)


@given(st.dictionaries(any_names, anything, max_size=4))
@example({"\x9f": 1})
@example({"\xa0": 1})
@example({"\u0420\x7f": 1})
def test_what_is_accepted_is_what_a_notification_may_hold(attributes: Any) -> None:
    expected = refusal(check_attributes, attributes)
    assert refusal(PAIR.index.match, attributes) == expected
    if expected is None:
        PAIR.check([attributes])


def refusal(check: Callable[[Any], object], attributes: Any) -> tuple[type, str] | None:
    """The kind and the text of the error that a check raises."""
    try:
        check(attributes)
    except SapwoodError as error:
        return type(error), str(error)
    return None
