"""What does not fit a typed model, in words a person can act on: for all files that people write.

msgspec finds what does not fit the types, and says so in its own words. Here they become the key,
what is wrong with its value, and what is allowed, with the nearest name first. What is allowed is
read off the types themselves, so it cannot fall behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.inspect import (
    CollectionType,
    Field,
    LiteralType,
    Metadata,
    StructType,
    Type,
    UnionType,
    multi_type_info,
)

from sapwood.errors import DescriptionError

_KINDS = {
    "object": "a table",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a date",
    "date": "a date",
    "time": "a time",
}
"""Types as msgspec calls them, and as TOML's readers do."""

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)")
_RANGE = re.compile(r"Expected `([^`]*)` ([<>]=? [^,]*)")
_TYPE = re.compile(r"Expected `([^`]*)`(.*?), got `?([^`]*)`?")


def choices(wrong: str, known: Iterable[str], shown_max: int = 40) -> str:
    """What would be right, the nearest first.

    >>> choices("coverin", ["simple", "covering"])
    "did you mean 'covering'? Allowed are simple, covering"
    """
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    listed = ", ".join(names[:shown_max]) + (", …" if len(names) > shown_max else "")
    return f"did you mean {near[0]!r}? Allowed are {listed}" if near else f"allowed are {listed}"


class KeyProblem(NamedTuple):
    """One thing that is wrong."""

    key: str
    """Where, with dots between the sections."""
    problem: str
    """What, and what would be right."""


def key_problem(
    problem: msgspec.ValidationError, values: Mapping[str, Any], struct: type
) -> KeyProblem:
    """What the conversion of `values` to a struct found, with the key first."""
    message, _, place = str(problem).partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    expected = list(_expected(key, values, struct))
    for pattern, explain in _EXPLANATIONS:
        found = pattern.fullmatch(message)
        if found is not None:
            return explain(key, found, expected)
    return KeyProblem(key, f"is wrong: {message}")


def text_of(path: Path, error: type[DescriptionError]) -> str:
    """What stands in a file that a person wrote."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise error("is not UTF-8 text", file=str(path)) from None


def joined(section: str, key: str) -> str:
    """A key within a section."""
    return f"{section}.{key}" if section else key


def _unknown(key: str, found: re.Match[str], expected: list[Type]) -> KeyProblem:
    known = [*_tag_fields(expected), *(field.encode_name for field in _fields(expected))]
    problem = f"is no key here; {choices(found[1], dict.fromkeys(known))}"
    return KeyProblem(joined(key, found[1]), problem)


def _missing(key: str, found: re.Match[str], expected: list[Type]) -> KeyProblem:
    tags = _tags(expected)
    which = f"; allowed are {', '.join(tags)}" if found[1] in _tag_fields(expected) else ""
    return KeyProblem(joined(key, found[1]), f"is missing{which}")


def _wrong_value(key: str, found: re.Match[str], expected: list[Type]) -> KeyProblem:
    allowed = [str(v) for one in expected if isinstance(one, LiteralType) for v in one.values]
    wrong = found[1].strip("'")
    return KeyProblem(key, f"is {found[1]}; {choices(wrong, allowed or _tags(expected))}")


def _wrong_type(key: str, found: re.Match[str], expected: list[Type]) -> KeyProblem:
    kinds = [_KINDS.get(name, name) for name in found[1].split(" | ") if name != "null"]
    wanted = " or ".join(kinds) + found[2]
    return KeyProblem(key, f"is {_KINDS.get(found[3], found[3])}; wanted {wanted}")


def _wrong_range(key: str, found: re.Match[str], expected: list[Type]) -> KeyProblem:
    return KeyProblem(key, f"is out of range; wanted {_KINDS.get(found[1], found[1])} {found[2]}")


_EXPLANATIONS = (
    (_UNKNOWN, _unknown),
    (_MISSING, _missing),
    (_VALUE, _wrong_value),
    (_RANGE, _wrong_range),
    (_TYPE, _wrong_type),
)


def _expected(key: str, values: Any, struct: type) -> Iterator[Type]:
    """The types that may stand at a key; of a union of structs, the one that was chosen."""
    here = list(_chosen(multi_type_info([struct]), values))
    for name in re.findall(r"[^.\[\]]+", key):
        values = values.get(name) if isinstance(values, Mapping) else None
        if name == _tag_field(here):
            return iter(here)
        here = list(_chosen(_below(here, name), values))
    return iter(here)


def _below(types: list[Type], name: str) -> Iterator[Type]:
    for one in types:
        if isinstance(one, StructType):
            yield from (field.type for field in one.fields if field.encode_name == name)
        elif isinstance(one, CollectionType):
            yield one.item_type


def _chosen(types: Iterable[Type], values: Any) -> Iterator[Type]:
    """Unions taken apart; of structs with a tag, the one that the values name, if one is."""
    bare = (one.type if isinstance(one, Metadata) else one for one in types)
    flat = [each for one in bare for each in (one.types if isinstance(one, UnionType) else [one])]
    tagged = [one for one in flat if isinstance(one, StructType) and one.tag_field is not None]
    if isinstance(values, Mapping):
        named = [one for one in tagged if values.get(one.tag_field) == one.tag]
        return iter(named or flat)
    return iter(flat)


def _fields(types: list[Type]) -> Iterator[Field]:
    for one in types:
        if isinstance(one, StructType):
            yield from one.fields


def _tag_field(types: list[Type]) -> str | None:
    return next(iter(_tag_fields(types)), None)


def _tag_fields(types: list[Type]) -> list[str]:
    structs = [one for one in types if isinstance(one, StructType)]
    return list(dict.fromkeys(one.tag_field for one in structs if one.tag_field is not None))


def _tags(types: list[Type]) -> list[str]:
    return [str(one.tag) for one in types if isinstance(one, StructType) and one.tag is not None]
