"""Packed differences, taken apart again by a reader written from their description."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.runfile import delta


class Reader:
    """Reads one page of packed differences."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def number(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def packed(self, count: int, width: int) -> list[int]:
        size = count * width // 8
        bits = int.from_bytes(self.data[self.at : self.at + size], "little")
        assert self.at + size <= len(self.data)
        self.at += size
        return [bits >> width * index & (1 << width) - 1 for index in range(count)]

    def values(self) -> list[int]:
        block, miniblocks, total, value = (
            self.varint(), self.varint(), self.varint(), self.number(),
        )  # fmt: skip
        assert block % 128 == 0
        assert block // miniblocks % 32 == 0
        found = [value] if total else []
        while len(found) < total:
            least = self.number()
            widths = self.data[self.at : self.at + miniblocks]
            self.at += miniblocks
            for width in widths:
                if len(found) == total:
                    assert width == 0
                    continue
                for above in self.packed(block // miniblocks, width):
                    if len(found) < total:
                        value = (value + least + above + 2**63) % 2**64 - 2**63
                        found.append(value)
                    else:
                        assert above == 0
        assert self.at == len(self.data)
        return found


FIRSTS = st.integers(-(2**63), 2**63 - 1 - 10_000) | st.integers(0, 300)
COUNTS = st.integers(1, 3) | st.sampled_from([31, 32, 33, 127, 128, 129, 300, 1000])


@given(st.lists(st.tuples(FIRSTS, COUNTS), max_size=8), st.integers(0, 1))
def test_what_is_written_is_read(runs: list[tuple[int, int]], slope: int) -> None:
    firsts = np.array([first for first, _ in runs], np.int64)
    counts = np.array([count for _, count in runs], np.int64)
    data = delta.encoded(firsts, counts, slope)
    assert Reader(data).values() == [
        first + slope * index for first, count in runs for index in range(count)
    ]


@pytest.mark.parametrize("slope", [0, 1])
def test_a_long_run_takes_five_bytes_for_128_rows(slope: int) -> None:
    size = len(delta.encoded(np.array([7]), np.array([128 * 1000 + 1]), slope))
    assert size < 5 * 1000 + 16


def test_only_what_is_near_a_change_takes_more() -> None:
    firsts, counts = np.array([1, 1_000_000]), np.array([64_000, 64_000])
    assert len(delta.encoded(firsts, counts, 1)) < 5 * 1000 + 16 + 32 * 20 // 8
