"""Small tables that are made here and handed to Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


def to_frame(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> DataFrame:
    """A DataFrame of these rows; `columns` are Spark's types by name.

    As an Arrow table it is part of the plan, where rows would go through a Python worker.
    """
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    listed = list(rows)
    arrays = [
        pa.array([row[place] for row in listed], field.type) for place, field in enumerate(schema)
    ]
    # Over Spark Connect, a table without rows needs its types said in words.
    said = None if listed else in_words(columns)
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), said)


def in_words(columns: Mapping[str, str]) -> str:
    """Columns and their types as SQL writes them."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


__all__ = ["in_words", "to_frame"]
