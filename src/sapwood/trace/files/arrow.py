"""Rows to Arrow tables and back: the one module that knows pyarrow.

It is imported when a file is read or written and not before, so that a simulation without a trace
directory, or a client, does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
