"""The state of the fast path: every array has its address where the kernels look for it."""

from __future__ import annotations

from sapwood.fastpath import state
from sapwood.fastpath.state import State


def test_all_addresses_are_there_and_are_those_of_the_arrays() -> None:
    one = State(64)
    for number in (
        *(state.DOOR, state.FRAMES, state.RUNS),
        *(state.EVENTS, state.NAMES, state.NEW_PLANS),
    ):
        assert one.numbers[number] == one._others[number].ctypes.data
    assert one.numbers[state.KEYS] == one.keys.address
    assert one.keys.size == 64
    assert len(one.numbers) == state.STATE_SIZE


def test_clearing_leaves_nothing_and_the_table_where_it_is() -> None:
    one = State(64)
    one._others[state.DOOR][3] = 1
    one.numbers[[state.PLAN_COUNT, state.NEW_COUNT]] = 5
    one.clear(128)
    assert not one._others[state.DOOR].any()
    assert one.numbers[[state.PLAN_COUNT, state.NEW_COUNT]].tolist() == [0, 0]
    assert one.numbers[state.KEYS] == one.keys.address
    assert one.keys.size == 128
