"""The table of keys: what was put is found, nothing else, and it is never more than it may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.compiled.compiling import kernel
from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.fastpath.keys import find, hash_of, remember
from sapwood.fastpath.state import BYTES_MAX, KEYS_MAX, KEYS_USED, NEEDS_ROOM, State

Key = tuple[bytes, int]


@kernel
def look_up(state: int, address: int, length: int, salt: int) -> int:
    """The value of a key, or -1."""
    value: int = find(state, address, length, salt, hash_of(state, address, length, salt))
    return value


def new_state(size: int = 64) -> State:
    state = State(12345)
    state.open_keys(size)
    return state


def put(state: State, key: Key, value: int) -> bool:
    return bool(remember(state.address, id(key[0]) + BYTES_OFFSET, len(key[0]), key[1], value))


def get(state: State, key: Key) -> int:
    return look_up(state.address, id(key[0]) + BYTES_OFFSET, len(key[0]), key[1])


keys = st.tuples(st.binary(max_size=20), st.integers(0, 3))


@given(st.lists(st.tuples(keys, st.integers(0, 2**40))), st.lists(keys))
def test_what_was_put_first_is_found_as_long_as_there_is_room(
    puts: list[tuple[Key, int]], others: list[Key]
) -> None:
    state = new_state()
    expected: dict[Key, int] = {}
    for key, value in puts:
        assert put(state, key, value) == (key in expected or len(expected) < 32)
        if len(expected) < 32:
            expected.setdefault(key, value)
    assert {key: get(state, key) for key in expected} == expected
    for key in [*others, *(key for key, _ in puts)]:
        assert get(state, key) == expected.get(key, -1)
    assert state.numbers[KEYS_USED] == len(expected)


def test_a_full_table_says_so_and_is_empty_when_it_is_opened_again() -> None:
    state = new_state(16)
    full = int(state.numbers[KEYS_MAX])
    for number in range(full):
        assert put(state, (b"%d" % number, 0), number)
    assert not state.numbers[NEEDS_ROOM]
    assert not put(state, (b"one more", 0), 1)
    assert state.numbers[NEEDS_ROOM]
    for size in (16, 32):
        state.open_keys(size)
        assert not state.numbers[NEEDS_ROOM]
        assert get(state, (b"1", 0)) == -1
        assert put(state, (b"one more", 0), 7)
        assert get(state, (b"one more", 0)) == 7


def test_the_bytes_of_keys_have_a_bound_too() -> None:
    state = new_state(16)
    most = int(state.numbers[BYTES_MAX])
    assert not put(state, (bytes(most + 1), 0), 1)
    assert put(state, (bytes(most), 0), 1)
    assert not put(state, (b"x", 0), 1)
    assert put(state, (b"", 0), 2)
