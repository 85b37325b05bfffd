"""A quick look at the order of deliveries, without sorting them.

A trace is written in the order in which things happened, so almost always the rows of one client
about one publisher come with growing sequences. This is checked in the order of the files, nothing
about which is believed: rows of one file in which a client's own order grows are one *segment*, and
the segments of a stream must follow each other without overlap. Spark reads files in any order, one
after the other; where one ends is seen by the steps. Only streams that fail are looked at again,
exactly (`sapwood.pipeline.auditing.order`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as fn

from sapwood.pipeline.auditing import kernels
from sapwood.pipeline.auditing.numbering import Numbering
from sapwood.trace.schema import DELIVERED, PUBLISHED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NAMES: Final = ("stream", "first_order", "last_order", "first_sequence", "last_sequence", "is_bad")
_SEGMENTS: Final = ", ".join(f"{name} bigint" for name in _NAMES)


def stream_of_deliveries() -> Column:
    """What a client is delivered of a publisher, as a number."""
    return fn.xxhash64("run", "client", "publisher")


def stream_of_publications() -> Column:
    """What a publisher publishes, as a number."""
    return fn.xxhash64("run", "publisher")


def segments(rows: DataFrame) -> DataFrame:
    """Stretches of rows, as they lie in the files, in which the order of a stream grows."""
    is_delivery = rows["kind"] == DELIVERED
    stream = fn.when(is_delivery, stream_of_deliveries()).otherwise(stream_of_publications())
    return (
        rows.where(rows["kind"].isin(DELIVERED, PUBLISHED))
        .select(
            stream.alias("stream"),
            fn.coalesce("client_order", "step").alias("place"),
            fn.coalesce("sequence", fn.lit(0)).alias("sequence"),
            "step",
        )
        .mapInArrow(_look_over, _SEGMENTS)
    )


def doubtful_streams(found: DataFrame) -> DataFrame:
    """The streams whose sequences do not grow all the way with their order."""
    by_place = Window.partitionBy("stream").orderBy("first_order", "last_order", "last_sequence")
    overlaps = fn.lag("last_order").over(by_place) >= fn.col("first_order")
    goes_back = fn.lag("last_sequence").over(by_place) >= fn.col("first_sequence")
    is_doubtful = (fn.col("is_bad") > 0) | overlaps | goes_back
    looked_at = found.select("stream", is_doubtful.alias("is_doubtful"))
    return looked_at.where("is_doubtful").select("stream").distinct()


def _look_over(batches: Iterable[Any]) -> Iterator[Any]:
    streams = Numbering()
    standing = _nothing(1024)
    place = np.zeros(2, np.int64)
    for batch in batches:
        keys, orders, sequences, steps = (
            batch.column(name).to_numpy(zero_copy_only=False)
            for name in ("stream", "place", "sequence", "step")
        )
        ids = streams.numbers(keys)
        while len(streams) > len(standing):
            standing = np.concatenate((standing, _nothing(len(standing))))
        closed, states = kernels.look_over(ids, orders, sequences, steps, standing, place)
        if len(closed):
            yield _batch(streams.keys(closed), states)
    if len(streams):
        yield _batch(streams.all_keys(), standing[: len(streams)])


def _nothing(streams: int) -> Any:
    """The standing of streams of which nothing has come yet."""
    standing = np.zeros((streams, 6), np.int64)
    standing[:, 4] = -1
    return standing


def _batch(streams: Any, states: Any) -> Any:
    columns = [streams, *(np.ascontiguousarray(states[:, column]) for column in range(5))]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=list(_NAMES))
