"""What is said about values that do not fit; the tests of scenarios have unions of types too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from sapwood.file_errors import choices, joined, key_problem


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    color: Annotated[Literal["red", "blue"], msgspec.Meta(description="Of the inside.")] = "red"


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    count: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    inner: Inner | None = None


@pytest.mark.parametrize(
    ("values", "key", "problem"),
    [
        ({}, "name", "is missing"),
        ({"name": 1}, "name", "is a whole number; wanted text"),
        ({"name": "a", "count": 0}, "count", "is out of range; wanted a whole number >= 1"),
        ({"name": "a", "count": 10}, "count", "is out of range; wanted a whole number <= 9"),
        ({"name": "a", "count": 1.5}, "count", "is a number; wanted a whole number"),
        (
            {"name": "a", "inner": {"seconds": 0}},
            "inner.seconds",
            "is out of range; wanted a number > 0.0",
        ),
        (
            {"name": "a", "inner": {"colour": "red"}},
            "inner.colour",
            "is no key here; did you mean 'color'? Allowed are seconds, color",
        ),
        (
            {"name": "a", "inner": {"color": "blu"}},
            "inner.color",
            "is 'blu'; did you mean 'blue'? Allowed are blue, red",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_key(values: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(msgspec.ValidationError) as found:
        msgspec.convert(values, Outer)
    assert key_problem(found.value, values, Outer) == (key, problem)


def test_what_nobody_foresaw_is_said_in_the_words_of_msgspec() -> None:
    assert key_problem(msgspec.ValidationError("Odd - at `$.name`"), {}, Outer) == (
        "name",
        "is wrong: Odd",
    )


def test_far_names_are_not_suggested() -> None:
    assert choices("zzz", ["red", "blue"]) == "allowed are red, blue"
    assert choices("x", [str(n) for n in range(9)], shown_max=2) == "allowed are 0, 1, …"


def test_keys_stand_in_their_section() -> None:
    assert (joined("", "a"), joined("a", "b")) == ("a", "a.b")
