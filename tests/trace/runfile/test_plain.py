"""Plain values: as Parquet describes them."""

from __future__ import annotations

import math
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.runfile import plain


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5)), st.integers(1, 99))
def test_texts_stand_behind_their_length(some: list[str], times: int) -> None:
    texts = some * times
    expected = [text.encode() for text in texts]
    assert plain.texts(texts) == b"".join(struct.pack("<I", len(t)) + t for t in expected)


def test_numbers_take_eight_bytes() -> None:
    assert plain.numbers(np.array([1.5, -2.0])) == struct.pack("<2d", 1.5, -2.0)
    assert plain.numbers(np.array([1, -2])) == struct.pack("<2q", 1, -2)


def test_bounds_have_both_zeros_between_them() -> None:
    def sign(data: bytes) -> float:
        return math.copysign(1, struct.unpack("<d", data)[0])

    for zero in (0.0, -0.0):
        assert sign(plain.bound(zero, is_least=True)) == -1
        assert sign(plain.bound(zero, is_least=False)) == 1
    assert plain.bound(-1.5, is_least=True) == struct.pack("<d", -1.5)
    assert plain.bound(-7, is_least=False) == struct.pack("<q", -7)
