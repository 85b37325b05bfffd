"""The state of the router: every array has its address where the kernels look for it."""

from __future__ import annotations

from sapwood.fastpath import state
from sapwood.fastpath.state import State


def test_all_addresses_are_there_and_are_those_of_the_arrays() -> None:
    one = State(7)
    one.open_keys(64)
    for number in (
        *(state.KEYS, state.BYTES, state.DOOR, state.FRAMES),
        *(state.RUNS, state.EVENTS, state.NAMES, state.NEW_PLANS),
    ):
        assert one.numbers[number] == one._others[number].ctypes.data
    assert one.numbers[state.SEED] == 7
    assert one.numbers[state.KEYS_MASK] == 63
    assert len(one.numbers) == state.STATE_SIZE


def test_a_table_of_the_same_size_stays_where_it_is() -> None:
    one = State(7)
    one.open_keys(64)
    before = int(one.numbers[state.KEYS])
    one._others[state.KEYS][3] = 1
    one.open_keys(64)
    assert one.numbers[state.KEYS] == before
    assert not one._others[state.KEYS].any()
    one.open_keys(128)
    assert one._others[state.KEYS].shape == (128, state.KEY_COLUMNS)
