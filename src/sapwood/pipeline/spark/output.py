"""Tables that a job leaves: Parquet that others can read, the same again if the job is repeated."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ELSEWHERE = "name a folder elsewhere with --out"


def check_output(out: str, directory: str, tables: Collection[str]) -> None:
    """Refuse a folder that holds something else, or lies within the trace that is read."""
    folder = _local(out)
    if folder is None:
        return
    source = _local(directory)
    if source is not None and folder.absolute().is_relative_to(source.absolute()):
        raise PipelineError(
            f"{out} lies within the trace {directory}, of which it would become a part; "
            f"{_ELSEWHERE}"
        )
    if folder.exists() and not folder.is_dir():
        raise PipelineError(f"{out} is a file; name a folder")
    others = sorted(path.name for path in folder.glob("*") if path.name not in tables)
    if others:
        raise PipelineError(f"{out} holds something else ({others[0]}); name an empty folder")


def make_folder(out: str) -> None:
    """Make sure that results can be written, before there are any."""
    folder = _local(out)
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(folder, os.W_OK)
    except OSError as problem:
        raise PipelineError(f"{out} cannot be made: {problem.strerror}; {_ELSEWHERE}") from None
    if not is_writable:
        raise PipelineError(f"{out} cannot be written to; {_ELSEWHERE}")


def write_tables(out: str, tables: Mapping[str, DataFrame]) -> None:
    """Write each table into a folder of its name, in place of what was there."""
    for name, table in tables.items():
        table.coalesce(1).write.mode("overwrite").parquet(f"{out.rstrip('/')}/{name}")


def _local(path: str) -> Path | None:
    """A path on this machine, None for what is elsewhere."""
    if path.startswith("file:"):
        return Path("/" + path.removeprefix("file:").lstrip("/"))
    return None if "://" in path else Path(path)
