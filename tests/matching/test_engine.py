"""`CompiledIndex` agrees with a scan of all filters, whatever is done to it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from matching.drawing import any_filter, box_filter, event, events, randoms
from matching.model import Pair, small_numbers
from sapwood.errors import DuplicateKeyError, FilterTypeError, UnknownKeyError
from sapwood.filters import Filter, equal
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import CHUNK

CHUNK_EDGES = sorted({0, 1, 2, 63, 64, 65, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3})


@given(randoms)
def test_a_match_is_what_a_scan_finds(random: Random) -> None:
    pair = Pair()
    for key in range(random.randint(0, 60)):
        pair.add(key, any_filter(random))
    pair.check(events(random, 12))
    for one in events(random, 5):
        assert sorted(pair.index.match(one)) == sorted(pair.model.match(one))


@given(randoms)
def test_a_match_is_what_a_scan_finds_with_coarse_cells_and_many_segments(random: Random) -> None:
    with small_numbers():
        pair = Pair()
        for key in range(random.randint(0, 80)):
            pair.add(key, any_filter(random), random.choice([None, "west", "east"]))
            if random.random() < 0.1:
                pair.check([event(random)])
        pair.check(events(random, 12))
        pair.check_destinations(events(random, 12))


@pytest.mark.parametrize("size", CHUNK_EDGES)
def test_batches_of_all_sizes(size: int) -> None:
    random = Random(size)
    pair = Pair()
    for key in range(100):
        pair.add(key, any_filter(random), key % 4)
    batch = events(random, size)
    pair.check(batch)
    pair.check_destinations(batch, exclude=2)
    assert pair.index.match_batch(batch) == [pair.index.match(each) for each in batch]
    pair.check(events(random, 3))  # nothing of a large batch is left behind


def test_an_empty_index_matches_nothing() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    assert index.match({"a": 1}) == []
    assert index.match_batch([]) == []
    assert index.match_batch([{}, {"a": 1}]) == [[], []]
    assert index.destinations({"a": 1}) == []
    index.optimize()
    assert index.match({"a": 1}) == []


def test_filters_that_match_everything_or_nothing() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("all", Filter("true"), "west")
    index.add("none", Filter("false"), "east")
    assert index.match({}) == ["all"]
    assert index.match_batch([{"a": 1}] * 3) == [["all"]] * 3
    assert index.destinations({}) == ["west"]
    index.remove("none")
    index.remove("all")
    assert index.match({}) == []


def test_a_filter_with_many_boxes_is_found_once() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    names = [f"n{number}" for number in range(500)]
    index.add("any", Filter(" or ".join(f"{name} = 1" for name in names)), "west")
    assert index.match(dict.fromkeys(names, 1)) == ["any"]
    assert index.destinations(dict.fromkeys(names, 1)) == ["west"]
    assert index.match({"n499": 1}) == ["any"]
    assert index.match({"n499": 2}) == []
    index.remove("any")
    assert index.match({"n499": 1}) == []


def test_a_filter_with_many_attributes() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    wanted = {f"n{number}": number for number in range(300)}
    index.add("all", Filter.all_of({name: equal(value) for name, value in wanted.items()}))
    assert index.match(wanted) == ["all"]
    assert index.match({**wanted, "n7": 8}) == []
    assert index.match({name: value for name, value in wanted.items() if name != "n7"}) == []


def test_true_is_not_one() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    for text in ("x = 1", "x = true", "x = '1'", "x in (1, 2)", "x in (true, 2)", "x = 0"):
        index.add(text, Filter(text))
    assert index.match({"x": 1}) == index.match({"x": 1.0}) == ["x = 1", "x in (1, 2)"]
    assert index.match({"x": True}) == ["x = true", "x in (true, 2)"]
    assert index.match({"x": "1"}) == ["x = '1'"]
    assert index.match({"x": -0.0}) == ["x = 0"]
    assert index.match({"x": False}) == []


def test_integers_and_floats_are_compared_without_rounding() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    edge = 2**53
    for text in (f"x = {edge}", f"x = {edge + 1}", f"x > {edge}", f"x < {edge + 1}"):
        index.add(text, Filter(text))
    assert sorted(index.match({"x": edge})) == [f"x < {edge + 1}", f"x = {edge}"]
    assert sorted(index.match({"x": float(edge)})) == [f"x < {edge + 1}", f"x = {edge}"]
    assert sorted(index.match({"x": edge + 1})) == [f"x = {edge + 1}", f"x > {edge}"]
    assert sorted(index.match({"x": float(edge + 2)})) == [f"x > {edge}"]


def test_keys_come_back_as_they_were_given() -> None:
    index: CompiledIndex[object] = CompiledIndex()
    keys = [1, "one", (1, "one"), None, frozenset({1}), 2.5]
    for key in keys:
        index.add(key, Filter("true"))
    found = index.match({})
    assert {id(key) for key in found} == {id(key) for key in keys}
    assert len(index) == len(keys)
    assert None in index
    assert "two" not in index


# --- wrong use ----------------------------------------------------------------------------


def small_pair() -> Pair:
    pair = Pair()
    for key in range(20):
        pair.add(key, box_filter(Random(key)), key % 3)
    return pair


def test_a_key_is_added_once() -> None:
    pair = small_pair()
    with pytest.raises(DuplicateKeyError) as refused:
        pair.index.add(7, Filter("true"), "elsewhere")
    assert str(refused.value) == "the key 7 is in the index already; remove it first"
    assert len(pair.index) == 20
    pair.check(events(Random(1), 70))
    pair.check_destinations(events(Random(1), 70))


def test_a_key_that_is_not_there_cannot_be_removed() -> None:
    pair = small_pair()
    with pytest.raises(UnknownKeyError) as refused:
        pair.index.remove("nobody")
    assert str(refused.value) == "the key 'nobody' is not in the index"
    pair.remove(7)
    with pytest.raises(UnknownKeyError, match="the key 7 is not in the index"):
        pair.index.remove(7)
    assert len(pair.index) == 19
    pair.check(events(Random(2), 70))


@pytest.mark.parametrize("wrong", ["x = 1", None, 5, {"x": equal(1)}])
def test_only_filters_are_added(wrong: object) -> None:
    pair = small_pair()
    with pytest.raises(FilterTypeError, match=f"expected a Filter, not {type(wrong).__name__}"):
        pair.index.add("new", wrong)
    assert "new" not in pair.index
    assert len(pair.index) == 20
    pair.check(events(Random(3), 70))


def test_a_key_or_destination_without_hash_changes_nothing() -> None:
    pair = small_pair()
    with pytest.raises(TypeError, match="unhashable"):
        pair.index.add([], Filter("true"))
    with pytest.raises(TypeError, match="unhashable"):
        pair.index.add("new", Filter("true"), destination=[])
    assert "new" not in pair.index
    assert len(pair.index) == 20
    pair.add("new", Filter("true"), "west")
    pair.check(events(Random(4), 70))
    pair.check_destinations(events(Random(4), 70))
