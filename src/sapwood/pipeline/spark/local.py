"""Small tables that are made here and handed to Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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


_IN_QUERY_MAX = 300


def to_arrow(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> Any:
    """A table of Arrow of these rows; `columns` are Spark's types by name."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()])
    listed = list(rows)
    arrays = [
        pa.array([row[place] for row in listed], field.type) for place, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def to_frame(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> DataFrame:
    """A DataFrame of these rows; `columns` are Spark's types by name.

    As an Arrow table it is part of the plan, where rows would go through a Python worker.
    """
    table = to_arrow(columns, rows)
    # Over Spark Connect, a table without rows needs its types said in words.
    return spark.createDataFrame(table, None if table.num_rows else in_words(columns))


def from_arrow(spark: SparkSession, table: Any) -> DataFrame:
    """A DataFrame of a table that Spark has given."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - half a second

    return spark.createDataFrame(table, from_arrow_schema(table.schema))


def only_those(found: DataFrame, key: str, values: Collection[int]) -> DataFrame:
    """The rows whose key is among some numbers; few of them are part of the query itself.

    A table to join with would be a job of its own.
    """
    if len(values) <= _IN_QUERY_MAX:
        return found.where(found[key].isin(*values))
    from pyspark.sql import functions as fn  # noqa: PLC0415 - half a second

    chosen = to_frame(found.sparkSession, {key: "bigint"}, [(value,) for value in values])
    return found.join(fn.broadcast(chosen), key, "left_semi")


def in_words(columns: Mapping[str, str]) -> str:
    """Columns and their types as SQL writes them."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


__all__ = ["from_arrow", "in_words", "only_those", "to_arrow", "to_frame"]
