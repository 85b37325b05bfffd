"""The table of bytes: what was put is found, nothing else, and it is never more than it may be."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled.forms import forms
from sapwood.compiled import table as table_module
from sapwood.compiled.compiling import kernel
from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.compiled.table import ByteTable, find, hash_of, intern, remember, warm

Key = tuple[bytes, int]


@kernel
def look_up(table: int, address: int, length: int, salt: int) -> int:
    """The value of a key, or -1."""
    value: int = find(table, address, length, salt, hash_of(table, address, length, salt))
    return value


@kernel
def number(table: int, address: int, length: int) -> int:
    """The number of a key, or -1."""
    found: int = intern(table, address, length)
    return found


def put(table: ByteTable, key: Key, value: int) -> bool:
    return bool(remember(table.address, id(key[0]) + BYTES_OFFSET, len(key[0]), key[1], value))


def get(table: ByteTable, key: Key) -> int:
    return look_up(table.address, id(key[0]) + BYTES_OFFSET, len(key[0]), key[1])


def number_of(table: ByteTable, key: bytes, room: int = 100) -> int:
    """The number of a key, with more room if there is none."""
    found = number(table.address, id(key) + BYTES_OFFSET, len(key))
    if found < 0:
        assert table.needs_room
        table.make_room(room)
        found = number(table.address, id(key) + BYTES_OFFSET, len(key))
    return found


keys = st.tuples(st.binary(max_size=20), st.integers(0, 3))


@given(st.lists(st.tuples(keys, st.integers(0, 2**40))), st.lists(keys))
def test_what_was_put_first_is_found_as_long_as_there_is_room(
    puts: list[tuple[Key, int]], others: list[Key]
) -> None:
    table = ByteTable(64, 64, seed=12345)
    expected: dict[Key, int] = {}
    for key, value in puts:
        assert put(table, key, value) == (key in expected or len(expected) < 32)
        if len(expected) < 32:
            expected.setdefault(key, value)
    assert {key: get(table, key) for key in expected} == expected
    for key in [*others, *(key for key, _ in puts)]:
        assert get(table, key) == expected.get(key, -1)
    assert table.count == len(expected)
    assert table.bytes_used == sum(len(data) for data, _ in expected)


def test_a_full_table_says_so_and_is_empty_when_it_is_cleared() -> None:
    table = ByteTable(16)
    told = []
    for value in range(9):
        told.append((put(table, (b"%d" % value, 0), value), table.needs_room))
    assert told == [*[(True, False)] * 8, (False, True)]
    for size in (16, 32):
        table.clear(size)
        assert (table.size, table.count, table.bytes_used) == (size, 0, 0)
        assert not table.needs_room
        assert get(table, (b"1", 0)) == -1
        assert put(table, (b"one more", 0), 7)
        assert get(table, (b"one more", 0)) == 7


def test_the_bytes_of_keys_have_a_bound_too() -> None:
    table = ByteTable(16, key_bytes=64)
    most = 8 * 64
    assert not put(table, (bytes(most + 1), 0), 1)
    assert put(table, (bytes(most), 0), 1)
    assert not put(table, (b"x", 0), 1)
    assert put(table, (b"", 0), 2)


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"", b"a", b"aa"]), max_size=200))
def test_keys_are_numbered_in_the_order_in_which_they_come(wanted: list[bytes]) -> None:
    table = ByteTable(4, key_bytes=1)
    first_seen = list(dict.fromkeys(wanted))
    assert [number_of(table, key) for key in wanted] == [first_seen.index(key) for key in wanted]
    assert table.keys(0, table.count) == first_seen
    assert table.keys(1, 3) == first_seen[1:3]
    assert table.keys(table.count, table.count) == []


def test_values_and_salts_outlive_growth() -> None:
    table = ByteTable(4)
    for value in range(100):
        key = (b"%d" % (value // 2), value % 2)
        if not put(table, key, 1000 + value):
            table.make_room(8)
            assert put(table, key, 1000 + value)
    found = [get(table, (b"%d" % (value // 2), value % 2)) for value in range(100)]
    assert found == [1000 + value for value in range(100)]
    assert table.size == 256


def test_nobody_looks_far() -> None:
    """Where all places within reach are taken, a key is left out, or numbered again."""
    table = ByteTable(64)
    table._places.fill(20)
    table._entries.fill(0)
    assert not put(table, (b"x", 0), 1)
    assert not table.needs_room
    assert get(table, (b"x", 0)) == -1
    assert [number_of(table, b"x"), number_of(table, b"x")] == [0, 1]


def test_a_key_is_found_in_the_thirty_second_place_and_not_behind_it() -> None:
    for taken, is_found in ((31, True), (32, False)):
        table = ByteTable(1024)
        home = _home(table, b"x")
        places = [(home + step) % 1024 for step in range(taken)]
        table._places[places] = 1
        table._entries[0] = 0
        table._numbers[table_module._USED] = 1
        assert put(table, (b"x", 0), 5) == is_found
        assert get(table, (b"x", 0)) == (5 if is_found else -1)


def _home(table: ByteTable, key: bytes) -> int:
    other = ByteTable(table.size)
    assert put(other, (key, 0), 0)
    return int(np.flatnonzero(other._places)[0])


@pytest.mark.slow
def test_where_keys_go_differs_from_process_to_process() -> None:
    code = "from sapwood.compiled import table; print(table._RANDOM)"
    seeds = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for _ in range(2)
    }
    assert len(seeds) == 2
    homes = {_home_with(seed) for seed in range(20)}
    assert len(homes) > 10


def _home_with(seed: int) -> int:
    table = ByteTable(1024, seed=seed)
    assert put(table, (b"key", 0), 0)
    return int(np.flatnonzero(table._places)[0])


def test_all_kernels_are_warmed() -> None:
    warm()
    kernels: list[Any] = [remember, table_module._fill_places]
    assert [len(forms(one)) for one in kernels] == [1, 1]
