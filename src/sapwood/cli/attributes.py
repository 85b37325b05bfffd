"""Attributes on a command line: `NAME=TEXT` for text, `NAME:=JSON` for anything else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import typer

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number as JSON writes it."""

_LARGEST = 2.0**63
"""Texts of numbers beyond it are taken for identifiers: as integers they would be refused."""


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


def text_notice(words: Iterable[str]) -> str:
    """What to tell who writes `NAME=TEXT` with a text that looks like something else; else "".

    A filter such as ``price > 100`` never matches the text "200", and nothing else would say so.

    Examples:
        >>> text_notice(["symbol=IBM", "price=200", "urgent=true"])
        'price, urgent: sent as text; use price:=200 for a number, urgent:=true for a boolean'
        >>> text_notice(["symbol=IBM", "price:=200"])
        ''
    """
    split = [word.partition("=") for word in words]
    looks = [
        (name, text, kind)
        for name, _, text in split
        if not name.endswith(":") and (kind := _looks_like(text))
    ]
    if not looks:
        return ""
    names = ", ".join(name for name, _, _ in looks)
    remedies = ", ".join(f"{name}:={text} for a {kind}" for name, text, kind in looks)
    return f"{names}: sent as text; use {remedies}"


def _looks_like(text: str) -> str:
    """The kind of value that a text would be as JSON, if it is a number or a boolean."""
    if text in {"true", "false"}:
        return "boolean"
    return "number" if _NUMBER.fullmatch(text) and abs(float(text)) < _LARGEST else ""


def _parse_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"the value of {name!r} is not JSON ({error}): "
            f"write {name}={text} if it is meant as text"
        ) from error
