"""`sapwood filter check`, `explain` and `covers`: answers, exit status, errors."""

from __future__ import annotations

import json

import pytest

from sapwood.cli.main import run
from sapwood.filters.filter import Filter

Captured = pytest.CaptureFixture[str]


def output(capsys: Captured) -> str:
    out, err = capsys.readouterr()
    assert err == ""
    return out


# --- check --------------------------------------------------------------------------------


def test_check_prints_the_canonical_form_and_the_id(capsys: Captured) -> None:
    assert run(["filter", "check", "not (price <= 100) AND symbol='IBM'"]) == 0
    expected = Filter("price > 100 and symbol = 'IBM'")
    assert output(capsys) == f"{expected}\nid {expected.id}\n"


def test_check_as_json(capsys: Captured) -> None:
    assert run(["filter", "check", "--json", "a = 1 or b = 2"]) == 0
    expected = Filter("a = 1 or b = 2")
    assert json.loads(output(capsys)) == {
        "filter": str(expected),
        "id": str(expected.id),
        "boxes": 2,
    }


def test_a_text_that_is_no_filter_shows_where(capsys: Captured) -> None:
    assert run(["filter", "check", "price > and symbol = 'IBM'"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, *excerpt = err.splitlines()
    assert first.startswith("error: filter: column 9: ")
    assert excerpt == ["  price > and symbol = 'IBM'", "          ^^^"]


@pytest.mark.parametrize(
    "text", ["", "price >", "price > 1e999", "a between 1 and 'z'", "'", "\x00"]
)
def test_no_text_is_answered_with_a_traceback(text: str, capsys: Captured) -> None:
    assert run(["filter", "check", text]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


# --- covers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("larger", "smaller", "status", "answer"),
    [
        ("price > 100", "price > 200", 0, "yes"),
        ("price > 200", "price > 100", 1, "no"),
        ("true", "a = 1 or b = 2", 0, "yes"),
        ("a = 1", "false", 0, "yes"),
    ],
)
def test_covers(larger: str, smaller: str, status: int, answer: str, capsys: Captured) -> None:
    assert run(["filter", "covers", larger, smaller]) == status
    assert output(capsys) == f"{answer}\n"
    assert run(["filter", "covers", "--json", larger, smaller]) == status
    assert json.loads(output(capsys)) == {"covers": answer == "yes"}


def test_covers_refuses_a_text_that_is_no_filter(capsys: Captured) -> None:
    assert run(["filter", "covers", "price > 100", "price >"]) == 2
    assert "  price >\n" in capsys.readouterr().err


# --- explain ------------------------------------------------------------------------------

QUOTES = "price > 100 and (venue in ('XETRA', 'NYSE') or exists urgent)"


def test_explain_shows_the_boxes(capsys: Captured) -> None:
    assert run(["filter", "explain", QUOTES]) == 0
    lines = output(capsys).splitlines()
    assert lines[0] == str(Filter(QUOTES))
    assert lines[1:] == [
        "box 1 of 2",
        "  price > 100",
        "  urgent is not null",
        "box 2 of 2",
        "  price > 100",
        "  venue in ('NYSE', 'XETRA')",
    ]


def test_explain_says_why_there_is_no_match(capsys: Captured) -> None:
    assert run(["filter", "explain", QUOTES, "price:=120.5", "venue=LSE"]) == 1
    lines = output(capsys).splitlines()
    assert lines[1:] == [
        "box 1 of 2",
        "  price > 100                 yes  price is 120.5",
        "  urgent is not null          no   urgent is missing",
        "box 2 of 2",
        "  price > 100                 yes  price is 120.5",
        "  venue in ('NYSE', 'XETRA')  no   venue is \"LSE\"",
        "no match",
    ]


def test_explain_says_why_there_is_a_match(capsys: Captured) -> None:
    assert run(["filter", "explain", "price > 100", "price:=120.5"]) == 0
    assert output(capsys) == "price > 100\n  price > 100  yes  price is 120.5\nmatch\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [("true", "it matches everything"), ("a = 1 and a = 2", "it can never match")],
)
def test_explain_of_the_extremes(text: str, words: str, capsys: Captured) -> None:
    assert run(["filter", "explain", text]) == 0
    assert output(capsys).splitlines()[1:] == [words]


@pytest.mark.parametrize(
    ("text", "status", "answer"), [("true", 0, "match"), ("a = 1 and a = 2", 1, "no match")]
)
def test_explain_of_the_extremes_given_attributes(
    text: str, status: int, answer: str, capsys: Captured
) -> None:
    assert run(["filter", "explain", text, "a:=1"]) == status
    assert output(capsys).splitlines()[-1] == answer


def test_explain_as_json(capsys: Captured) -> None:
    assert run(["filter", "explain", "--json", "a = 1 and b = 'x'", "a:=1"]) == 1
    filter_ = Filter("a = 1 and b = 'x'")
    assert json.loads(output(capsys)) == {
        "filter": str(filter_),
        "id": str(filter_.id),
        "boxes": [
            {
                "conditions": [
                    {"attribute": "a", "condition": "a = 1", "value": 1, "holds": True},
                    {"attribute": "b", "condition": "b = 'x'", "value": None, "holds": False},
                ],
                "matches": False,
            }
        ],
        "matches": False,
    }


def test_explain_as_json_without_attributes(capsys: Captured) -> None:
    assert run(["filter", "explain", "--json", "a = 1"]) == 0
    assert json.loads(output(capsys)) == {
        "filter": "a = 1",
        "id": str(Filter("a = 1").id),
        "boxes": [{"conditions": [{"attribute": "a", "condition": "a = 1"}]}],
    }


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("price", "error: 'price' is not an attribute"),
        ("price:=NaN", "error: "),
        ("price:=null", "error: "),
        ("price:=[1]", "error: "),
        ("price:=9223372036854775808", "error: "),
        ("=1", "error: "),
    ],
)
def test_explain_refuses_what_no_notification_can_hold(
    word: str, message: str, capsys: Captured
) -> None:
    assert run(["filter", "explain", "price > 100", word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1
