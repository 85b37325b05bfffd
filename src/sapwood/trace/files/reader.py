"""Files to rows: everything below a directory, in one order, a piece at a time.

Files may lie anywhere below the directory and hold rows of any run and broker, in any order. The
statistics that Parquet keeps say what is where, so a piece of a file is opened when its turn comes
and not before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Final, NamedTuple

from sapwood.errors import TraceError, TraceFileError
from sapwood.trace.files import arrow
from sapwood.trace.files.writer import SUFFIX
from sapwood.trace.schema import (
    ADVERTISEMENTS_KEY,
    ADVERTISEMENTS_REQUIRED,
    SETTLE_KEY,
    TRACE_VERSION,
    VERSION_KEY,
    Place,
    Row,
    RunSettings,
)

_PLACE: Final = ("run", "broker", "session", "step")
_FIRST: Final[tuple[Any, ...]] = ("", "", -(2**63), -(2**63))
_VERSION: Final = re.compile(r"(?P<major>\d+)(\.\d+)?")
_BATCH_ROWS: Final = 65_536


class _Piece(NamedTuple):
    """A row group of a file, and a place that none of its rows stands before."""

    first: Place
    path: Path
    group: int


class Trace:
    """The rows of all trace files below a directory. Iterating reads them, again each time.

    Rows come ordered by run, broker, session and step. The footers are read at once: a file that
    is no trace is found here, not in the middle.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        if not self.directory.is_dir():
            raise TraceFileError(f"{self.directory} is no directory")
        arrow.modules()  # its absence is no fault of a file
        self.files = tuple(trace_files(self.directory))
        """The files read, sorted by path."""

        self.settings: Mapping[str, RunSettings] = {}
        """What the files say about each run."""

        self.rows = 0
        """How many rows there are."""

        self._pieces: list[_Piece] = []
        for path in self.files:
            self._take(path)
        self._pieces.sort()

    def __iter__(self) -> Iterator[Row]:
        """Merge the pieces: open one as soon as a row of it could be next."""
        closed = self._pieces[::-1]
        open_pieces: list[tuple[Place, int, Row, Iterator[Row]]] = []
        while closed or open_pieces:
            while closed and (not open_pieces or closed[-1].first <= open_pieces[0][0]):
                _push(open_pieces, len(closed), _rows(closed.pop()))
            if open_pieces:
                _, number, row, rest = heappop(open_pieces)
                yield row
                _push(open_pieces, number, rest)

    def _take(self, path: Path) -> None:
        with _naming(path):
            file = _open(path)
            settings = settings_of(file, path)
            self.rows += file.metadata.num_rows
            runs = dict.fromkeys(_runs(file))
            for group in range(file.num_row_groups):
                self._pieces.append(_Piece(_lower_bound(file, group), path, group))
        known = dict(self.settings)
        for run in runs:
            known[run] = known[run].joined(settings) if run in known else settings
        self.settings = known


def read(directory: Path | str) -> Trace:
    """The trace below a directory; see `Trace`."""
    return Trace(directory)


def trace_files(directory: Path) -> Iterator[Path]:
    """Whole trace files below a directory.

    Those in the making are hidden, by their names; so is what other programs keep to themselves.
    """
    for path in sorted(directory.rglob(f"*{SUFFIX}")):
        if not path.name.startswith((".", "_")) and path.is_file():
            yield path


def _push(
    heap: list[tuple[Place, int, Row, Iterator[Row]]], number: int, rows: Iterator[Row]
) -> None:
    row = next(rows, None)
    if row is not None:
        heappush(heap, (row.place, number, row, rows))


def _rows(piece: _Piece) -> Iterator[Row]:
    with _naming(piece.path):
        table = _open(piece.path).read_row_group(piece.group)
        if set(_PLACE) <= set(table.column_names):
            table = table.sort_by([(name, "ascending") for name in _PLACE])
        for first in range(0, table.num_rows, _BATCH_ROWS):
            yield from arrow.to_rows(table.slice(first, _BATCH_ROWS))


def _open(path: Path) -> Any:
    _, parquet = arrow.modules()
    return parquet.ParquetFile(path, page_checksum_verification=True)


def settings_of(file: Any, path: Path | str) -> RunSettings:
    """What a file says about its run; raises if it is no trace of our major version."""
    raw = file.metadata.metadata or {}
    said = {key.decode(errors="replace"): raw[key].decode(errors="replace") for key in raw}
    version = said.get(VERSION_KEY)
    if version is None:
        raise TraceFileError(f"{path} is no trace: its metadata has no {VERSION_KEY!r}")
    found = _VERSION.fullmatch(version)
    if found is None or found["major"] != TRACE_VERSION.partition(".")[0]:
        raise TraceFileError(
            f"{path} is a trace of version {version!r}; this release reads {TRACE_VERSION}"
        )
    settle = said.get(SETTLE_KEY)
    try:
        return RunSettings(
            settle_seconds=None if settle is None else float(settle),
            advertisements_required=said.get(ADVERTISEMENTS_KEY) == ADVERTISEMENTS_REQUIRED,
        )
    except (ValueError, TraceError):
        raise TraceFileError(f"{path} states a settling time of {settle!r}") from None


def _runs(file: Any) -> list[str]:
    """The runs a file holds rows of."""
    if "run" not in file.schema_arrow.names:
        return []
    bounds = [_bounds(file, group, "run") for group in range(file.num_row_groups)]
    if all(found is not None and found[0] == found[1] for found in bounds):
        return [str(found[0]) for found in bounds if found is not None]
    values = file.read(columns=["run"]).column("run").unique().to_pylist()
    return sorted(str(value) for value in values if value is not None)


def _lower_bound(file: Any, group: int) -> Place:
    """The smallest of each column: no row stands before it, whatever the order of the rows."""
    run, broker, session, step = (
        found[0] if (found := _bounds(file, group, name)) else first
        for name, first in zip(_PLACE, _FIRST, strict=True)
    )
    return str(run), str(broker), int(session), int(step)


def _bounds(file: Any, group: int, name: str) -> tuple[Any, Any] | None:
    names = [file.schema.column(index).path for index in range(len(file.schema))]
    if name not in names:
        return None
    statistics = file.metadata.row_group(group).column(names.index(name)).statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return statistics.min, statistics.max


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with a file into a TraceFileError that names it."""
    try:
        yield
    except TraceFileError:
        raise
    except TraceError as error:
        raise TraceFileError(f"{path}: {error}") from error
    except (OSError, ValueError, TypeError, KeyError, NotImplementedError) as error:  # pyarrow's
        reason = str(error).partition("\n")[0]
        raise TraceFileError(f"{path} cannot be read: {reason}") from error
