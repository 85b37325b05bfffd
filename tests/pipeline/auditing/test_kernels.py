"""The compiled loops, against plain Python."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from sapwood.compiled.compiling import stamp_of
from sapwood.pipeline.auditing import kernels
from sapwood.trace.judge import rules


@pytest.mark.slow
def test_the_hash_is_that_of_spark() -> None:
    """From `select xxhash64(0L), xxhash64(1L), xxhash64(-5L), xxhash64(4611686018427387904L)`."""
    found = kernels.hash_longs(np.array([0, 1, -5, 2**62]))
    assert found.tolist() == [
        -5252525462095825812,
        -7001672635703045582,
        -5259934538394028452,
        8973626371093010265,
    ]


def test_what_is_owed() -> None:
    """Rows at 1, 2 and 9; filters 0 and 1; client 0 has both, client 1 the second, for a while."""
    declarations = np.array([[0, 1.0, np.inf], [0, 1.0, np.inf], [1, 2.0, 10.0]])
    rows, clients = kernels.owe(
        np.array([1.0, 2.0, 9.0]),
        np.array([0, 2, 4, 5]),
        np.array([0, 1, 0, 1, 1]),
        np.array([0, 1, 3]),
        declarations,
        1.0,
        np.empty(2, np.int64),
    )
    pairs = list(zip(rows.tolist(), clients.tolist(), strict=True))
    assert pairs == [(0, 0), (1, 0), (1, 1), (2, 0)]  # at 9, client 1 ends exactly 1 s later


def test_sums_are_of_counts_and_hashes() -> None:
    sums = np.zeros((2, 3), np.int64)
    kernels.add_sums(np.array([0, 1, 0]), np.array([5, 6, 7]), sums)
    five, six, seven = kernels.hash_longs(np.array([5, 6, 7])).tolist()
    assert sums.tolist() == [[2, five ^ seven, (five >> 32) + (seven >> 32)], [1, six, six >> 32]]


def test_sums_of_parts_come_to_those_of_the_whole() -> None:
    parts = np.zeros((2, 3), np.int64)
    kernels.add_sums(np.array([0, 1, 0]), np.array([5, 6, 7]), parts)
    joined, whole = np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64)
    kernels.join_sums(np.array([1, 0, 1]), np.array([0, 0, 1]), parts, joined)
    kernels.add_sums(np.array([0, 0, 1, 1, 1]), np.array([5, 7, 5, 6, 7]), whole)
    assert joined.tolist() == whole.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_stream_is_followed_until_its_order_goes_back(seed: int) -> None:
    random = Random(seed)
    orders = [random.randrange(12) for _ in range(40)]
    sequences = [random.randrange(12) for _ in range(40)]
    expected: list[list[int]] = []
    for order, sequence in zip(orders, sequences, strict=True):
        if expected and order > expected[-1][1]:
            last = expected[-1]
            last[4] |= sequence <= last[3]
            last[1], last[3] = order, max(sequence, last[3])
        else:
            expected.append([order, order, sequence, sequence, 0])
    standing = np.array([[0, 0, 0, 0, -1, 0]])
    closed, states = kernels.look_over(
        np.zeros(40, np.int64), np.array(orders), np.array(sequences), np.arange(40), standing,
        np.zeros(2, np.int64),
    )  # fmt: skip
    assert set(closed.tolist()) <= {0}
    assert [row[:5] for row in (*states.tolist(), *standing.tolist())] == expected


def test_a_cached_kernel_is_current_only_with_the_rules_it_was_compiled_from() -> None:
    stamp = stamp_of(Path(kernels.__file__))
    assert kernels.owe._cache._cache_file._source_stamp == stamp  # type: ignore[attr-defined]
    assert rules.__name__ in Path(kernels.__file__).read_text().replace(" import ", ".")
