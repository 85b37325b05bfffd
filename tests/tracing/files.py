"""Trace files for tests: rows with every column, and files as others might write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sapwood.trace.schema import Row

VERSION = {"sapwood.trace.version": "1"}


def full_row(step: int = 1, **columns: Any) -> Row:
    """A row without nulls."""
    values: dict[str, Any] = {
        "run": "r", "broker": "B1", "session": 1, "step": step, "at": step / 4,
        "kind": "published", "publisher": "ann.1", "sequence": step, "client": "ann.1",
        "client_order": step, "source": "ann.1", "target": "B2", "message": "publish",
        "bytes": 2**40, "attributes": '{"x": "ä"}', "filter": "x = 'ä'",
    }  # fmt: skip
    return Row(**{**values, **columns})


def bare_row(step: int = 1, **columns: Any) -> Row:
    """A row with nothing but what it needs."""
    values: dict[str, Any] = {
        "run": "r", "broker": "B1", "session": 1, "step": step, "at": step / 4, "kind": "clock",
    }  # fmt: skip
    return Row(**{**values, **columns})


def write_file(
    path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any
) -> Path:
    """A Parquet file with these columns, as a foreign program would write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    said = VERSION if metadata is None else metadata
    pq.write_table(pa.table(columns).replace_schema_metadata(said), path, **options)
    return path


def columns_of(rows: list[Row], *names: str) -> dict[str, list[Any]]:
    """Some columns of rows."""
    return {name: [getattr(row, name) for row in rows] for name in names}
