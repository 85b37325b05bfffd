"""Cells are chosen from the ends of an index's own ranges, attribute by attribute."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from matching.model import Pair
from sapwood.filters import Filter, Value, between, prefix
from sapwood.matching.cells import NUMBER_CELLS_MAX, TEXT_CELLS_MAX
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.layout import ATTRIBUTES, NUMBER_BOUNDS, NUMBER_CELLS, TEXT_CELLS


def cells_of(index: CompiledIndex[int], name: str) -> tuple[int, int]:
    """How many bounds of numbers and of texts an attribute has."""
    attribute = index._memory[ATTRIBUTES][index._vocabulary.names[name]]
    return int(attribute[NUMBER_CELLS]), int(attribute[TEXT_CELLS])


def test_ends_are_bounds_after_optimizing() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    index.add(1, Filter("x between 1 and 5 and y < 3"))
    index.add(2, Filter("x >= 5 and t prefix 'ab'"))
    assert cells_of(index, "x") == (0, 0), "a new attribute has one cell"
    index.optimize()
    assert cells_of(index, "x") == (3, 0)
    assert cells_of(index, "y") == (1, 0)
    assert cells_of(index, "t") == (0, 2)
    bounds = np.sort(index._memory[NUMBER_BOUNDS]).tolist()
    assert bounds == [1.0, 3.0, 5.0, np.nextafter(5.0, 9)]


@pytest.mark.slow
def test_cells_are_limited() -> None:
    random = Random(1)
    pair = Pair()
    for key in range(3000):
        low = random.random()
        letters = "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=5))
        filter_ = Filter.all_of({"x": between(low, low + 0.1), "t": prefix(letters)})
        pair.add(key, filter_)
    pair.index.optimize()
    numbers, texts = cells_of(pair.index, "x")[0], cells_of(pair.index, "t")[1]
    assert NUMBER_CELLS_MAX / 2 < numbers <= NUMBER_CELLS_MAX
    assert 1000 < texts <= TEXT_CELLS_MAX
    events: list[dict[str, Value]] = [
        {"x": random.random(), "t": str(pair.model.entries[key][0]).split("'")[1] + "z"}
        for key in range(0, 3000, 150)
    ]
    pair.check(events)


def test_cells_follow_the_filters() -> None:
    index: CompiledIndex[int] = CompiledIndex()
    for key in range(50):
        index.add(key, Filter(f"x > {key} and t > 'a{key}'"))
    index.optimize()
    assert cells_of(index, "x") == (50, 0)
    assert cells_of(index, "t") == (0, 50)
    for key in range(49):
        index.remove(key)
    index.optimize()
    assert cells_of(index, "x") == (1, 0)
    assert cells_of(index, "t") == (0, 1)
    assert index.match({"x": 50, "t": "b"}) == [49]
