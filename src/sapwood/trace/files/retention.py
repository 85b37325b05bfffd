"""What is kept of a trace that never ends: the newest files, up to a size and an age.

Where the oldest files of a broker go, one row stays in their place: a ``trace_gap`` at the step and
the time of the last row that went. So whoever judges the trace knows that rows before it are
missing, and blames nobody for them. It takes the place of the last file that goes in one step, so a
crash in the middle leaves neither a hole that nobody tells of nor a row that is there twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sapwood.trace.schema import TRACE_GAP, Row


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a broker's trace is kept; 0: all of it."""

    bytes_max: int = 0
    seconds_max: float = 0.0

    @property
    def is_limited(self) -> bool:
        """Whether anything is ever to go."""
        return self.bytes_max > 0 or self.seconds_max > 0


class _Last(NamedTuple):
    """The last row of a file, and how many there are."""

    step: int
    at: float
    rows: int


def trim(
    files: list[Path],
    keep: Retention,
    now: float,
    replace: Callable[[Path, Row], None],
    owner: tuple[str, str],
) -> int:
    """Remove the oldest of a broker's files, which come in their order; how many went.

    `replace` puts a file with one row in the place of another, at once. The newest file stays.
    """
    chosen = _too_old(files, keep, now)
    if not chosen:
        return 0
    last = _last_of(chosen[-1])
    if len(chosen) == 1 and last.rows == 1:
        return 0  # what an earlier time left in its place; nothing else is to go
    for path in chosen[:-1]:
        path.unlink(missing_ok=True)
    run, broker = owner
    session = int(chosen[-1].name.partition("-")[0])
    gap = Row(run=run, broker=broker, session=session, step=last.step, at=last.at, kind=TRACE_GAP)
    replace(chosen[-1], gap)
    for folder in {path.parent for path in chosen[:-1]}:
        for empty in (folder, folder.parent):
            with suppress(OSError):  # it holds something
                empty.rmdir()
    return len(chosen)


def _too_old(files: list[Path], keep: Retention, now: float) -> list[Path]:
    sizes = [path.stat().st_size for path in files]
    total = sum(sizes)
    chosen: list[Path] = []
    for path, size in zip(files[:-1], sizes, strict=False):
        is_much = keep.bytes_max > 0 and total > keep.bytes_max
        if not is_much and not (keep.seconds_max > 0 and _is_older(path, now - keep.seconds_max)):
            break
        chosen.append(path)
        total -= size
    return chosen


def _is_older(path: Path, than: float) -> bool:
    return _last_of(path).at < than


def _last_of(path: Path) -> _Last:
    """From the footer alone."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only who removes files pays for it

    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return _Last(
        max(int(_most(group, "step")) for group in groups),
        max(float(_most(group, "at")) for group in groups),
        metadata.num_rows,
    )


def _most(group: Any, name: str) -> Any:
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == name:
            return column.statistics.max
    raise ValueError(f"there is no column {name!r}")
