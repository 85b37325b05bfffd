"""Traffic that brokers share, by bitmaps: which brokers each notification concerns, and XᵀX.

A notification concerns the broker it was published at and those it was delivered at (V(n), thesis
5.3.1). One row of bits per notification, equal rows counted together, and the matrix of all pairs
is a product of matrices; joining deliveries with themselves would list every pair of every
notification.

Bits live in words of 63, so that they stay non-negative in Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn

from sapwood.pipeline.spark.local import to_frame
from sapwood.trace.schema import DELIVERED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORD_BITS: Final = 63
_SHARED: Final = "left string, right string, notifications bigint"


def patterns(rows: DataFrame, brokers: Sequence[str]) -> DataFrame:
    """Which sets of brokers notifications concern (`word0` …), and how many each (`n`).

    A notification is known by a 64-bit hash of its id here.
    """
    places = [
        (broker, number // WORD_BITS, 1 << number % WORD_BITS)
        for number, broker in enumerate(brokers)
    ]
    columns = {"broker": "string", "word": "bigint", "bit": "bigint"}
    numbered = fn.broadcast(to_frame(rows.sparkSession, columns, places))
    words = _words(len(brokers))
    concerned = (
        rows.where(rows["kind"].isin(DELIVERED, PUBLISHED))
        .select(fn.xxhash64("run", "publisher", "sequence").alias("id"), "broker")
        .join(numbered, "broker")
    )
    by_notification = concerned.groupBy("id").agg(
        *(
            fn.bit_or(fn.when(fn.col("word") == number, fn.col("bit")).otherwise(0)).alias(name)
            for number, name in enumerate(words)
        )
    )
    return by_notification.groupBy(*words).agg(fn.count(fn.lit(1)).alias("n"))


def shared_traffic(found: DataFrame, brokers: Sequence[str]) -> DataFrame:
    """How many notifications concern both brokers of each pair; of a broker and itself, it."""
    names = pa.array(list(brokers), pa.string())

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        total = np.zeros((len(brokers), len(brokers)))
        for batch in batches:
            bits, counts = unpack(batch, len(brokers))
            total += (bits * counts[:, None]).T @ bits
        left, right = np.nonzero(np.triu(total))
        if len(left):
            yield pa.RecordBatch.from_arrays(
                [
                    names.take(pa.array(left)),
                    names.take(pa.array(right)),
                    pa.array(total[left, right].astype(np.int64)),
                ],
                names=["left", "right", "notifications"],
            )

    return (
        found.mapInArrow(work, _SHARED)
        .groupBy("left", "right")
        .agg(fn.sum("notifications").alias("notifications"))
    )


def unpack(batch: Any, brokers: int) -> tuple[Any, Any]:
    """Patterns as a matrix, a row each with a 1 for every broker concerned; and how many each."""
    columns = []
    for number, name in enumerate(_words(brokers)):
        word = batch.column(name).to_numpy(zero_copy_only=False)
        here = min(WORD_BITS, brokers - number * WORD_BITS)
        columns.append((word[:, None] >> np.arange(here)) & 1)
    counts = batch.column("n").to_numpy(zero_copy_only=False)
    return np.concatenate(columns, axis=1).astype(np.float64), counts.astype(np.float64)


def _words(brokers: int) -> list[str]:
    return [f"word{number}" for number in range(max(1, -(-brokers // WORD_BITS)))]
