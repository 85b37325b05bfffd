"""Searching: exact ranges, hashed slots, and destinations that need not be searched further."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from matching.drawing import number, randoms, text, value
from matching.model import Pair
from sapwood.filters import Constraint, Filter, between, equal, one_of, prefix, suffix
from sapwood.matching.layout import NUMBER_RANGES, TEXT_RANGES, TEXTS, Memory
from sapwood.matching.rows import RowStore
from sapwood.matching.searching import (
    FEW_EVENTS,
    hash_of,
    number_range_holds,
    text_range_holds,
)
from sapwood.matching.stores import number_bits
from sapwood.matching.vocabulary import Vocabulary


@given(st.integers(0, 2**31 - 1), st.integers(0, 24))
def test_a_hash_is_a_place(slot: int, power: int) -> None:
    assert 0 <= hash_of(slot, 1 << power) < 1 << power


def test_hashes_are_spread() -> None:
    places = {int(hash_of(slot, 1 << 12)) for slot in range(0, 8192, 4)}
    assert len(places) > 1500, "slots that are multiples of something do not crowd"


def stored_ranges(constraints: list[Constraint]) -> Memory:
    memory = Memory()
    rows = RowStore(memory, Vocabulary(memory))
    for constraint in constraints:
        rows.add((("x", constraint),), 0)
    rows.flush()
    return memory


@given(randoms)
def test_ranges_of_numbers_hold_what_the_constraint_holds(random: Random) -> None:
    drawn = [
        between(number(random), number(random), random.random() < 0.5, random.random() < 0.5)
        for _ in range(20)
    ]
    ranges = [each for each in drawn if len({cut[0] for cut in each.numbers}) == 2]
    memory = stored_ranges(ranges)
    for at, constraint in enumerate(ranges):
        ends = int(memory.addresses[NUMBER_RANGES]) + at * memory[NUMBER_RANGES].strides[0]
        for _ in range(10):
            each = value(random)
            if not isinstance(each, bool | str):
                found = number_range_holds(ends, *number_bits(each))
                assert bool(found) == constraint.matches(each), (constraint, each)


@given(randoms)
def test_ranges_of_texts_hold_what_the_constraint_holds(random: Random) -> None:
    drawn = [prefix(text(random)) for _ in range(10)]
    drawn += [between(text(random), text(random), high_open=True) for _ in range(10)]
    ranges = [
        each
        for each in drawn
        if each.texts.ranges and each.texts.ranges[1:] != (each.texts.ranges[0] + "\0",)
    ]
    memory = stored_ranges(ranges)
    texts = int(memory.addresses[TEXTS])
    for at, constraint in enumerate(ranges):
        ends = int(memory.addresses[TEXT_RANGES]) + at * memory[TEXT_RANGES].strides[0]
        for _ in range(10):
            each = value(random)
            if isinstance(each, str):
                data = np.frombuffer(each.encode() + b"\xff", np.uint8)
                found = text_range_holds(ends, texts, data.ctypes.data, len(data) - 1)
                assert bool(found) == constraint.matches(each), (constraint, each)


def test_a_lazy_constraint_is_evaluated_for_few_events_and_for_many() -> None:
    """Both ways give the same, also when the second comes after the first in a chunk."""
    pair = Pair()
    for key in range(60):
        filter_ = Filter.all_of({"a": equal(key % 4), "t": suffix("xyz"[key % 3])})
        pair.add(key, filter_)
    pair.index.optimize()
    for few in (1, FEW_EVENTS, FEW_EVENTS + 1, 40):
        rare = [{"a": 1, "t": f"t{letter}"} for letter in "xyz"] * few
        common = [{"a": number % 4, "t": "ty"} for number in range(60)]
        pair.check([*rare[:few], *common])  # type: ignore[list-item]
        pair.check([*common, *rare[:few]])  # type: ignore[list-item]


def test_a_set_is_made_of_its_points() -> None:
    pair = Pair()
    for key in range(30):
        pair.add(key, Filter.all_of({"a": one_of([key, key + 1, "text", True])}))
        pair.add(("point", key), Filter.all_of({"a": equal(key)}))
    batch = [{"a": each} for each in (*range(33), 2.0, "text", True, False)]
    pair.check(batch)
    for key in range(0, 30, 2):
        pair.remove(("point", key))
    pair.check(batch)
    for key in range(0, 30, 3):
        pair.remove(key)
    pair.check(batch)
