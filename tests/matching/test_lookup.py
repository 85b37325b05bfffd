"""Single values are looked up: the same destinations as by the engine, whatever comes and goes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from matching.drawing import any_filter, events, literal, randoms
from matching.model import Pair, assert_same, small_numbers
from sapwood.errors import SapwoodError
from sapwood.filters import Filter, equal
from sapwood.matching import lookup
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.lookup import ValueLookup


@given(randoms)
def test_what_is_looked_up_is_what_a_scan_finds(random: Random) -> None:
    """Also while filters of other kinds come and go, and names and values with them."""
    pair = Pair()
    places = random.sample([None, "a", "b", "c", 1, 2.5], random.randint(1, 6))
    with small_numbers():
        for step in range(random.randint(1, 120)):
            if pair.model.entries and random.random() < 0.4:
                pair.remove(random.choice(list(pair.model.entries)))
            elif random.random() < 0.1:
                pair.add(step, any_filter(random), random.choice(places))
            else:
                value = random.choice([literal(random), True, False])
                one = Filter.all_of({random.choice("abc"): equal(value)})
                pair.add(step, one, random.choice(places))
            for event in events(random, 2):
                exclude = random.choice(places)
                found = pair.index.destinations(event, exclude)
                assert_same(found, pair.model.destinations(event, exclude), event)


def is_looking_up(index: CompiledIndex[str]) -> bool:
    return index._rows._lookup is not None


def test_only_single_values_are_looked_up() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("one", Filter("a = 1"), "west")
    assert not is_looking_up(index), "nobody asked about a single notification yet"
    assert index.destinations({"a": 1}) == ["west"]
    assert is_looking_up(index)
    index.add("either", Filter("a = 2 or b = 2"), "east")
    assert index.destinations({"b": 2}) == ["east"]
    assert is_looking_up(index), "a value each"
    index.add("more", Filter("a > 1"), "north")
    assert sorted(index.destinations({"a": 2})) == ["east", "north"]
    assert not is_looking_up(index)
    index.remove("more")
    assert index.destinations({"a": 2}) == ["east"]
    assert is_looking_up(index)


def test_a_large_index_and_a_large_notification_are_left_to_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("one", Filter("a = 1"), "west")
    many = {f"n{number}": 0 for number in range(lookup.ATTRIBUTES_MAX)}
    assert index.destinations({**many, "a": 1}) == ["west"]
    monkeypatch.setattr(lookup, "ROWS_MAX", 0)
    assert index.destinations({"a": 1}) == ["west"]
    assert not is_looking_up(index)


@pytest.mark.parametrize("bad", [{"a": None}, {"": 1}, {"a": float("nan")}, {1: 1}, {"a": 2**64}])
def test_what_is_no_notification_is_refused(bad: dict[str, int]) -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("one", Filter("a = 1"), "west")
    with pytest.raises(SapwoodError):
        index.destinations(bad)


def test_a_destination_is_found_as_long_as_one_row_of_it_names_the_value() -> None:
    found = ValueLookup([(7, 1), (7, 1), (8, 2)])
    assert list(found.destinations([7, 8, 9])) == [1, 2]
    found.discard(7, 1)
    assert list(found.destinations([7])) == [1]
    found.discard(7, 1)
    assert list(found.destinations([7])) == []
