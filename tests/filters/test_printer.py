"""Canonical texts: short ways to say things."""

from __future__ import annotations

import pytest

from sapwood.filters import Filter
from sapwood.filters.kinds import KEYWORDS, contains
from sapwood.filters.printer import constraint_text, filter_text, name_text, value_text


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "false",
        "x = 1",
        "x <> 1",
        "x in (1, 2)",
        "x not in (1, 2)",
        "x > 1 and x < 2",
        "x between 1 and 2",
        "x not between 1 and 2",
        "x between 0 and 9 and x not between 1 and 2 and x <> 5",
        "x < 0 or x >= 1 and x < 2",
        "x = 7 or x < 0",
        "x = true",
        "x is bool",
        "x is number",
        "x is text",
        "x is null",
        "x is not null",
        "x is not number",
        "x is not text or x = 'a'",
        "x is null or x is number",
        "x is null or x = true",
        "x in (1, 'a', true)",
        "x in ('a', false) or x > 1",
        "x prefix 'a'",
        "x not prefix 'a'",
        "x prefix 'a' and x <> 'ab'",
        "x between 'a' and 'b'",
        "x not between 'a' and 'b'",
        "x > 'a' and x <= 'b'",
        "x >= 'a' and x < 'bb'",
        "x <= ''",
        "x suffix 'a'",
        "x contains 'a'",
        "x not contains 'a'",
        "x like 'a%b'",
        "x not like 'a%b'",
        "x like '_a'",
        "x suffix '%_'",
        "x like 'a\\%%b' escape '\\'",
        "x > 'ab' and x like 'a%b'",
        "x contains 'a' and x suffix 'b' and x not contains 'cc'",
        "(x = 'a' or x > 'b') and x contains 'a'",
        "x is null or x contains 'a'",
        "a = 1 and (b is null or b > 2)",
        "a = 1 or b = 2",
        "a = 1 or (b is null or b > 2)",
        "a = 1 and b = 2 or a = 2 and c = 2",
        "x = 1e+300",
        "x = 0.1",
        "x = -9223372036854775808",
        "x = 'it''s'",
        '"and" = 1',
        '"a b" = 1',
        '"say ""hi""" = 1',
    ],
)
def test_texts_that_are_canonical(text: str) -> None:
    expected = "x = ''" if text == "x <= ''" else text
    assert str(Filter(text)) == expected


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("not (x > 1)", "x <= 1"),
        ("x >= 'a' and x < 'b'", "x prefix 'a'"),
        ("x > 1 and x >= 2", "x >= 2"),
        ("b = 1 and a = 1", "a = 1 and b = 1"),
        ("x prefix 'ab' and x like 'ab%c'", "x like 'ab%c'"),
        ("x like '%a%' and x like '%\\'", "x suffix '\\' and x contains 'a'"),
        ("x is number or x is text", "x is number or x is text"),
        ("x like 'a!_%b' escape '!'", "x like 'a\\_%b' escape '\\'"),
        ("x = 1.0 and y = 1e18", "x = 1 and y = 1000000000000000000"),
    ],
)
def test_texts_become_canonical(text: str, canonical: str) -> None:
    assert str(Filter(text)) == canonical


def test_names_that_are_keywords_stand_in_quotes() -> None:
    for keyword in sorted(KEYWORDS):
        assert name_text(keyword.upper()) == f'"{keyword.upper()}"'
        assert Filter(f'"{keyword}" = 1') == Filter(str(Filter(f'"{keyword}" = 1')))
    assert name_text("a.b_1") == "a.b_1"
    assert name_text("é") == '"é"'
    assert name_text("1a") == '"1a"'


def test_parts() -> None:
    assert filter_text(()) == "false"
    assert filter_text(((),)) == "true"
    assert constraint_text("x", contains("a")) == "x contains 'a'"
    assert [value_text(value) for value in (True, 1, 0.5, "a'b")] == ["true", "1", "0.5", "'a''b'"]
