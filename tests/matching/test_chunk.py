"""A chunk of events as masks: every value in its cell, and nothing of it left behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compiled.compiling import kernel
from sapwood.compiled.raw import long_at, set_long
from sapwood.filters import Filter
from sapwood.matching.chunk import (
    BITS,
    accumulate_cells,
    begin_chunk,
    forget_chunk,
    is_empty,
    note_value,
    set_bit,
)
from sapwood.matching.engine import CompiledIndex
from sapwood.matching.exact import INTEGER
from sapwood.matching.layout import (
    ACTIVE,
    ATTRIBUTES,
    CHUNK,
    EPOCH,
    FIRST_EVENT,
    NARROW,
    NUMBER_BLOCK,
    NUMBER_CELLS,
    NUMBER_MARKED,
    TABLE,
    TOUCHED_COUNT,
    VALUE_BITS,
    VALUE_KIND,
    WIDE,
)

BOUNDS = (10, 20, 30)


@kernel
def fill(lanes: Any, memory: int, first: int, values: int, count: int) -> bool:
    """Take in integers as the values of attribute 0; whether an event's bit was seen to be set."""
    begin_chunk(memory, first)
    table = long_at(memory, TABLE)
    was_empty = is_empty(lanes, table, ACTIVE)
    for event in range(count):
        set_long(memory, BITS, long_at(values, event))
        note_value(lanes, memory, event, 0, INTEGER)
        set_bit(lanes, table, ACTIVE, event)
    accumulate_cells(lanes, memory)
    return bool(was_empty and (count == 0 or not is_empty(lanes, table, ACTIVE)))


@kernel
def forget(lanes: Any, memory: int, count: int) -> None:
    """End the chunk."""
    forget_chunk(lanes, memory, count)


@pytest.fixture(scope="module")
def index() -> CompiledIndex[str]:
    index: CompiledIndex[str] = CompiledIndex()
    for bound in BOUNDS:
        index.add(f"from {bound}", Filter(f"a >= {bound}"))
    index.optimize()
    assert index.match({"a": 20}) == ["from 10", "from 20"]
    return index


def events_in(table: Any, slot: int, width: int) -> set[int]:
    mask = sum(int(word) << 64 * lane for lane, word in enumerate(table[slot]))
    return {event for event in range(64 * width) if mask >> event & 1}


@given(values=st.lists(st.integers(0, 40), max_size=CHUNK), first=st.integers(0, 1000))
def test_every_slot_of_a_block_has_the_events_below_it(
    index: CompiledIndex[str], values: list[int], first: int
) -> None:
    lanes = WIDE if len(values) > 64 else NARROW
    memory = index._memory
    epoch = int(memory.addresses[EPOCH])
    wanted = np.array([*values, 0], np.int64)
    assert fill(lanes, memory.address, first, wanted.ctypes.data, len(values))
    assert memory.addresses[[EPOCH, FIRST_EVENT]].tolist() == [epoch + 1, first]
    attribute = memory[ATTRIBUTES][0]
    assert attribute[NUMBER_CELLS] == len(BOUNDS)
    words = memory[TABLE].reshape(-1)
    table = words[: len(words) // len(lanes) * len(lanes)].reshape(-1, len(lanes))
    for above in range(len(BOUNDS) + 2):
        below = {
            event
            for event, value in enumerate(values)
            if sum(bound <= value for bound in BOUNDS) < above
        }
        assert events_in(table, int(attribute[NUMBER_BLOCK]) + above, len(lanes)) == below
    assert events_in(table, ACTIVE, len(lanes)) == set(range(len(values)))
    assert memory[VALUE_BITS].reshape(-1)[: len(values)].tolist() == values
    forget(lanes, memory.address, len(values))
    assert not memory[TABLE].any()
    assert not memory[VALUE_KIND].any()
    assert attribute[NUMBER_MARKED] == 0


def test_a_chunk_that_begins_has_touched_nothing(index: CompiledIndex[str]) -> None:
    memory = index._memory
    memory.addresses[TOUCHED_COUNT] = 5
    nothing = np.zeros(1, np.int64)
    assert fill(NARROW, memory.address, 0, nothing.ctypes.data, 0)
    assert memory.addresses[TOUCHED_COUNT] == 0
    forget(NARROW, memory.address, 0)
