"""Covering-based routing: who hides whom, and what it costs when a cover goes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from routing.near import meaning, patterned_pools, pools
from routing.storm import COVER, KINDS, storm
from sapwood.filters import Filter
from sapwood.routing import covering
from sapwood.routing.covering import covers, hides
from sapwood.routing.ledger import EdgeLedger
from sapwood.routing.strategy import Difference, Entry


def entry(text: str) -> Entry:
    return Entry("A", text, Filter(text))


def told(difference: Difference) -> tuple[list[str], list[str]]:
    """The difference with the texts of the filters; what goes is named by its id."""
    assert all(filter_id == filter.id for filter_id, filter in difference.subscribe)
    return sorted(str(filter) for _, filter in difference.subscribe), difference.unsubscribe


def test_a_cover_hides_and_its_end_restores() -> None:
    table = EdgeLedger("X", "covering")
    for text in ("a > 1", "a > 0", "a > 2 and b = 1", "b = 1"):
        table.add(entry(text))
    assert told(table.take()) == (["a > 0", "b = 1"], [])
    table.remove(entry("a > 0"))
    assert told(table.take()) == (["a > 1"], [Filter("a > 0").id])
    table.remove(entry("b = 1"))
    assert told(table.take()) == ([], [Filter("b = 1").id])
    table.remove(entry("a > 1"))
    assert told(table.take()) == (["a > 2 and b = 1"], [Filter("a > 1").id])


def test_a_hidden_filter_may_go_and_what_it_hid_stays_hidden() -> None:
    table = EdgeLedger("X", "covering")
    for text in ("a > 2", "a > 1", "a > 0"):
        table.add(entry(text))
    table.take()
    table.remove(entry("a > 1"))
    assert told(table.take()) == ([], [])
    table.remove(entry("a > 0"))
    assert told(table.take()) == (["a > 2"], [Filter("a > 0").id])


def test_of_equivalent_filters_the_one_with_the_smallest_id_stands() -> None:
    """They must not hide each other. Made by hand: no pair is known that really does."""
    twins = [Filter._of(Filter("a > 0").boxes, text) for text in ("a > 0", "(a > 0)")]
    first, second = sorted(twins, key=lambda filter: filter.id)
    assert first.id != second.id
    for order in (twins, twins[::-1]):
        table = EdgeLedger("X", "covering")
        for filter in order:
            table.add(Entry("A", filter.id, filter))
        assert list(table.owed()) == [first.id]
        table.remove(Entry("A", first.id, first))
        assert list(table.owed()) == [second.id]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_a_conjunction_and_an_equivalent_union_the_conjunction_stands(is_reversed: bool) -> None:
    """Canonical forms miss some equivalences where there are patterns."""
    union, conjunction = Filter("a contains 'x' or a <> 'x'"), Filter("a is text")
    assert union.id != conjunction.id
    assert union.equivalent(conjunction)
    table = EdgeLedger("X", "covering")
    for filter in (conjunction, union) if is_reversed else (union, conjunction):
        table.add(Entry("A", filter.id, filter))
    assert table.owed() == {conjunction.id: conjunction}
    table.remove(Entry("A", "", conjunction))
    assert table.owed() == {union.id: union}


def test_covering_by_unions_with_patterns_would_depend_on_the_order() -> None:
    """Why these cover nothing here: A covers B, B covers C, but not (as far as seen) A C."""
    wide = Filter("c <> 'a'")
    middle = Filter("c <> 'a' and c suffix 'b' or c prefix 'b'")
    narrow = Filter("c suffix 'b'")
    assert wide.covers(middle)
    assert middle.covers(narrow)
    assert not wide.covers(narrow)
    assert (covers(wide, middle), covers(middle, narrow)) == (True, False)


def test_what_can_match_nothing_is_not_owed() -> None:
    table = EdgeLedger("X", "covering")
    table.add(entry("false"))
    assert table.owed() == {}
    table.remove(entry("false"))
    assert table.take() == Difference([], [])


def test_covering_of_patterns_by_unions_is_transitive() -> None:
    """A pair that `Filter.covers` sees through, and one step further does not."""
    wide = Filter("b <> 'ab'")
    middle = Filter("b not prefix 'ab' and (a < 1 and c is text or c <> 'ab')")
    narrow = Filter("b not contains 'b' and c = 'x'")
    assert (wide.covers(middle), middle.covers(narrow)) == (True, True)
    assert not wide.covers(narrow)
    assert (covers(wide, middle), covers(middle, narrow)) == (True, False)


def test_most_unions_are_told_apart_by_a_notification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing unions takes long; a notification that one matches and not the other is quick."""
    asked = 0
    original = Filter.covers

    def counting(self: Filter, other: Filter) -> bool:
        nonlocal asked
        asked += 1
        return original(self, other)

    monkeypatch.setattr(Filter, "covers", counting)
    table = EdgeLedger("X", "covering")
    for number in range(100):
        table.add(entry(f"a = {number} or b = {number}"))
    assert len(table.owed()) == 100
    assert asked == 0


@given(pool=pools)
def test_without_patterns_covering_is_that_of_filters(pool: list[Filter]) -> None:
    for left, right in itertools.product(pool, repeat=2):
        if not left.is_empty and not right.is_empty:
            assert covers(left, right) == left.covers(right)


@given(pool=patterned_pools)
def test_covering_is_right_and_transitive(pool: list[Filter]) -> None:
    filters = [filter for filter in pool if not filter.is_empty]
    for left, right in itertools.product(filters, repeat=2):
        if covers(left, right):
            assert meaning(right) & ~meaning(left) == 0
            assert all(covers(left, other) for other in filters if covers(right, other))


@given(pool=patterned_pools)
def test_filters_never_hide_each_other(pool: list[Filter]) -> None:
    filters = {filter.id: filter for filter in pool if not filter.is_empty}.values()
    for left, right in itertools.permutations(filters, 2):
        assert not (hides(left, right) and hides(right, left))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ["covering", "merging"])
def test_a_storm_tells_each_filter_once_and_compares_few(
    algorithm: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparisons = 0

    def counting(cover: Filter, filter: Filter) -> bool:
        nonlocal comparisons
        comparisons += 1
        return covers(cover, filter)

    monkeypatch.setattr(covering, "covers", counting)
    check_storm(algorithm, kind, 400)
    assert comparisons < 30 * 400


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["covering", "merging"])
def test_a_storm_of_ten_thousand(algorithm: str) -> None:
    check_storm(algorithm, "values", 10_000)


def check_storm(algorithm: str, kind: str, count: int) -> None:
    """Nothing is told in vain, and each filter at most once each time."""
    first, cancelled, issued, again, last = storm(algorithm, kind, count)
    the_cover = [(COVER.id, COVER)]
    assert first == Difference(the_cover, [])
    assert cancelled.unsubscribe == again.unsubscribe == [COVER.id]
    restored = sorted(filter_id for filter_id, _ in cancelled.subscribe)
    assert 0 < len(set(restored)) == len(restored) <= count
    assert restored == sorted(filter_id for filter_id, _ in again.subscribe)
    for back in (issued, last):
        assert back.subscribe == the_cover
        assert sorted(back.unsubscribe) == restored
