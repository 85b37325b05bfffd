"""Column chunks: how a column is encoded, and what is refused. What is read is in test_parquet."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.trace.runfile.chunks import (
    DELTA_BINARY_PACKED,
    PLAIN,
    RLE,
    RLE_DICTIONARY,
    UNCOMPRESSED,
    ZSTD,
    Chunk,
    Encoder,
)
from sapwood.trace.runfile.runs import Column, Numbers, Texts, same_number, same_text


def chunk(column: Column, *, is_nullable: bool = True) -> Chunk:
    return Encoder().chunk(column, int(column.counts.sum()), is_nullable=is_nullable)


def times(distinct: int, rows: int) -> Numbers:
    return Numbers(np.arange(distinct) / 7, np.full(distinct, rows // distinct))


@pytest.mark.parametrize(
    ("column", "encodings"),
    [
        (same_text("a", 9), (PLAIN, RLE, RLE_DICTIONARY)),
        (same_number(3, 9), (RLE, DELTA_BINARY_PACKED)),
        (times(10, 1000), (PLAIN, RLE, RLE_DICTIONARY)),
        (times(1000, 1000), (PLAIN, RLE)),
        (Texts(np.array([-1]), np.array([9]), ()), (PLAIN, RLE)),
        (same_number(0, 9), (PLAIN, RLE)),
    ],
    ids=["texts", "integers", "few times", "many times", "no texts", "no integers"],
)
def test_a_column_is_encoded_by_what_it_is(column: Column, encodings: tuple[int, ...]) -> None:
    made = chunk(column)
    assert made.encodings == encodings
    assert (made.data_page_at > 0) == (RLE_DICTIONARY in encodings)


def test_pages_are_compressed_if_that_helps() -> None:
    assert chunk(same_text("ab", 9)).codec == UNCOMPRESSED
    long = chunk(same_text("ab" * 1000, 9))
    assert long.codec == ZSTD
    assert len(long.data) < 200
    assert long.size_uncompressed > 2000
    noise = np.random.default_rng(1).integers(-(2**62), 2**62, 129)
    assert chunk(Numbers(2 * noise, np.ones(129, np.int64))).codec == UNCOMPRESSED


def test_rows_cost_next_to_nothing_where_nothing_changes() -> None:
    few, many = (chunk(same_number(1, rows, slope=1)) for rows in (1000, 1_000_000))
    assert len(many.data) < len(few.data) + 100


@pytest.mark.parametrize(
    ("column", "rows", "problem"),
    [
        (same_text("a", 9), 8, "it has 9 rows instead of 8"),
        (Texts(np.array([0, -1]), np.array([1, 1]), ["a"]), 2, "it has nulls; every row needs it"),
    ],
    ids=["rows", "nulls"],
)
def test_what_does_not_fit_is_refused(column: Column, rows: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Encoder().chunk(column, rows, is_nullable=False)
