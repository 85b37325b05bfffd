"""Reads and writes by address, and masks of one word and of four."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.compiled.raw import (
    big_endian,
    bit_count,
    byte_at,
    float_at,
    int_at,
    is_equal,
    little_endian,
    long_at,
    lowest_bit,
    meets,
    narrow,
    set_byte,
    set_int,
    set_long,
    set_word,
    word_at,
)
from sapwood.matching.layout import NARROW, WIDE


@njit(cache=False)
def _write_and_read(address: Any) -> Any:
    set_long(address, 0, -5)
    set_word(address, 1, np.uint64(0xFFFFFFFFFFFFFFFF))
    set_int(address, 5, -7)
    set_byte(address, 24, 200)
    return (
        long_at(address, 0),
        word_at(address, 1),
        int_at(address, 5),
        byte_at(address, 24),
        float_at(address, 4),
    )


def test_items_are_addressed_by_their_own_width() -> None:
    memory = np.zeros(5, np.int64)
    memory.view(np.float64)[4] = 2.5
    assert _write_and_read(memory.ctypes.data) == (-5, 2**64 - 1, -7, 200, 2.5)
    assert memory[:2].tolist() == [-5, -1]
    assert memory.view(np.int32)[[4, 5]].tolist() == [0, -7]
    assert memory.view(np.uint8)[24:26].tolist() == [200, 0]


@njit(cache=False)
def _narrow(lanes: Any, target: Any, source: Any, high: Any, low: Any) -> Any:
    return narrow(lanes, target, source, high, low), meets(lanes, source, high, low, high, low)


@pytest.mark.parametrize("lanes", [NARROW, WIDE])
def test_masks_are_narrowed_by_what_is_in_high_and_not_in_low(lanes: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    for turn in range(20):
        words = random.integers(0, 2**63, (4, len(lanes)), np.uint64)
        if turn % 4 == 0:
            words[2] = words[1]  # nothing is left
        source, high, low, target = words
        expected = source & high & ~low
        any_left = _narrow(lanes, *(words[at].ctypes.data for at in (3, 0, 1, 2)))
        assert target.tolist() == expected.tolist()
        assert any_left == (expected.any(), expected.any())


def test_a_bit_in_any_lane_is_a_bit() -> None:
    full, empty = np.full(4, 2**64 - 1, np.uint64), np.zeros(4, np.uint64)
    for lane in range(4):
        source, target = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
        source[lane] = 1 << 63
        places = (target, source, full, empty)
        assert _narrow(WIDE, *(array.ctypes.data for array in places)) == (True, True)


@njit(cache=False)
def _bits(word: Any) -> Any:
    return lowest_bit(word), bit_count(word)


@pytest.mark.parametrize(
    ("word", "lowest", "count"),
    [(1, 0, 1), (2**63, 63, 1), (0b1010_0000, 5, 2), (2**64 - 1, 0, 64)],
)
def test_bits_of_a_word(word: int, lowest: int, count: int) -> None:
    assert _bits(np.uint64(word)) == (lowest, count)


@njit(cache=False)
def _numbers(address: Any, size: Any) -> Any:
    return little_endian(address, size), big_endian(address, size)


@given(st.binary(max_size=8))
def test_numbers_of_some_bytes(data: bytes) -> None:
    little, big = _numbers(id(data) + BYTES_OFFSET, len(data))
    assert little % 2**64 == int.from_bytes(data, "little")
    assert big == int.from_bytes(data, "big")


@njit(cache=False)
def _is_equal(left: Any, right: Any, length: Any) -> Any:
    return is_equal(left, right, length)


@given(st.binary(max_size=40), st.integers(0, 39), st.integers(1, 255), st.integers(0, 7))
def test_bytes_are_equal_unless_one_differs(data: bytes, at: int, change: int, shift: int) -> None:
    other = bytearray(bytes(shift) + data)
    address = np.frombuffer(other, np.uint8).ctypes.data + shift
    assert _is_equal(id(data) + BYTES_OFFSET, address, len(data))
    if at < len(data):
        other[shift + at] ^= change
        assert not _is_equal(id(data) + BYTES_OFFSET, address, len(data))
        assert _is_equal(id(data) + BYTES_OFFSET, address, at)


def test_numbers_may_begin_at_any_byte() -> None:
    data = bytes(range(40))
    for at in range(16):
        found = _unaligned(id(data) + BYTES_OFFSET + at)
        assert found == int.from_bytes(data[at : at + 8], "little")


@njit(cache=False)
def _unaligned(address: Any) -> Any:
    return long_at(address, 0)
