"""Small tables handed to Spark keep types, nulls and emptiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sapwood.pipeline.spark.local import to_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_rows_come_back(spark: SparkSession) -> None:
    columns = {"a": "string", "b": "bigint", "c": "double", "d": "boolean"}
    rows = [("x", 2**62, 0.5, True), (None, None, None, None)]
    frame = to_frame(spark, columns, rows)
    assert dict(frame.dtypes) == columns
    assert [tuple(row.values()) for row in frame.toArrow().to_pylist()] == rows
    assert to_frame(spark, columns, []).toArrow().num_rows == 0
