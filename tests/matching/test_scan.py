"""A scan finds what each filter by itself matches, and looks at few of them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from matching.drawing import any_filter, event, events, literal, randoms
from matching.model import Pair, assert_same
from sapwood.errors import DuplicateKeyError, SapwoodError, UnknownKeyError
from sapwood.filters import Filter, Notification, equal
from sapwood.matching.scan import FilterScan

PLACES = [None, "a", "b", 1, 2.5]


@pytest.mark.slow
@given(randoms)
def test_it_finds_what_each_filter_matches_whatever_comes_and_goes(random: Random) -> None:
    pair = Pair(FilterScan())
    for key in range(random.randint(0, 80)):
        if pair.model.entries and random.random() < 0.3:
            pair.remove(random.choice(list(pair.model.entries)))
        few = Filter.all_of({random.choice("abc"): equal(random.choice([literal(random), True]))})
        pair.add(key, random.choice([few, any_filter(random)]), random.choice(PLACES))
        one, exclude = event(random), random.choice(PLACES)
        assert pair.index.match(one) == [
            key for key in pair.model.entries if key in pair.model.match(one)
        ], "in the order they were added"
        found = pair.index.destinations(one, exclude)
        assert_same(found, pair.model.destinations(one, exclude), one)
    pair.check(events(random, 5))
    pair.check_destinations(events(random, 5))


@given(randoms)
def test_nothing_is_left_of_what_was_removed(random: Random) -> None:
    scan: FilterScan[int] = FilterScan()
    for key in range(30):
        scan.add(key, any_filter(random), key % 3)
    for key in random.sample(range(30), 30):
        scan.remove(key)
    assert len(scan) == 0
    assert list(scan.entries()) == []
    assert (scan._loose, scan._by_value, scan._places) == ({}, {}, {})


def test_only_filters_for_a_value_of_the_notification_are_looked_at_together() -> None:
    scan: FilterScan[int] = FilterScan()
    assert [scan.add(key, Filter(f"class = {key} and x > 1")) for key in range(4)] == [1] * 4
    assert [scan.add(10 + key, Filter(f"class = 1 and x > {key}")) for key in range(3)] == [2, 3, 4]
    assert [scan.add(20 + key, Filter(f"x > {key}")) for key in range(3)] == [1, 2, 3]
    assert scan.add(30, Filter("class = 1 or x < 0")) == 5


def test_true_is_not_one() -> None:
    scan: FilterScan[str] = FilterScan()
    for text in ("x = 1", "x = true", "x = '1'", "x in (1, 2)", "x in (true, 2)", "x = 0"):
        scan.add(text, Filter(text))
    assert scan.match({"x": 1}) == scan.match({"x": 1.0}) == ["x = 1", "x in (1, 2)"]
    assert scan.match({"x": True}) == ["x = true", "x in (true, 2)"]
    assert scan.match({"x": "1"}) == ["x = '1'"]
    assert scan.match({"x": -0.0}) == ["x = 0"]
    assert scan.match({"x": False}) == []


def test_wrong_use_changes_nothing() -> None:
    scan: FilterScan[object] = FilterScan()
    scan.add("a", Filter("x = 1"), "west")
    with pytest.raises(DuplicateKeyError):
        scan.add("a", Filter("x = 2"))
    with pytest.raises(TypeError, match="unhashable"):
        scan.add([], Filter("x = 1"))
    with pytest.raises(TypeError, match="unhashable"):
        scan.add("b", Filter("x = 1"), destination=[])  # type: ignore[arg-type]
    with pytest.raises(UnknownKeyError, match="the key 'b' is not in the index"):
        scan.remove("b")
    with pytest.raises(SapwoodError):
        scan.match({"x": float("inf")})
    assert "b" not in scan
    assert scan.match(Notification({"x": 1})) == ["a"]
    assert scan.destinations({"x": 1}) == ["west"]
