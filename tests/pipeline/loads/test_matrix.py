"""Shared traffic by bitmaps, against pairs counted one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sapwood.pipeline.loads.matrix import patterns, shared_traffic, unpack
from sapwood.pipeline.spark.local import to_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_words_become_bits() -> None:
    batch = pa.RecordBatch.from_pydict({"word0": [5, 1 << 62], "word1": [0, 3], "n": [2, 1]})
    bits, counts = unpack(batch, 65)
    assert bits.shape == (2, 65)
    assert [row.nonzero()[0].tolist() for row in bits] == [[0, 2], [62, 63, 64]]
    assert counts.tolist() == [2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("brokers", [3, 70])
def test_pairs_are_counted_as_by_hand(spark: SparkSession, brokers: int) -> None:
    random = Random(brokers)
    names = [f"B{number}" for number in range(brokers)]
    rows, expected = [], Counter[tuple[str, str]]()
    for sequence in range(60):
        concerned = random.sample(names, random.randint(1, 3))
        rows += [("r", "delivered", "p.1", sequence, broker) for broker in concerned * 2]
        concerned.sort(key=names.index)
        expected.update(combinations_with_replacement(concerned, 2))
    columns = {
        "run": "string", "kind": "string", "publisher": "string", "sequence": "bigint",
        "broker": "string",
    }  # fmt: skip
    found = shared_traffic(patterns(to_frame(spark, columns, rows), names), names)
    listed = found.toArrow().to_pylist()
    assert {(row["left"], row["right"]): row["notifications"] for row in listed} == expected
