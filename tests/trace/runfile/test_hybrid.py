"""The hybrid encoding, taken apart again by a reader written from its description."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.runfile import hybrid


def decoded(data: bytes, width: int, count: int) -> list[int]:
    """The values; what the last group has beyond them is cut off."""
    values: list[int] = []
    at = 0
    while len(values) < count:
        begin = shift = 0
        while True:
            byte = data[at]
            at += 1
            begin |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if begin & 1:
            size = (begin >> 1) * width
            bits = int.from_bytes(data[at : at + size], "little")
            assert at + size <= len(data)
            mask = (1 << width) - 1
            values += [bits >> width * index & mask for index in range((begin >> 1) * 8)]
        else:
            size = -(-width // 8)
            values += [int.from_bytes(data[at : at + size], "little")] * (begin >> 1)
        at += size
    assert at == len(data)
    assert not any(values[count:])
    return values[:count]


COUNTS = st.integers(1, 4) | st.sampled_from([1, 63, 64, 127, 8191, 8192, 20_000])


@given(st.sampled_from([1, 8, 16, 32]), st.data())
def test_what_is_written_is_read(width: int, data: st.DataObject) -> None:
    largest = (1 << width) - 1
    values = st.integers(0, largest) | st.sampled_from([0, largest])
    runs = data.draw(st.lists(st.tuples(values, COUNTS), min_size=1, max_size=12))
    firsts = np.array([value for value, _ in runs], np.int64)
    counts = np.array([count for _, count in runs], np.int64)
    found = hybrid.encoded(firsts, counts, width)
    assert decoded(found, width, int(counts.sum())) == np.repeat(firsts, counts).tolist()


def test_what_repeats_takes_by_the_run_and_what_does_not_by_the_row() -> None:
    once = np.ones(1000, np.int64)
    assert len(hybrid.encoded(np.array([3]), np.array([10**9]), 8)) == 6
    assert len(hybrid.encoded(np.arange(1000) % 7, once, 8)) == 2 + 1000
    assert len(hybrid.encoded(np.arange(1000) % 2, once, 1)) == 2 + 125
    assert len(hybrid.encoded(np.arange(1000) % 2 == 1, 100 * once, 1)) == 3 * 1000


@pytest.mark.parametrize(("entries", "width"), [(1, 8), (256, 8), (257, 16), (65537, 32)])
def test_places_take_whole_bytes(entries: int, width: int) -> None:
    assert hybrid.width_for(entries) == width
