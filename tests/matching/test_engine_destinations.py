"""Destinations: each at most once, the excluded one never, entries without one not at all."""

from __future__ import annotations

from random import Random

from hypothesis import given

from matching.drawing import any_filter, events, randoms
from matching.model import Pair
from sapwood.filters import Filter, Value
from sapwood.matching.engine import CompiledIndex


def index_of(*entries: tuple[str, str, object]) -> CompiledIndex[str]:
    index: CompiledIndex[str] = CompiledIndex()
    for key, text, destination in entries:
        index.add(key, Filter(text), destination)
    return index


@given(randoms)
def test_destinations_are_what_a_scan_finds(random: Random) -> None:
    pair = Pair()
    places = random.sample([None, "a", "b", "c", 1, 2.5], random.randint(1, 6))
    for key in range(random.randint(0, 150)):
        pair.add(key, any_filter(random), random.choice(places))
    pair.check_destinations(events(random, 10))
    pair.check_destinations(events(random, 10), exclude=random.choice(places))


def test_many_matches_are_one_destination() -> None:
    index = index_of(*[(f"k{number}", "a = 1 or b = 1", "west") for number in range(200)])
    assert index.destinations({"a": 1, "b": 1}) == ["west"]
    assert index.destinations_batch([{"a": 1}] * 130) == [["west"]] * 130
    assert index.destinations({"a": 1}, exclude="west") == []
    assert index.destinations({"a": 2}) == []


def test_the_excluded_destination_is_left_out() -> None:
    index = index_of(("x", "true", "west"), ("y", "true", "east"), ("z", "true", None))
    assert sorted(index.destinations({})) == ["east", "west"]
    assert index.destinations({}, exclude="west") == ["east"]
    assert sorted(index.destinations({}, exclude="unheard of")) == ["east", "west"]
    assert index.match({}) == index.match_batch([{}])[0]
    assert sorted(index.match({})) == ["x", "y", "z"]


def test_an_entry_without_destination_is_matched_but_goes_nowhere() -> None:
    index = index_of(("x", "true", None))
    assert index.match({}) == ["x"]
    assert index.destinations({}) == []


def test_false_and_zero_are_destinations() -> None:
    index = index_of(("x", "true", 0), ("y", "true", ""))
    assert sorted(map(repr, index.destinations({}))) == ["''", "0"]
    assert index.destinations({}, exclude=0) == [""]


def test_a_destination_is_gone_with_its_last_entry() -> None:
    index = index_of(("x", "a = 1", "west"), ("y", "true", "west"), ("z", "true", "east"))
    index.remove("x")
    assert sorted(index.destinations({"a": 1})) == ["east", "west"]
    index.remove("y")
    assert index.destinations({"a": 1}) == ["east"]
    index.add("w", Filter("true"), "west")
    assert sorted(index.destinations({"a": 1})) == ["east", "west"]


def test_numbers_of_destinations_are_used_again() -> None:
    index = index_of(("x", "true", "stays"))
    for number in range(100):
        index.add("visitor", Filter("true"), f"place {number}")
        assert sorted(index.destinations({})) == [f"place {number}", "stays"]
        assert index.destinations({}, exclude="stays") == [f"place {number}"]
        index.remove("visitor")
    assert index.destinations({}) == ["stays"]
    assert len(index._destinations) == 3, "none, the one that stays, and one for all visitors"


def test_a_crowd_of_one_destination_leaves_and_another_takes_its_number() -> None:
    """Groups of many rows belong to a destination; when it is gone they must not speak for it."""
    pair = Pair()
    for number in range(300):
        pair.add(("old", number), Filter(f"a = {number % 3}"), "old")
        pair.add(("other", number), Filter(f"a = {number % 5}"), "other")
    for number in range(300):
        pair.remove(("old", number))
    for number in range(100):
        pair.add(("new", number), Filter(f"a = {number % 2} and b = {number}"), "new")
    batch: list[dict[str, Value]] = [{"a": a, "b": b} for a in range(5) for b in range(20)]
    pair.check_destinations(batch)
    pair.check_destinations(batch, exclude="other")
    pair.check(batch)
