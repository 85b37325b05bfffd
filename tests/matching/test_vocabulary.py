"""Attributes and slots live as long as filters speak of them, and no longer."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from matching.drawing import box_filter
from sapwood.filters import (
    Filter,
    contains,
    equal,
    one_of,
    prefix,
)
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import FIRST_FREE_SLOT, Memory
from sapwood.matching.vocabulary import Vocabulary


def test_equal_predicates_share_a_slot() -> None:
    vocabulary = Vocabulary(Memory())
    one, other = vocabulary.attribute("one"), vocabulary.attribute("other")
    assert vocabulary.attribute("one") == one != other
    slots = [
        vocabulary.point(one, 1),
        vocabulary.point(one, "1"),
        vocabulary.point(one, True),
        vocabulary.point(other, 1),
        vocabulary.lazy(one, contains("a")),
        vocabulary.lazy(other, contains("a")),
    ]
    assert len(set(slots)) == len(slots)
    assert min(slots) >= FIRST_FREE_SLOT
    assert vocabulary.point(one, 1.0) == slots[0]
    assert vocabulary.lazy(one, contains("a")) == slots[4]


def footprint(index: CompiledIndex[Any]) -> int:
    """Items in all arrays, lists and dictionaries of an index."""
    return sum(_items(part) for part in _parts(index))


def _parts(index: CompiledIndex[Any]) -> list[object]:
    owners = [index, index._vocabulary, index._rows, index._segments, index._vocabulary.texts]
    return [part for owner in owners for part in vars(owner).values()]


def _items(part: object) -> int:
    if isinstance(part, Memory):
        return sum(array.size for array in part._arrays)
    if isinstance(part, list):
        return len(part) + sum(len(inner) for inner in part if isinstance(inner, list | dict))
    return len(part) if isinstance(part, dict | bytearray | np.ndarray) else 0


@pytest.mark.slow
def test_what_comes_and_goes_leaves_nothing_behind() -> None:
    """Rounds of thousands of filters over ever new attributes, values and destinations."""
    index: CompiledIndex[int] = CompiledIndex()
    sizes = []
    for turn in range(8):
        random = Random(turn)
        for key in range(3000):
            filter_ = Filter.all_of({f"attribute {turn}.{key % 50}": equal(f"{turn}.{key}")})
            if key % 2:
                filter_ = box_filter(random)
            index.add(key, filter_, destination=(turn, key % 9))
        index.match_batch([{f"attribute {turn}.0": f"{turn}.0", "a": 1}] * 3)
        for key in random.sample(range(3000), 3000):
            index.remove(key)
        index.optimize()
        sizes.append(footprint(index))
    assert len(index) == 0
    assert max(sizes[2:]) <= 1.2 * sizes[1]
    vocabulary = index._vocabulary
    assert not vocabulary.names
    assert not vocabulary._shared
    assert not any(vocabulary._points)
    assert len(vocabulary._attribute_names) < 100
    assert len(vocabulary._meanings) < 20_000


@pytest.mark.slow
def test_one_filter_again_and_again_leaves_nothing_behind() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    sizes = []
    for turn in range(6000):
        index.add(turn, Filter.all_of({f"a{turn}": one_of([turn, str(turn)]), "t": prefix("a")}))
        assert index.match({f"a{turn}": turn, "t": "ab"}) == [turn]
        index.remove(turn)
        if turn % 2000 == 1999:
            index.optimize()
            sizes.append(footprint(index))
    assert sizes[2] <= 1.1 * sizes[1]


def test_an_attribute_number_is_given_to_another_name() -> None:
    index: CompiledIndex[str] = CompiledIndex()
    index.add("old", Filter("old = 1 and old2 > 5"))
    assert index.match({"old": 1, "old2": 6}) == ["old"]
    index.remove("old")
    index.add("new", Filter("new = 1 and new2 < 5"))
    assert index.match({"old": 1, "old2": 6, "new2": 3}) == []
    assert index.match({"new": 1, "new2": 3, "old": 2}) == ["new"]
    assert index.match({"new": 1, "new2": 6}) == []
    assert set(index._vocabulary.names.values()) == {0, 1}
