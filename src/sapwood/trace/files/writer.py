"""Rows to files: segments that are whole or not there.

A `TraceWriter` keeps the rows of one broker session in memory and writes them as Parquet files, one
after the other, each under another name until it is whole. So a crash loses only what was still
in memory, and leaves at most one file that no reader looks at.

That it crashed at all is seen by the next session: a writer leaves a marker while it is open.
Whoever starts the next one finds the unfinished sessions in `TraceWriter.interrupted` and
records a ``trace_gap`` row, which tells the checkers that rows may be missing before it.

The time comes with the rows, or with `TraceWriter.tick`; no clock is read here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self
from urllib.parse import quote

import msgspec

from sapwood.errors import TraceRowError, TraceWriteError
from sapwood.trace.files import arrow
from sapwood.trace.files.retention import Retention, trim
from sapwood.trace.schema import TRACE_GAP, Row, RunSettings

if TYPE_CHECKING:
    from sapwood.trace.runfile.runs import Columns

SUFFIX: Final = ".parquet"
_MAKING: Final = ".tmp"
_OPEN: Final = ".open"
_ROW_BYTES: Final = 400
"""About what a row takes in memory beside its long texts."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SegmentLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When a file is finished and the next one begun: at the first of these."""

    rows_max: int = 100_000
    seconds_max: float = 10.0
    """Between the first row and now: what a crash may cost."""

    bytes_max: int = 64 * 2**20
    """In memory, estimated."""

    def __post_init__(self) -> None:
        if self.rows_max < 1 or self.bytes_max < 1 or not self.seconds_max > 0:
            raise TraceWriteError(f"limits of a segment are positive, unlike in {self!r}")


class TraceWriter:
    """Writes the rows of one broker session, in the order of their steps.

    Rows are handed over with `write`; `tick` tells the time when there are none. `close` writes
    the rest. An error in writing leaves the rows where they are, in bounded memory: the row that
    did not fit any more was not taken, and can be handed over again, or `discard` gives up the
    rows that wait.
    """

    def __init__(
        self,
        directory: Path | str,
        run: str,
        broker: str,
        session: int,
        *,
        settings: RunSettings | None = None,
        limits: SegmentLimits | None = None,
        durable: bool = True,
    ) -> None:
        self._home = Path(directory) / f"run={_segment(run)}"
        self._owner = (run, broker, session)
        self._metadata = (settings or RunSettings()).metadata()
        self._limits = limits or SegmentLimits()
        self._durable = durable
        self._rows: list[Row] = []
        self._bytes = 0
        self._last_step = -1
        self._closed = False
        self._marker = self._home / f".{_segment(broker)}.{session}{_OPEN}"
        with _telling("open", self._home):
            self._stale = list(self._unfinished())
            self._remove_leftovers()
            self._home.mkdir(parents=True, exist_ok=True)
            self._marker.touch()
            self._sync_folder(self._home)

    @property
    def interrupted(self) -> tuple[int, ...]:
        """Earlier sessions of this broker in this run that did not close: a gap is to be recorded.

        Until a ``trace_gap`` row is in a file, the next session will find them again.
        """
        return tuple(session for session, _ in self._stale)

    @property
    def waiting(self) -> int:
        """How many rows are in memory only."""
        return len(self._rows)

    def write(self, row: Row) -> None:
        """Take a row; before that, write the segment if it is full or old enough."""
        self._check(row)
        if self._is_full() or self._is_due(row.at):
            self.flush()
        self._rows.append(row)
        self._bytes += weight(row)
        self._last_step = row.step

    def tick(self, now: float) -> None:
        """Write the segment if it is old enough at this time, on the clock of the rows."""
        if self._is_due(now):
            self.flush()

    def flush(self) -> None:
        """Write what waits, as one file."""
        if not self._rows:
            return
        self._write_file(
            self._rows[0],
            lambda file: arrow.write_rows(arrow.to_table(self._rows, self._metadata), file),
        )
        if any(row.kind == TRACE_GAP for row in self._rows):
            self._forget_stale()
        self._clear()

    def write_columns(self, columns: Columns, *, has_gap: bool = False) -> Path | None:
        """Write many rows at once as one file, after those that wait; the file, if there is one.

        The columns come as runs (`sapwood.trace.runfile.runs`), without who recorded them; steps
        count up in one run. `has_gap` says whether a ``trace_gap`` row is among them.
        """
        # Compiled code, for brokers only.
        from sapwood.trace.runfile import parquet, runs  # noqa: PLC0415

        steps, times = columns["step"], columns["at"]
        count = int(steps.counts.sum())
        if not count:
            return None
        run, broker, session = self._owner
        first = Row(
            run=run, broker=broker, session=session,
            step=int(steps[0][0]), at=float(times[0][0]), kind="",
        )  # fmt: skip
        self._check(first)
        self.flush()
        owner: Columns = {
            "run": runs.same_text(run, count),
            "broker": runs.same_text(broker, count),
            "session": runs.same_number(session, count),
        }
        self._write_file(
            first, lambda file: parquet.write({**columns, **owner}, self._metadata, file)
        )
        if has_gap:
            self._forget_stale()
        self._last_step = first.step + count - 1
        return self._path(first)

    def discard(self) -> int:
        """Give up what waits, because it cannot be written; the number of rows given up.

        The caller owes the trace a ``trace_gap`` row.
        """
        count = len(self._rows)
        self._clear()
        return count

    def close(self) -> None:
        """Write what waits and state that nothing is missing; closing twice is fine."""
        if self._closed:
            return
        self.flush()
        with _telling("close", self._home):
            self._marker.unlink(missing_ok=True)
            self._sync_folder(self._home)
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, if all went well; otherwise what is in memory may not be the whole story."""
        if kind is None:
            self.close()
        elif not self._closed:
            with suppress(TraceWriteError):
                self.flush()

    def _check(self, row: Row) -> None:
        if self._closed:
            raise TraceWriteError(f"{row.describe()} comes after the trace was closed")
        run, broker, session = self._owner
        if (row.run, row.broker, row.session) != self._owner:
            raise TraceRowError(
                f"{row.describe()} does not belong to {broker}.{session} in run {run!r}"
            )
        if row.step <= self._last_step:
            raise TraceRowError(f"{row.describe()} comes after row {self._last_step}; steps grow")

    def _is_full(self) -> bool:
        return len(self._rows) >= self._limits.rows_max or self._bytes >= self._limits.bytes_max

    def _is_due(self, now: float) -> bool:
        # Either way: a clock that was set back must not keep rows in memory for hours.
        return bool(self._rows) and abs(now - self._rows[0].at) >= self._limits.seconds_max

    def _clear(self) -> None:
        self._rows = []
        self._bytes = 0

    def _path(self, first: Row) -> Path:
        folder = self._home / f"date={date_of(first)}" / f"broker={_segment(first.broker)}"
        return folder / f"{first.session:06d}-{first.step:012d}{SUFFIX}"

    def _write_file(self, first: Row, write: Callable[[BinaryIO], None]) -> None:
        path = self._path(first)
        making = path.with_name(f".{path.name}{_MAKING}")
        with _telling("write", path):
            self._put(making, path, write)

    def _put(self, making: Path, path: Path, write: Callable[[BinaryIO], None]) -> None:
        """Write under another name, then give the file its own."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise TraceWriteError(
                f"cannot write {path}: it exists; a run of the same name has been recorded there"
            )
        self._make(making, write)
        making.replace(path)
        for folder in path.parents[:3]:
            self._sync_folder(folder)

    def _make(self, making: Path, write: Callable[[BinaryIO], None]) -> None:
        """Write a whole file, or leave none: on a full disk, half files would keep it full."""
        try:
            with making.open("wb") as file:
                write(file)
                file.flush()
                if self._durable:
                    os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                making.unlink(missing_ok=True)
            raise

    def trim(self, keep: Retention, now: float) -> int:
        """Remove the oldest files of this broker beyond what is to be kept; how many went."""
        if not keep.is_limited:
            return 0
        run, broker, _ = self._owner
        pattern = f"date=*/broker={_segment(broker)}/[0-9]*{SUFFIX}"
        with _telling("trim", self._home):
            files = sorted(self._home.glob(pattern), key=lambda path: path.name)
            return trim(files, keep, now, self._replace, (run, broker))

    def _replace(self, path: Path, row: Row) -> None:
        """Put a file with one row in the place of another."""
        making = path.with_name(f".{path.name}{_MAKING}")
        table = arrow.to_table([row], self._metadata)
        self._make(making, lambda file: arrow.write_rows(table, file))
        making.replace(path)
        self._sync_folder(path.parent)

    def _sync_folder(self, folder: Path) -> None:
        """A new name survives a power cut only when its folder has been written, too."""
        if self._durable:
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _unfinished(self) -> Iterator[tuple[int, Path]]:
        """The markers that earlier sessions of this broker have left behind."""
        _, broker, session = self._owner
        start = f".{_segment(broker)}."
        for path in sorted(self._home.glob(f".*{_OPEN}")):
            number = path.name.removeprefix(start).removesuffix(_OPEN)  # else it is another's
            if number.isdecimal() and int(number) < session:
                yield int(number), path

    def _remove_leftovers(self) -> None:
        """Half files of interrupted sessions hold nothing that can be read."""
        folder = f"broker={_segment(self._owner[1])}"
        for session in self.interrupted:
            for half in self._home.glob(f"date=*/{folder}/.{session:06d}-*{SUFFIX}{_MAKING}"):
                half.unlink(missing_ok=True)

    def _forget_stale(self) -> None:
        for _, marker in self._stale:
            marker.unlink(missing_ok=True)
        self._stale = []


class RunWriter:
    """Writes the rows of all brokers of a run, as a simulator has them.

    Each broker session gets its own writer and files. So that a thousand brokers stay in bounded
    memory, the one with most rows waiting is written when all together hold `rows_total_max`.
    """

    def __init__(
        self,
        directory: Path | str,
        run: str,
        *,
        settings: RunSettings | None = None,
        limits: SegmentLimits | None = None,
        rows_total_max: int = 500_000,
        durable: bool = False,
    ) -> None:
        # In virtual time the age of rows says nothing about what a crash would cost.
        self._options: dict[str, Any] = {
            "settings": settings,
            "limits": limits or SegmentLimits(seconds_max=float("inf")),
            "durable": durable,
        }
        self._directory = directory
        self._run = run
        self._rows_total_max = rows_total_max
        self._waiting = 0
        self._writers: dict[tuple[str, int], TraceWriter] = {}

    def write(self, row: Row) -> None:
        """Take a row of any broker of the run."""
        key = (row.broker, row.session)
        writer = self._writers.get(key)
        if writer is None:
            writer = TraceWriter(self._directory, self._run, *key, **self._options)
            self._writers[key] = writer
        before = writer.waiting
        writer.write(row)
        self._waiting += writer.waiting - before
        if self._waiting >= self._rows_total_max:
            self._write_the_largest()

    def close(self) -> None:
        """Write what waits."""
        for writer in self._writers.values():
            writer.close()
        self._waiting = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what waits, also after an error: the rows that led to it are the most wanted."""
        self.close()

    def _write_the_largest(self) -> None:
        largest = max(self._writers.values(), key=lambda writer: writer.waiting)
        self._waiting -= largest.waiting
        largest.flush()


def weight(row: Row) -> int:
    """About how many bytes a row takes in memory."""
    long_texts = len(row.attributes or "") + len(row.filter or "")
    return _ROW_BYTES + long_texts + (_ROW_BYTES * len(row.extra) if row.extra else 0)


def date_of(row: Row) -> str:
    """The day of a row in UTC; virtual time begins in 1970."""
    try:
        return (_EPOCH + timedelta(seconds=row.at)).date().isoformat()
    except (OverflowError, ValueError):
        raise TraceRowError(f"{row.describe()} is at {row.at}, which is no time") from None


def _segment(name: str) -> str:
    """A name as part of a path, whatever it holds."""
    return quote(name, safe="")


@contextmanager
def _telling(verb: str, path: Path) -> Iterator[None]:
    """Turn what can go wrong with files into a TraceWriteError that names the file."""
    try:
        yield
    except OSError as error:
        raise TraceWriteError(f"cannot {verb} {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, OverflowError, NotImplementedError) as error:  # pyarrow's own
        raise TraceWriteError(f"cannot {verb} {path}: {error}") from error
