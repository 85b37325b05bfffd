"""Attributes on a command line."""

from __future__ import annotations

import pytest
import typer

from sapwood.cli.attributes import parse_attributes, text_notice


@pytest.mark.parametrize(
    ("word", "attributes"),
    [
        ("symbol=IBM", {"symbol": "IBM"}),
        ("symbol=", {"symbol": ""}),
        ("note=a=b", {"note": "a=b"}),
        ("note=a:=1", {"note": "a:=1"}),
        ("price:=120.5", {"price": 120.5}),
        ("count:=9223372036854775807", {"count": 2**63 - 1}),
        ("urgent:=true", {"urgent": True}),
        ('note:="1"', {"note": "1"}),
        ("note=1", {"note": "1"}),
    ],
)
def test_text_and_json(word: str, attributes: dict[str, object]) -> None:
    assert parse_attributes([word]) == attributes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["symbol"], "'symbol' is not an attribute: write NAME=TEXT or NAME:=JSON"),
        (["a=1", "a:=1"], "attribute 'a' is given twice"),
        (["price:=12x"], "the value of 'price' is not JSON .*: write price=12x"),
    ],
)
def test_what_is_no_attribute_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        parse_attributes(words)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("200", "number"),
        ("-1.5e3", "number"),
        ("true", "boolean"),
        ("false", "boolean"),
        *(
            (text, "")
            for text in ("", "IBM", "True", "007", "1e999", "NaN", "null", "[1]", "[" * 99_999)
        ),
        *((digits, "") for digits in ("9" * 20, "9" * 5000)),
    ],
)
def test_text_that_looks_like_a_number_or_boolean_is_told(text: str, kind: str) -> None:
    told = f"x: sent as text; use x:={text} for a {kind}" if kind else ""
    assert text_notice([f"x={text}"]) == told
    assert text_notice([f"x:={text}"]) == ""
