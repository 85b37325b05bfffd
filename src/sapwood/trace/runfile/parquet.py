"""A Parquet file of rows that are given as runs.

The same to readers as what `sapwood.trace.files.arrow` writes. Only there rows are made first, and
their writing costs by the row; here most of the cost is by the run. One row group, since a file is
a segment; names, types and nulls are those of the schema. Of the columns that every row has, the
least and the largest value is noted: by these a reader finds what it needs.

See https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import BinaryIO, Final

import numpy as np

from sapwood.trace.runfile import plain
from sapwood.trace.runfile.chunks import Chunk, Encoder
from sapwood.trace.runfile.runs import Columns, Numbers, Texts, same_number, same_text
from sapwood.trace.runfile.thrift import Value, i16, i32, i64, sequence, struct, text
from sapwood.trace.schema import COLUMNS, REQUIRED, TRACE_VERSION

_MAGIC: Final = b"PAR1"
_VERSION: Final = 2
_CREATED_BY: Final = f"sapwood-trace version {TRACE_VERSION}.0.0"
"""Some readers parse it, and expect this form."""

# Numbers that Parquet gives to types.
_TYPES: Final = {"int64": 2, "double": 5, "string": 6}
_UTF8: Final = 0
_IS_REQUIRED, _IS_OPTIONAL = 0, 1
_EMPTY: Final = struct({})
_STRING: Final = struct({1: _EMPTY})
_BY_TYPE: Final = struct({1: _EMPTY})
"""The order of values is the natural one of their type."""


def write(columns: Columns, metadata: Mapping[str, str], file: BinaryIO) -> None:
    """Write columns into an open file; ValueError if they do not fit together."""
    rows = int(columns["step"].counts.sum())
    encoder = Encoder()
    nowhere = Texts(np.full(1, -1), np.array([rows]), ())
    position = file.write(_MAGIC)
    about: list[Value] = []
    total, total_uncompressed = 0, 0
    for name in COLUMNS:
        is_required = name in REQUIRED
        try:
            chunk = encoder.chunk(
                columns.get(name, nowhere),
                rows,
                is_nullable=not is_required,
                is_bounded=is_required,
            )
        except ValueError as problem:
            raise ValueError(f"column {name!r}: {problem}") from problem
        file.write(chunk.data)
        about.append(_column(name, chunk, rows, position))
        position += len(chunk.data)
        total += len(chunk.data)
        total_uncompressed += chunk.size_uncompressed
    group = struct(
        {
            1: sequence(about),
            2: i64(total_uncompressed),
            3: i64(rows),
            5: i64(len(_MAGIC)),
            6: i64(total),
            7: i16(0),
        }
    )
    footer = _footer(group, rows, metadata)
    file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def _column(name: str, chunk: Chunk, rows: int, position: int) -> Value:
    has_dictionary = chunk.data_page_at > 0
    about = struct(
        {
            1: i32(_TYPES[COLUMNS[name]]),
            2: sequence([i32(encoding) for encoding in chunk.encodings]),
            3: sequence([text(name)]),
            4: i32(chunk.codec),
            5: i64(rows),
            6: i64(chunk.size_uncompressed),
            7: i64(len(chunk.data)),
            9: i64(position + chunk.data_page_at),
            11: i64(position) if has_dictionary else None,
            12: chunk.statistics,
        }
    )
    return struct({2: i64(0), 3: about})


def _footer(group: Value, rows: int, metadata: Mapping[str, str]) -> bytes:
    said = [struct({1: text(key), 2: text(value)}) for key, value in metadata.items()]
    return struct(
        {
            1: i32(_VERSION),
            2: sequence([struct({4: text("schema"), 5: i32(len(COLUMNS))}), *_schema()]),
            3: i64(rows),
            4: sequence([group]),
            5: sequence(said) if said else None,
            6: text(_CREATED_BY),
            7: sequence([_BY_TYPE] * len(COLUMNS)),
        }
    ).data


def _schema() -> list[Value]:
    return [
        struct(
            {
                1: i32(_TYPES[kind]),
                3: i32(_IS_REQUIRED if name in REQUIRED else _IS_OPTIONAL),
                4: text(name),
                6: i32(_UTF8) if kind == "string" else None,
                10: _STRING if kind == "string" else None,
            }
        )
        for name, kind in COLUMNS.items()
    ]


def warm() -> None:
    """Compile, or load what was compiled before, so that no row waits for it later."""
    columns: Columns = {
        **{name: same_text("", 1) for name, kind in COLUMNS.items() if kind == "string"},
        **{name: same_number(1, 1) for name, kind in COLUMNS.items() if kind == "int64"},
        "at": Numbers(np.zeros(1), np.ones(1, np.int64)),
    }
    write(columns, {}, io.BytesIO())
    plain.warm()
