"""The quick look passes streams that are in order and doubts all others."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sapwood.pipeline.auditing.screening import _look_over, doubtful_streams
from sapwood.pipeline.spark.local import to_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Event = tuple[int, int, int]
"""Stream, place in its order, sequence."""

_NAMES = ("stream", "first_order", "last_order", "first_sequence", "last_sequence", "is_bad")


def segments(
    events: list[Event], size: int = 4, steps: list[int] | None = None
) -> list[tuple[int, ...]]:
    columns = zip(*events, strict=True)
    named = dict(zip(("stream", "place", "sequence"), map(list, columns), strict=True))
    batch = pa.RecordBatch.from_pydict({**named, "step": steps or list(range(len(events)))})
    parts = [batch.slice(start, size) for start in range(0, batch.num_rows, size)]
    return [tuple(row.values()) for part in _look_over(parts) for row in part.to_pylist()]


def test_one_segment_while_order_grows() -> None:
    assert segments([(7, 1, 10), (8, 5, 1), (7, 2, 11), (7, 9, 20), (8, 6, 1)]) == [
        (7, 1, 9, 10, 20, 0),
        (8, 5, 6, 1, 1, 1),
    ]


def test_a_new_segment_where_order_goes_back() -> None:
    assert segments([(7, 3, 30), (7, 4, 40), (7, 1, 10)]) == [
        (7, 3, 4, 30, 40, 0),
        (7, 1, 1, 10, 10, 0),
    ]


def test_a_new_segment_where_another_file_begins() -> None:
    """Steps 5 and 200 are not of one file; what lies between them may be of this stream."""
    events = [(7, 1, 10), (8, 1, 1), (7, 2, 11), (7, 30, 40), (8, 9, 7), (7, 31, 41)]
    assert segments(events, steps=[3, 4, 5, 200, 201, 202]) == [
        (7, 1, 2, 10, 11, 0),
        (8, 1, 1, 1, 1, 0),
        (7, 30, 31, 40, 41, 0),
        (8, 9, 9, 7, 7, 0),
    ]
    assert segments(events[:4], steps=[200, 201, 202, 90]) == [
        (7, 1, 2, 10, 11, 0),
        (7, 30, 30, 40, 40, 0),
        (8, 1, 1, 1, 1, 0),
    ]


@pytest.mark.slow
def test_files_in_any_order_raise_no_doubts(spark: SparkSession) -> None:
    """As Spark reads them: of six files of a broker, three in each of two tasks."""
    listed: list[tuple[int, ...]] = []
    for files in ((0, 3, 5), (1, 4, 2)):
        places = [1 + 100 * file + row for file in files for row in range(100)]
        listed += segments([(7 + place % 2, place, place) for place in places], 64, places)
    frame = to_frame(spark, dict.fromkeys(_NAMES, "bigint"), listed)
    assert doubtful_streams(frame).toArrow().num_rows == 0


@pytest.mark.slow
def test_exactly_the_streams_that_are_not_in_order(spark: SparkSession) -> None:
    """Parts of streams in any order of files; a stream is fine if sequences grow with places."""
    random = Random(5)
    listed: list[tuple[int, ...]] = []
    wrong = set()
    for stream in range(300):
        sequences = sorted(random.sample(range(100), random.randint(1, 8)))
        if random.random() < 0.4:
            random.shuffle(sequences)
        if random.random() < 0.2:
            sequences.append(sequences[0])
        if any(a >= b for a, b in pairwise(sequences)):
            wrong.add(stream)
        events = [(stream, place, sequence) for place, sequence in enumerate(sequences)]
        cut = random.randint(0, len(events))
        parts = [part for part in (events[cut:], events[:cut]) if part]
        for part in random.sample(parts, len(parts)):
            listed += segments(part)
    frame = to_frame(spark, dict.fromkeys(_NAMES, "bigint"), listed)
    found = {row["stream"] for row in doubtful_streams(frame).toArrow().to_pylist()}
    assert found == wrong
    assert 50 < len(wrong) < 250
