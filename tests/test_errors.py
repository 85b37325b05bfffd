"""Errors: one root, a tree that the docstring shows, and messages that point."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from sapwood import errors
from sapwood.errors import (
    DuplicateKeyError,
    FilterError,
    FilterSyntaxError,
    SapwoodError,
    UnknownKeyError,
)

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, SapwoodError)
]


def test_the_docstring_shows_the_whole_tree() -> None:
    """Each class stands below its first base, at the depth of its ancestry."""
    documented: dict[str, int] = {}
    parents: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)(\w+)(  .*)?$", line)
        if found is None or not hasattr(errors, found.group(2)):
            continue
        depth = len(found.group(1)) // 4
        name = found.group(2)
        documented[name] = depth
        parents[depth:] = [name]
        if depth:
            assert getattr(errors, name).__bases__[0].__name__ == parents[depth - 1]
    assert sorted(documented) == sorted(kind.__name__ for kind in CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_survives_pickling(kind: type[SapwoodError]) -> None:
    error = kind("what is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert "what is wrong" in str(error)


def test_a_located_error_survives_pickling() -> None:
    error = FilterSyntaxError("wrong", "a = 1\nor b", 9, 1, ("an operator",))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.line, again.column, again.position) == (2, 4, 9)
    assert (again.text, again.expected) == ("a = 1\nor b", ("an operator",))


def test_without_a_place() -> None:
    error = FilterError("wrong")
    assert str(error) == error.summary == "filter: wrong"
    assert (error.line, error.column, error.excerpt) == (None, None, "")
    assert str(error.located("x = 1", 4, 1)) == "filter: column 5: wrong\n  x = 1\n      ^"


def test_long_lines_are_cut_around_the_place() -> None:
    text = "a" * 100 + "HERE" + "b" * 100
    lines = str(FilterError("wrong", text, 100, 4)).splitlines()
    assert lines[1].startswith("  ...aaa")
    assert lines[1].endswith("bbb...")
    assert len(lines[1]) < 90
    start = lines[2].index("^")
    assert lines[1][start : start + len(lines[2].strip())] == "HERE"


def test_carets_stay_within_the_line() -> None:
    assert str(FilterError("wrong", "x = '\tab", 4, 99)).splitlines()[1:] == [
        "  x = ' ab",
        "      ^^^^",
    ]
    assert FilterError("wrong", "", 0).excerpt == "  \n  ^"


@pytest.mark.parametrize("kind", [DuplicateKeyError, UnknownKeyError])
def test_key_errors_show_their_message(kind: type[SapwoodError]) -> None:
    assert str(kind("no key 'a'")) == "no key 'a'"
    assert issubclass(kind, KeyError)
