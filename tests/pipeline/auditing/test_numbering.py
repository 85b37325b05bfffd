"""Keys get dense numbers, in the order in which they turn up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.pipeline.auditing.numbering import Numbering

LONGS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.lists(LONGS | st.integers(0, 5))))
def test_like_a_dictionary(batches: list[list[int]]) -> None:
    numbering, known = Numbering(), dict[int, int]()
    for batch in batches:
        numbers = numbering.numbers(np.array(batch, np.int64))
        assert numbers.tolist() == [known.setdefault(key, len(known)) for key in batch]
    assert len(numbering) == len(known)
    assert numbering.all_keys().tolist() == list(known)
    assert numbering.keys(np.arange(len(known))[::-1]).tolist() == list(known)[::-1]


@pytest.mark.slow
def test_it_grows() -> None:
    numbering = Numbering()
    keys = np.arange(100_000, dtype=np.int64) * 1_000_003
    assert numbering.numbers(keys).tolist() == list(range(100_000))
    assert numbering.numbers(keys[::-1])[0] == 99_999
