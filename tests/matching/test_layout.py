"""Arrays by number: they grow, keep what they hold, and the kernels know where they are."""

from __future__ import annotations

import numpy as np

from sapwood.matching.layout import ATTRIBUTES, TABLE, TEXTS, TOUCHED, Memory


def test_an_array_grows_and_keeps_what_it_holds() -> None:
    memory = Memory()
    memory.write(TOUCHED, 0, [1, 2, 3])
    before = len(memory[TOUCHED])
    grown = memory.reserve(TOUCHED, before + 1)
    assert len(grown) == 2 * before, "at least doubled: growing is amortised"
    assert grown[:3].tolist() == [1, 2, 3]
    assert not grown[3:].any()
    assert memory.reserve(TOUCHED, 5) is grown
    memory.write(TOUCHED, 1000, [7])
    assert memory[TOUCHED][1000] == 7
    assert len(memory[TOUCHED]) == 1001


def test_the_kernels_know_where_an_array_is() -> None:
    memory = Memory()
    for number in (TOUCHED, ATTRIBUTES, TABLE):
        memory.reserve(number, 5000)
        assert memory.addresses[number] == memory[number].ctypes.data
    memory.replace(TEXTS, b"".join([b"a"] * 3) and np.frombuffer(b"abc", np.uint8))
    assert memory.addresses[TEXTS] == memory[TEXTS].ctypes.data
    assert memory.address == memory.addresses.ctypes.data


def test_an_array_is_never_empty_and_of_its_own_type() -> None:
    memory = Memory()
    memory.replace(TOUCHED, [])
    assert memory[TOUCHED].tolist() == [0]
    memory.replace(ATTRIBUTES, [])
    assert memory[ATTRIBUTES].shape[0] == 1
    memory.replace(TOUCHED, np.array([1, 2], np.int64))
    assert memory[TOUCHED].dtype == np.int32
    memory.write(TOUCHED, 0, [])
    assert memory[TOUCHED].tolist() == [1, 2]


def test_two_memories_share_nothing() -> None:
    one, other = Memory(), Memory()
    one.write(TOUCHED, 0, [5])
    assert other[TOUCHED][0] == 0
    assert not set(one.addresses[:20].tolist()) & set(other.addresses[:20].tolist())
