"""What is said about values that do not fit their types; test_scenario.py has the whole files."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from sapwood.errors import ParameterError, ScenarioError
from sapwood.sim.scenario.errors import choices, explained


class Round(msgspec.Struct, tag_field="type", tag="round", forbid_unknown_fields=True):
    radius: float = 1.0

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise ParameterError("is below 0", "radius")


class Square(msgspec.Struct, tag_field="type", tag="square", forbid_unknown_fields=True):
    side: float
    colors: list[Literal["red", "blue"]] = []


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    shape: Round | Square | None = None
    sizes: dict[str, int] = {}


def said(values: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(msgspec.ValidationError) as found:
        msgspec.convert(values, Plan)
    problem = explained(found.value, values, Plan)
    return problem.key, problem.problem


@pytest.mark.parametrize(
    ("values", "key", "problem"),
    [
        ({"shapes": 1}, "shapes", "is no key here; did you mean 'shape'? Allowed are shape, sizes"),
        ({"shape": {"type": "round", "side": 1}}, "shape.side",
         "is no key here; allowed are type, radius"),
        ({"shape": {"side": 1}}, "shape.type", "is missing; allowed are round, square"),
        ({"shape": {"type": "square"}}, "shape.side", "is missing"),
        ({"shape": {"type": "squares"}}, "shape.type",
         "is 'squares'; did you mean 'square'? Allowed are round, square"),
        ({"shape": {"type": "square", "side": 1, "colors": ["green"]}}, "shape.colors[0]",
         "is 'green'; allowed are blue, red"),
        ({"shape": {"type": "round", "radius": -1}}, "shape.radius", "is below 0"),
        ({"shape": 3}, "shape", "is a whole number; wanted a table"),
        ({"sizes": {"a": "b"}}, "sizes[...]", "is text; wanted a whole number"),
    ],
)  # fmt: skip
def test_key_and_what_is_allowed(values: dict[str, Any], key: str, problem: str) -> None:
    assert said(values) == (key, problem)


def test_an_error_of_ours_is_kept() -> None:
    class Strict(msgspec.Struct):
        a: int = 0

        def __post_init__(self) -> None:
            raise ScenarioError("is wrong", "a")

    with pytest.raises(msgspec.ValidationError) as found:
        msgspec.convert({}, Strict)
    assert str(explained(found.value, {}, Strict)) == "a is wrong"


def test_words_of_msgspec_that_are_not_known_are_passed_on() -> None:
    problem = msgspec.ValidationError("Something else - at `$.a.b`")
    assert str(explained(problem, {}, Plan)) == "a.b is wrong: Something else"


def test_many_choices_are_cut_short() -> None:
    assert choices("x", ["a", "b", "c"], shown_max=2) == "allowed are a, b, …"
