"""Bloom filters: never forget, forget nothing on the wire, and keep their rate."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import BloomFormatError, BloomMismatchError, BloomParameterError
from sapwood.filters import BloomFilter

items = st.one_of(st.text(max_size=5), st.binary(max_size=5))
shapes = st.tuples(st.integers(1, 200), st.integers(1, 8), st.integers(0, 2**64 - 1))


def filled(shape: tuple[int, int, int], chosen: list[bytes | str]) -> BloomFilter:
    tested = BloomFilter(*shape)
    for item in chosen:
        tested.add(item)
    return tested


@given(shapes, st.lists(items, max_size=20))
def test_what_was_added_is_in(shape: tuple[int, int, int], chosen: list[bytes | str]) -> None:
    tested = filled(shape, chosen)
    assert all(item in tested for item in chosen)


@given(shapes, st.lists(items, max_size=20))
def test_bytes_and_back(shape: tuple[int, int, int], chosen: list[bytes | str]) -> None:
    tested = filled(shape, chosen)
    again = BloomFilter.from_bytes(tested.to_bytes())
    assert again == tested
    assert (again.bits, again.hashes, again.seed) == shape
    assert again.to_bytes() == tested.to_bytes()


@given(shapes, st.lists(items, max_size=10), st.lists(items, max_size=10))
def test_union_and_intersection(
    shape: tuple[int, int, int], left: list[bytes | str], right: list[bytes | str]
) -> None:
    one, other = filled(shape, left), filled(shape, right)
    assert one.union(other) == filled(shape, left + right)
    both = one.intersection(other)
    assert all(item in both for item in left if item in right)
    assert both.fill_ratio <= one.fill_ratio


@given(st.binary(max_size=60))
def test_no_bytes_make_it_crash(data: bytes) -> None:
    try:
        tested = BloomFilter.from_bytes(data)
    except BloomFormatError:
        return
    assert tested.to_bytes() == data


def test_the_same_bits_everywhere() -> None:
    tested = filled((64, 3, 7), ["alice.3:17", b"alice.3:18"])
    assert tested.to_bytes().hex() == (
        "5357424601000300070000000000000040000000000000000400000058020800"
    )
    assert filled((64, 3, 7), [b"alice.3:17"]) == filled((64, 3, 7), ["alice.3:17"])
    assert filled((64, 3, 8), ["alice.3:17"]) != filled((64, 3, 7), ["alice.3:17"])


def test_capacity_keeps_the_rate() -> None:
    tested = BloomFilter.with_capacity(1000, false_positive_rate=0.01)
    assert (tested.bits, tested.hashes) == (9586, 7)
    for number in range(1000):
        tested.add(f"in {number}")
    wrong = sum(f"out {number}" in tested for number in range(20_000))
    assert 100 < wrong < 300
    assert 0.008 < tested.false_positive_rate < 0.012
    assert abs(tested.estimated_count - 1000) < 30
    assert 0.45 < tested.fill_ratio < 0.55


def test_empty_and_full() -> None:
    tested = BloomFilter(8, 1)
    assert (tested.fill_ratio, tested.estimated_count, tested.false_positive_rate) == (0, 0, 0)
    for number in range(200):
        tested.add(str(number))
    assert (tested.fill_ratio, tested.estimated_count) == (1, math.inf)
    assert 5 not in tested
    assert tested != 5
    assert repr(tested) == "<BloomFilter of 8 bits, 1 hashes, seed 0, 100.0% full>"


@pytest.mark.parametrize(
    ("bits", "hashes", "seed", "message"),
    [
        (0, 1, 0, "bits is 0; it must be an integer from 1 to 4294967296"),
        (8, 0, 0, "hashes is 0"),
        (8, 65, 0, "hashes is 65"),
        (8, 1, -1, "seed is -1"),
        (8.0, 1, 0, "bits is 8.0"),
    ],
)
def test_impossible_parameters(bits: int, hashes: int, seed: int, message: str) -> None:
    with pytest.raises(BloomParameterError, match=message):
        BloomFilter(bits, hashes, seed)


@pytest.mark.parametrize("rate", [0, 1, -0.5, math.nan])
def test_impossible_rates(rate: float) -> None:
    with pytest.raises(BloomParameterError, match="false positive rate"):
        BloomFilter.with_capacity(10, rate)


def test_shapes_must_agree() -> None:
    with pytest.raises(BloomMismatchError, match=r"\(8, 1, 0\) and \(8, 2, 0\)"):
        BloomFilter(8, 1).union(BloomFilter(8, 2))
    with pytest.raises(BloomMismatchError):
        BloomFilter(8, 1).intersection(BloomFilter(8, 1, seed=1))


def test_wrong_bytes() -> None:
    good = BloomFilter(12, 2).to_bytes()
    for data, message in [
        (b"", "0 bytes are no Bloom filter"),
        (b"XXXX" + good[4:], "begins with b'SWBF', not with b'XXXX'"),
        (good[:4] + b"\x09\x00" + good[6:], "version 9; known is 1"),
        (good[:-1], "of 12 bits has 2 bytes after its header, not 1"),
        (good + b"\0", "not 3"),
        (good[:6] + b"\x00\x00" + good[8:], "impossible header: hashes is 0"),
        (good[:-1] + b"\xf0", "bits are set beyond the last of 12"),
    ]:
        with pytest.raises(BloomFormatError, match=message):
            BloomFilter.from_bytes(data)
