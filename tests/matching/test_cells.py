"""Cells keep the order of what is put into them."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from matching.drawing import ALL_TEXTS
from sapwood.matching.cells import evenly, number_cell, text_cell
from sapwood.matching.layout import TEXT_BOUNDS, TEXT_KEYS, Memory
from sapwood.matching.stores import TextStore

floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.one_of(
    st.sampled_from(ALL_TEXTS),
    st.text("ab\0é", max_size=4),
    st.text("ab\0é", max_size=3).map(lambda text: "eight chars" + text),
).map(str.encode)


@given(st.lists(floats, max_size=40, unique=True), st.lists(floats, max_size=20))
def test_a_number_is_placed_by_the_bounds_at_or_below_it(
    bounds: list[float], values: list[float]
) -> None:
    bounds.sort()
    array = np.array([1e9, *bounds, -1e9])  # other attributes' bounds stand before and behind
    for value in values + bounds:
        found = number_cell(array.ctypes.data, 1, len(bounds), value)
        assert found == bisect_right(bounds, value)


@given(st.lists(texts, max_size=40, unique=True), st.lists(texts, max_size=20))
def test_a_text_is_placed_by_the_bounds_at_or_below_it(
    bounds: list[bytes], values: list[bytes]
) -> None:
    bounds.sort()
    memory = Memory()
    store = TextStore(memory)
    store.add("before")
    memory.replace(TEXT_BOUNDS, [store.add_bytes(text) for text in bounds])
    keys = [int.from_bytes(text[:8].ljust(8, b"\0"), "big") for text in bounds]
    memory.replace(TEXT_KEYS, np.array(keys, np.uint64))
    store.flush()
    for value in values + bounds:
        data = np.frombuffer(value + b"\xff", np.uint8)
        found = text_cell(memory.address, 0, len(bounds), data.ctypes.data, len(value))
        assert found == bisect_right(bounds, value)


def test_few_ends_are_all_bounds() -> None:
    assert evenly(np.array([1.0, 1.0, 2.0, 5.0]), 3).tolist() == [1.0, 2.0, 5.0]
    assert evenly(np.array([]), 3).tolist() == []


def test_of_many_ends_an_even_choice_are_bounds() -> None:
    ends = np.sort(np.random.default_rng(1).exponential(size=50_000))
    bounds = evenly(ends, 1000)
    assert len(bounds) == 1000
    assert (np.diff(bounds) > 0).all()
    assert np.isin(bounds, ends).all()
    ranks = np.searchsorted(ends, bounds)
    assert np.diff(ranks).max() <= 2 * len(ends) / 1000


def test_an_end_that_nearly_all_share_is_one_bound() -> None:
    ends = np.sort(np.concatenate([np.full(100_000, 7.0), np.arange(2000.0)]))
    bounds = evenly(ends, 1000)
    assert len(bounds) <= 1000
    assert 7.0 in bounds
