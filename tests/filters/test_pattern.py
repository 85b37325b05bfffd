"""Patterns against regular expressions and against all short texts."""

from __future__ import annotations

import itertools
import time
from functools import cache

import pytest
from hypothesis import given

from filters.oracle import like
from filters.strategies import like_patterns, plain_like_patterns, texts
from sapwood.errors import PatternError
from sapwood.filters.pattern import (
    ANY_ONE,
    Pattern,
    contains_pattern,
    parse_like,
    suffix_pattern,
)

SHORT_TEXTS = [
    "".join(letters) for length in range(6) for letters in itertools.product("abc", repeat=length)
]


@given(like_patterns, texts)
def test_matches_as_a_regular_expression_does(pattern: str, text: str) -> None:
    assert parse_like(pattern, "!").matches(text) is like(text, pattern, "!")


@given(plain_like_patterns)
def test_matches_all_short_texts_as_a_regular_expression_does(pattern: str) -> None:
    tested = parse_like(pattern)
    for text in SHORT_TEXTS:
        assert tested.matches(text) is like(text, pattern, None)


@given(plain_like_patterns, plain_like_patterns)
def test_relations_never_claim_too_much(left: str, right: str) -> None:
    check_relations(parse_like(left), parse_like(right))


def test_relations_of_all_short_patterns() -> None:
    written = [
        "".join(symbols)
        for length in range(6)
        for symbols in itertools.product("%_ab" if length < 4 else "%_a", repeat=length)
    ]
    for one, other in itertools.product(sorted(set(map(parse_like, written))), repeat=2):
        check_relations(one, other)


@cache
def members(pattern: Pattern) -> frozenset[str]:
    return frozenset(text for text in SHORT_TEXTS if pattern.matches(text))


def check_relations(one: Pattern, other: Pattern) -> None:
    assert not one.covers(other) or members(one) >= members(other)
    assert not one.disjoint(other) or members(one).isdisjoint(members(other))
    assert one.disjoint(other) is other.disjoint(one)
    assert (one.covers(other) and other.covers(one)) is (one == other)


@given(like_patterns)
def test_text_form_gives_the_same_pattern(pattern: str) -> None:
    tested = parse_like(pattern, "!")
    assert parse_like(*tested.like()) == tested


@pytest.mark.parametrize(
    ("larger", "smaller"),
    [
        ("%", "a_b%"),
        ("_%", "a%"),
        ("_%a", "%ba"),
        ("%b%", "a%b_"),
        ("a_c", "abc"),
        ("%_b%", "ab%"),
        ("%a%a%", "%aa%"),
    ],
)
def test_covering_examples(larger: str, smaller: str) -> None:
    assert parse_like(larger).covers(parse_like(smaller))
    assert not parse_like(smaller).covers(parse_like(larger))


def test_one_character_is_not_any_characters() -> None:
    assert not parse_like("%a_b%").covers(parse_like("%a%b%"))
    assert not parse_like("a_b").covers(parse_like("a%b"))
    assert not parse_like("%_a%").covers(parse_like("%a%"))


@pytest.mark.parametrize(
    ("left", "right"), [("%a", "%b"), ("a%", "b%"), ("__", "___%"), ("_a%", "_b%"), ("%a_", "%b_")]
)
def test_disjointness_examples(left: str, right: str) -> None:
    assert parse_like(left).disjoint(parse_like(right))


def test_wildcards_in_a_row_have_one_order() -> None:
    assert parse_like("a%_%_b") == parse_like("a__%b")
    assert parse_like("a__%b").pieces == (f"a{ANY_ONE}{ANY_ONE}", "b")


def test_named_patterns() -> None:
    assert suffix_pattern("a") == parse_like("%a")
    assert contains_pattern("a") == parse_like("%a%")
    assert suffix_pattern("a%_").literal_kind() == ("suffix", "a%_")
    assert contains_pattern("a").literal_kind() == ("contains", "a")
    assert parse_like("%a_").literal_kind() == ("like", "%a_")
    assert Pattern(("a%", "b")).like() == ("a\\%%b", "\\")


def test_head_and_length() -> None:
    tested = parse_like("ab_c%d")
    assert (tested.head, tested.length_min, tested.length_max) == ("ab", 5, None)
    assert parse_like("a_").length_max == 2


@pytest.mark.parametrize(
    ("pattern", "escape", "message"),
    [
        ("a!b", "!", "stands before 'b'"),
        ("ab!", "!", "ends with its escape"),
        ("a", "!!", "exactly one character"),
        ("a", "", "exactly one character"),
    ],
)
def test_wrong_escapes(pattern: str, escape: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        parse_like(pattern, escape)


def test_no_pattern_takes_long() -> None:
    """Patterns that make backtracking matchers explode, on a text of the largest size."""
    text = "a" * 65_536
    begin = time.perf_counter()
    assert not parse_like("%a" * 1000 + "%b").matches(text)
    assert not parse_like("%a_a_b%" * 50).matches(text)
    assert not parse_like("%" + "_a" * 10_000 + "b%").matches(text)
    assert parse_like("%a_a%").covers(parse_like("%a_" * 5000 + "a"))
    assert time.perf_counter() - begin < 10
