"""Sets of texts, against all short texts over a small alphabet."""

from __future__ import annotations

import itertools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from filters.strategies import plain_like_patterns
from sapwood.filters import cuts, text_set
from sapwood.filters.pattern import Pattern, parse_like
from sapwood.filters.text_set import (
    ALL_TEXT_CUTS,
    ALL_TEXTS,
    NO_TEXTS,
    TextSet,
    pattern_complement,
    pattern_set,
)

SHORT_TEXTS = [
    "".join(letters)
    for length in range(6)
    for letters in itertools.product("\0ab" if length < 5 else "ab", repeat=length)
]

short_texts = st.sampled_from(SHORT_TEXTS[:120])
all_ranges = st.one_of(
    st.just(ALL_TEXT_CUTS),
    short_texts.map(text_set.prefix_range),
    st.lists(short_texts, unique=True, max_size=5).map(lambda chosen: tuple(sorted(chosen))),
    st.lists(short_texts, max_size=3).map(
        lambda chosen: (
            tuple(itertools.accumulate(map(text_set.exactly, chosen), cuts.union))[-1]
            if chosen
            else ()
        )
    ),
)
patterns = plain_like_patterns.map(parse_like)
pattern_lists = st.lists(patterns, max_size=3)
text_sets = st.builds(text_set.text_set, all_ranges, pattern_lists, pattern_lists)


def members(tested: TextSet) -> set[str]:
    return {text for text in SHORT_TEXTS if tested.matches(text)}


@given(all_ranges, pattern_lists, pattern_lists)
def test_the_smallest_form_means_the_same(
    ranges: tuple[str, ...], required: list[Pattern], excluded: list[Pattern]
) -> None:
    assert members(text_set.text_set(ranges, required, excluded)) == {
        text
        for text in SHORT_TEXTS
        if cuts.contains(ranges, text)
        and all(pattern.matches(text) for pattern in required)
        and not any(pattern.matches(text) for pattern in excluded)
    }


@given(text_sets)
def test_the_smallest_form_is_final(tested: TextSet) -> None:
    assert text_set.text_set(tested.ranges, tested.required, tested.excluded) == tested
    assert (tested == NO_TEXTS) is tested.is_empty
    assert not (tested.is_empty and tested.has_patterns)


@given(text_sets, st.randoms(use_true_random=False))
def test_patterns_of_a_form_may_be_added_one_by_one_in_any_order(
    tested: TextSet, random: Random
) -> None:
    steps = [pattern_set(pattern) for pattern in tested.required]
    steps += [pattern_complement(pattern) for pattern in tested.excluded]
    random.shuffle(steps)
    again = TextSet(tested.ranges)
    for step in steps:
        again = again.intersection(step)
    assert again == tested


@given(text_sets, text_sets)
def test_operations_are_exact(left: TextSet, right: TextSet) -> None:
    lefts, rights = members(left), members(right)
    assert members(left.intersection(right)) == lefts & rights
    assert left.intersection(right) == right.intersection(left)
    union = left.union(right)
    assert union is None or members(union) == lefts | rights
    outside = [members(piece) for piece in left.difference(right)]
    assert set().union(*outside) == lefts - rights


@given(text_sets, text_sets)
def test_relations_never_claim_too_much(left: TextSet, right: TextSet) -> None:
    assert not left.covers(right) or members(left) >= members(right)
    assert left.covers(left)
    assert ALL_TEXTS.covers(left)
    assert left.covers(NO_TEXTS)


@given(all_ranges, all_ranges)
def test_ranges_are_decided_exactly(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    one, other = TextSet(left), TextSet(right)
    assert one.covers(other) is (one.union(other) == one)
    assert one.union(other) == TextSet(cuts.union(left, right))
    assert len(one.difference(other)) <= 1


@given(patterns)
def test_a_pattern_and_its_complement(pattern: Pattern) -> None:
    inside, outside = members(pattern_set(pattern)), members(pattern_complement(pattern))
    assert inside == {text for text in SHORT_TEXTS if pattern.matches(text)}
    assert outside == set(SHORT_TEXTS) - inside
    assert pattern_set(pattern).intersection(pattern_complement(pattern)).is_empty


@given(short_texts, short_texts, st.booleans(), st.booleans(), short_texts)
def test_bounds(low: str, high: str, low_open: bool, high_open: bool, text: str) -> None:
    def has(ranges: tuple[str, ...]) -> bool:
        return cuts.contains(ranges, text)

    assert has(text_set.exactly(low)) is (text == low)
    assert has(text_set.below(low)) is (text < low)
    assert has(text_set.below(low, inclusive=True)) is (text <= low)
    assert has(text_set.above(low)) is (text > low)
    assert has(text_set.above(low, inclusive=True)) is (text >= low)
    assert has(text_set.prefix_range(low)) is text.startswith(low)
    inside = (text > low or (text == low and not low_open)) and (
        text < high or (text == high and not high_open)
    )
    assert has(text_set.interval(low, high, low_open, high_open)) is inside
    assert has(text_set.complement(text_set.exactly(low))) is (text != low)


def test_prefixes_end_where_the_next_character_begins() -> None:
    assert text_set.prefix_range("ab") == ("ab", "ac")
    assert text_set.prefix_range("") == ALL_TEXT_CUTS
    assert text_set.prefix_range("\ud7ff") == ("\ud7ff", "\ue000")
    assert text_set.prefix_range("a\U0010ffff") == ("a\U0010ffff", "b")
    assert text_set.prefix_range("\U0010ffff") == ("\U0010ffff",)


def test_patterns_that_are_ranges() -> None:
    assert pattern_set(parse_like("abc")) == TextSet(("abc", "abc\0"))
    assert pattern_set(parse_like("a%")) == TextSet(("a", "b"))
    assert pattern_set(parse_like("_%")) == TextSet(("\0",))
    assert pattern_set(parse_like("a_%")) == TextSet(("a\0", "b"))
    assert pattern_set(parse_like("%%")) == ALL_TEXTS
    assert pattern_set(parse_like("ab%c")) == TextSet(("ab", "ac"), (parse_like("ab%c"),))


def test_contradictions_are_seen() -> None:
    a, b = parse_like("%a"), parse_like("%b")
    assert text_set.text_set(ALL_TEXT_CUTS, [a, b]) == NO_TEXTS
    assert text_set.text_set(ALL_TEXT_CUTS, [a], [parse_like("%a%")]) == NO_TEXTS
    assert text_set.text_set(ALL_TEXT_CUTS, [parse_like("%a%")], [a]).excluded == (a,)
    assert text_set.text_set(ALL_TEXT_CUTS, [parse_like("%ab%")], [parse_like("%b%")]) == NO_TEXTS
    assert text_set.text_set(("b", "c"), [parse_like("a%b")]) == NO_TEXTS
    assert text_set.text_set(("ab", "ac"), [], [parse_like("%b%")]) == NO_TEXTS
