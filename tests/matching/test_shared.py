"""Tables that share their filters find what each would find alone."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given

from matching.drawing import any_filter, event, randoms
from matching.model import Model, assert_same
from sapwood.errors import DuplicateKeyError, SapwoodError, UnknownKeyError
from sapwood.filters import Filter
from sapwood.matching.index import MatchIndex
from sapwood.matching.shared import SharedFilters, SharedIndex


@given(randoms)
def test_each_table_finds_what_it_would_find_alone(random: Random) -> None:
    """Whatever comes and goes in the others, and whatever was matched before."""
    shared = SharedFilters(random.choice([2, 1000]))
    tables = [(SharedIndex[int](shared), Model()) for _ in range(3)]
    filters = [any_filter(random) for _ in range(12)]
    asked = [event(random) for _ in range(4)]
    for key in range(40):
        index, model = random.choice(tables)
        if model.entries and random.random() < 0.4:
            gone = random.choice(list(model.entries))
            index.remove(gone)
            del model.entries[gone]
        filter_, destination = random.choice(filters), random.choice("abc")
        index.add(key, filter_, destination)
        model.entries[key] = filter_, destination
        number = random.randrange(len(asked))
        matched = shared.match(b"%d" % number, asked[number])
        for index, model in tables:
            expected = model.destinations(asked[number])
            assert_same(list(index.owed(matched.filters)), expected, asked[number])
            assert_same(index.destinations(asked[number]), expected, asked[number])
            (found,) = index.destinations_batch([asked[number]], exclude="a")
            assert_same(found, expected - {"a"}, asked[number])
    held = {filter_ for _, model in tables for filter_, _ in model.entries.values()}
    assert len(shared) == len(held)
    for index, model in tables:
        listed = {one.key: (one.filter, one.destination) for one in index.entries()}
        assert listed == model.entries
        assert len(index) == len(listed)


def test_a_notification_is_matched_once_for_all() -> None:
    shared = SharedFilters(10)
    one, other = SharedIndex[str](shared), SharedIndex[str](shared)
    one.add("x", Filter("a = 1"), "west")
    other.add("x", Filter("a = 1"), "east")
    first = shared.match(b"name", {"a": 1})
    with patch.object(MatchIndex, "match", side_effect=AssertionError):
        assert shared.match(bytes(bytearray(b"name")), {"a": 1}) is first
    assert (list(one.owed(first.filters)), list(other.owed(first.filters))) == (["west"], ["east"])


def test_a_filter_that_is_new_is_found_at_once() -> None:
    shared = SharedFilters(10)
    index: SharedIndex[str] = SharedIndex(shared)
    assert shared.match(b"name", {"a": 1}).filters == ()
    index.add("x", Filter("a = 1"), "west")
    assert list(index.owed(shared.match(b"name", {"a": 1}).filters)) == ["west"]


def test_what_is_remembered_is_bounded() -> None:
    shared = SharedFilters(3)
    for number in range(10):
        shared.match(b"%d" % number, {"a": number})
        assert len(shared.matched) == number % 3 + 1


def test_bad_attributes_are_refused_each_time() -> None:
    shared = SharedFilters(3)
    for _ in range(2):
        with pytest.raises(SapwoodError):
            shared.match(b"name", {"a": float("inf")})


def test_a_destination_stays_as_long_as_one_of_its_entries() -> None:
    shared = SharedFilters(3)
    index: SharedIndex[str] = SharedIndex(shared)
    for key in "xy":
        index.add(key, Filter("a = 1"), "west")
    index.remove("x")
    assert index.destinations({"a": 1}) == ["west"]
    index.remove("y")
    assert index.destinations({"a": 1}) == []
    assert len(shared) == 0


def test_wrong_use_changes_nothing() -> None:
    shared = SharedFilters(3)
    index: SharedIndex[object] = SharedIndex(shared)
    index.add("x", Filter("a = 1"), "west")
    with pytest.raises(DuplicateKeyError):
        index.add("x", Filter("a = 2"), "east")
    with pytest.raises(UnknownKeyError, match="the key 'y' is not in the index"):
        index.remove("y")
    with pytest.raises(TypeError, match="unhashable"):
        index.add([], Filter("a = 2"), "east")
    with pytest.raises(TypeError, match="unhashable"):
        index.add("y", Filter("a = 2"), [])  # type: ignore[arg-type]
    assert len(shared) == len(index) == 1
    assert "y" not in index


def test_copies_share_with_each_other_only() -> None:
    shared = SharedFilters(3)
    one, other = SharedIndex[str](shared), SharedIndex[str](shared)
    one.add("x", Filter("a = 1"), "west")
    copies = deepcopy([one, other])
    one.remove("x")
    copies[1].add("y", Filter("a = 1"), "east")
    assert [index.destinations({"a": 1}) for index in (one, other, *copies)] == [
        [],
        [],
        ["west"],
        ["east"],
    ]
