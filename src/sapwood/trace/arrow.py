"""Rows to Arrow tables and back: the one module that knows pyarrow.

It is imported when a file is read or written and not before, so that a simulation without a trace
directory, or a client, does not need it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sapwood.errors import TraceError
from sapwood.trace.schema import COLUMNS, REQUIRED, Row


def modules() -> tuple[Any, Any]:
    """``pyarrow`` and ``pyarrow.parquet``, or an error that names the remedy."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - only who touches files pays for it
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise TraceError(
            "trace files need pyarrow, which is not installed: pip install 'sapwood[trace]'"
        ) from error
    return pa, pq


def warm() -> None:
    """Load all that is needed to write a file, so that no thread of others waits for it later."""
    empty = from_columns({"step": range(0)}, {})
    write_columns(empty, io.BytesIO())


def schema() -> Any:
    """The Arrow schema of the columns, without metadata."""
    arrow, _ = modules()
    types = {"string": arrow.string(), "int64": arrow.int64(), "double": arrow.float64()}
    return arrow.schema(
        [
            arrow.field(name, types[type_name], nullable=name not in REQUIRED)
            for name, type_name in COLUMNS.items()
        ]
    )


def to_table(rows: Sequence[Row], metadata: Mapping[str, str]) -> Any:
    """A table with a column for everything a row can hold, and what the rows hold beyond that.

    Raises ``pyarrow.ArrowException``, TypeError or OverflowError if a value does not fit its
    column.
    """
    arrow, _ = modules()
    fields = list(schema())
    arrays = [
        arrow.array([getattr(row, field.name) for row in rows], field.type) for field in fields
    ]
    for name in sorted({name for row in rows if row.extra for name in row.extra}):
        arrays.append(arrow.array([(row.extra or {}).get(name) for row in rows]))
        fields.append(arrow.field(name, arrays[-1].type))
    return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, metadata=dict(metadata)))


class Texts(NamedTuple):
    """A column of texts that repeat: an array of places in a list of texts, -1 for null."""

    places: Any
    texts: Sequence[str]


def from_columns(columns: Mapping[str, Any], metadata: Mapping[str, str]) -> Any:
    """A table from whole columns, for who has many rows at once and no time to make them.

    A column is a NumPy array, or `Texts`. In one of integers that may be null, 0 is null: what is
    counted there begins at 1. A column that is not there is null everywhere.
    """
    arrow, _ = modules()
    count = len(columns["step"])
    fields, arrays = [], []
    for field in schema():
        column = columns.get(field.name)
        if isinstance(column, Texts):
            array = _from_texts(column)
            field = arrow.field(field.name, array.type, nullable=field.nullable)
        elif column is None:
            array = arrow.nulls(count, field.type)
        else:
            array = arrow.array(column, field.type, mask=_mask(column, field.nullable))
        fields.append(field)
        arrays.append(array)
    return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields, metadata=dict(metadata)))


def _mask(column: Any, nullable: bool) -> Any:
    """Which numbers are null; None if none is, which is quicker."""
    return column == 0 if nullable and len(column) and not column.all() else None


def _from_texts(column: Texts) -> Any:
    arrow, _ = modules()
    mask = column.places < 0 if len(column.places) and column.places.min() < 0 else None
    indices = arrow.array(column.places, arrow.int32(), mask=mask)
    return arrow.DictionaryArray.from_arrays(indices, arrow.array(column.texts, arrow.string()))


_COUNTED: Final = ("step", "sequence", "client_order")
"""Columns that mostly grow by one: as differences they take next to nothing."""


_BOUNDED: Final = ["run", "broker", "session", "step", "at", "kind"]
"""Columns whose least and largest value is noted: by these a reader finds what it needs."""


def write_rows(table: Any, file: Any) -> None:
    """Write a table of `to_table` into an open file."""
    _, parquet = modules()
    parquet.write_table(
        table,
        file,
        compression="zstd",
        row_group_size=max(1, table.num_rows),
        write_page_checksum=True,
    )


def write_columns(table: Any, file: Any) -> None:
    """Write a table of `from_columns` into an open file: the same to readers, but quick.

    Texts are in the file what they are here, places in a list; to whoever reads, they are texts.
    """
    _, parquet = modules()
    with parquet.ParquetWriter(
        file,
        table.schema,
        compression="zstd",
        use_dictionary=[name for name in table.column_names if name not in _COUNTED],
        column_encoding=dict.fromkeys(_COUNTED, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
        write_statistics=_BOUNDED,
        store_schema=False,
    ) as writer:
        said = table.schema.metadata
        writer.add_key_value_metadata({key.decode(): said[key].decode() for key in said})
        writer.write_table(table, row_group_size=max(1, table.num_rows))


def read_table(path: Path) -> Any:
    """A whole file."""
    _, parquet = modules()
    return parquet.ParquetFile(path).read()


def filtered(table: Any, stays: Sequence[bool]) -> Any:
    """A table without some of its rows."""
    arrow, _ = modules()
    return table.filter(arrow.array(stays))


def to_rows(table: Any) -> Iterator[Row]:
    """The rows of a table: a missing column is null everywhere, an unknown one goes to `extra`.

    Raises ``pyarrow.ArrowException`` if a column is not of its type, and TraceError if one that
    every row needs is missing or has nulls.
    """
    _check_required(table)
    nothing = [None] * table.num_rows
    known = [
        _values(table.column(field.name), field.type)
        if field.name in table.column_names
        else nothing
        for field in schema()
    ]
    names = tuple(COLUMNS)
    extras = _extras(table)
    for values, extra in zip(zip(*known, strict=True), extras, strict=True):
        yield Row(**dict(zip(names, values, strict=True)), extra=extra)


def _check_required(table: Any) -> None:
    for name in REQUIRED:
        if name not in table.column_names:
            raise TraceError(f"there is no column {name!r}, which every row needs")
        if table.column(name).null_count:
            raise TraceError(f"column {name!r} has nulls; every row needs it")


def _values(column: Any, type_wanted: Any) -> list[Any]:
    """The values of a column; texts that repeat share one object, which saves most memory."""
    arrow, _ = modules()
    if type_wanted != arrow.string():
        values: list[Any] = column.cast(type_wanted).to_pylist()
        return values
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found: list[Any] = []
    for chunk in column.cast(type_wanted).dictionary_encode().chunks:
        texts = chunk.dictionary.to_pylist()
        found += [None if index is None else texts[index] for index in chunk.indices.to_pylist()]
    return found


def _extras(table: Any) -> list[dict[str, Any] | None]:
    unknown = [name for name in table.column_names if name not in COLUMNS]
    extras: list[dict[str, Any] | None] = [None] * table.num_rows
    for name in unknown:
        for index, value in enumerate(table.column(name).to_pylist()):
            if value is not None:
                extras[index] = {**(extras[index] or {}), name: value}
    return extras
