"""`MatchIndex` scans, then changes over to the engine: nobody can tell from its answers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from contextlib import ExitStack
from copy import deepcopy
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis.stateful import rule
from pyspark import cloudpickle

from matching.drawing import any_filter, event, events, randoms
from matching.history import History
from matching.model import Pair, small_numbers
from sapwood.errors import (
    DuplicateKeyError,
    FilterTypeError,
    MatchIndexError,
    UnknownKeyError,
)
from sapwood.filters import Filter
from sapwood.matching import MatchIndex, index
from sapwood.matching.entry import IndexEntry


class ChangingHistory(History):
    """The same as for the engine, with change-overs and copies in the middle."""

    def __init__(self) -> None:
        self.patches = ExitStack()
        self.patches.enter_context(small_numbers())
        self.patches.enter_context(patch.object(index, "SCANNED_MAX", 25))
        self.patches.enter_context(patch.object(index, "TOGETHER_MAX", 5))
        super().__init__()

    def new_index(self) -> Any:
        return MatchIndex()

    @rule()
    def copy(self) -> None:
        self.pair.index = deepcopy(self.pair.index)

    @rule()
    def pickle(self) -> None:
        self.pair.index = pickle.loads(pickle.dumps(self.pair.index))

    def teardown(self) -> None:
        listed = {one.key: (one.filter, one.destination) for one in self.pair.index.entries()}
        assert listed == self.pair.model.entries
        super().teardown()
        self.patches.close()


TestChangingHistory = ChangingHistory.TestCase
TestChangingHistory.settings = settings(
    max_examples=settings().max_examples // 4, stateful_step_count=20
)


@given(randoms)
def test_the_answers_before_and_after_the_change_over_are_the_same(random: Random) -> None:
    pair = Pair(MatchIndex())
    for key in range(random.randint(1, 30)):
        pair.add(key, any_filter(random), random.choice([None, "a", "b"]))
    asked = events(random, 10)
    before = [sorted(keys) for keys in pair.index.match_batch(asked)]
    where = [set(found) for found in pair.index.destinations_batch(asked, exclude="a")]
    pair.index.engine()
    assert pair.index.is_compiled
    assert [sorted(keys) for keys in pair.index.match_batch(asked)] == before
    assert [set(pair.index.destinations(one, exclude="a")) for one in asked] == where


@pytest.mark.parametrize(
    ("text", "most"),
    [("x = {}", index.SCANNED_MAX), ("x > {}", index.TOGETHER_MAX)],
)
def test_it_changes_over_when_there_are_too_many_to_look_at(text: str, most: int) -> None:
    found: MatchIndex[int] = MatchIndex()
    for key in range(most):
        found.add(key, Filter(text.format(key)))
    assert (found.is_compiled, found.has_engine) == (False, False)
    found.add(most, Filter(text.format(most)))
    assert (found.is_compiled, found.has_engine) == (True, True)
    for key in range(most):
        found.remove(key)
    assert found.is_compiled
    assert found.match({"x": most + 1}) == ([most] if ">" in text else [])


def test_numbers_of_destinations_are_the_engines() -> None:
    found: MatchIndex[str] = MatchIndex()
    found.add("x", Filter("a = 1"), "west")
    assert found.engine().memory != 0
    assert found.destination(1) == "west"
    found.count_events(3)
    found.optimize()
    assert found.match({"a": 1}) == ["x"]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_wrong_use_changes_nothing(is_compiled: bool) -> None:
    pair = Pair(MatchIndex())
    for key in range(20):
        pair.add(key, any_filter(Random(key)), key % 3)
    if is_compiled:
        pair.index.engine()
    with pytest.raises(DuplicateKeyError, match="the key 7 is in the index already"):
        pair.index.add(7, Filter("true"))
    with pytest.raises(FilterTypeError, match="expected a Filter, not str"):
        pair.index.add("new", "true")
    with pytest.raises(UnknownKeyError, match="the key 'new' is not in the index"):
        pair.index.remove("new")
    with pytest.raises(TypeError, match="unhashable"):
        pair.index.add("new", Filter("true"), destination=[])
    assert "new" not in pair.index
    assert len(pair.index) == 20
    pair.check(events(Random(1), 20))
    pair.check_destinations(events(Random(1), 20))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_copy_is_of_its_own(is_compiled: bool) -> None:
    one: MatchIndex[str] = MatchIndex()
    one.add("x", Filter("a = 1"), "west")
    one.add("y", Filter("a > 1"), "east")
    if is_compiled:
        one.engine()
    other = deepcopy(one)
    one.remove("x")
    other.add("z", Filter("a = 1"), "north")
    assert list(one.entries()) == [IndexEntry("y", Filter("a > 1"), "east")]
    assert [entry.key for entry in other.entries()] == ["x", "y", "z"]
    assert (one.match({"a": 1}), other.match({"a": 1})) == ([], ["x", "z"])
    assert one.is_compiled == other.is_compiled == is_compiled


def test_filters_need_not_be_kept() -> None:
    random = Random(3)
    pair = Pair(MatchIndex(keeps_filters=False))
    for key in range(200):
        pair.add(key, any_filter(random), key % 3)
    pair.check([event(random)])
    with pytest.raises(AssertionError, match="not to keep its filters"):
        deepcopy(pair.index)


LOADED = """
import pickle, sys
index = pickle.load(sys.stdin.buffer)
events = [{"x": number} for number in range(300)]
sys.stdout.buffer.write(pickle.dumps((index.is_compiled, index.match_batch(events))))
"""


@pytest.mark.slow
def test_another_process_loads_a_pickled_index() -> None:
    """The engine's arrays hold addresses: taken along, they crashed whoever used them."""
    found: MatchIndex[int] = MatchIndex()
    for key in range(300):
        found.add(key, Filter(f"x > {key}" if key % 2 else f"x = {key}"), key % 3)
    assert found.is_compiled
    by_spark = cloudpickle.dumps(found)  # type: ignore[no-untyped-call]
    for dumped in (pickle.dumps(found), by_spark):
        ran = subprocess.run(
            [sys.executable, "-c", LOADED], input=dumped, capture_output=True, check=True
        )
        is_compiled, answers = pickle.loads(ran.stdout)
        assert is_compiled
        asked = [{"x": number} for number in range(300)]
        assert [sorted(keys) for keys in answers] == [
            sorted(keys) for keys in found.match_batch(asked)
        ]


def test_an_index_without_its_filters_cannot_be_pickled() -> None:
    found: MatchIndex[int] = MatchIndex(keeps_filters=False)
    found.add(1, Filter("x = 1"))
    assert pickle.loads(pickle.dumps(found)).match({"x": 1}) == [1]
    found.engine()
    with pytest.raises(MatchIndexError, match="does not keep its filters cannot be"):
        pickle.dumps(found)
    with pytest.raises(MatchIndexError, match="arrays cannot be copied or pickled"):
        pickle.dumps(found._compiled)
