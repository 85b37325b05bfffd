"""Attributes on a command line: `NAME=TEXT` for text, `NAME:=JSON` for anything else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import typer


def parse_attributes(words: Iterable[str]) -> dict[str, Any]:
    """Read `NAME=TEXT` and `NAME:=JSON` words into a mapping.

    Only the shape of a word is judged here; whether name and value may stand in a
    notification is for `Notification` to say.

    Examples:
        >>> parse_attributes(["symbol=IBM", "price:=120.5", "note=a:=b"])
        {'symbol': 'IBM', 'price': 120.5, 'note': 'a:=b'}
    """
    attributes: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise typer.BadParameter(f"{word!r} is not an attribute: write NAME=TEXT or NAME:=JSON")
        is_json = name.endswith(":")
        name = name.removesuffix(":")
        if name in attributes:
            raise typer.BadParameter(f"attribute {name!r} is given twice: leave one out")
        attributes[name] = _parse_json(name, value) if is_json else value
    return attributes


def _parse_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"the value of {name!r} is not JSON ({error}): "
            f"write {name}={text} if it is meant as text"
        ) from error
