"""What a live broker records: handed over by the event loop, written by a thread.

The loop only notes what happened, with the bytes it has anyway, and hands the notes over in
batches. The thread makes columns of them (``sapwood.trace.columns``), mostly in compiled code that
leaves the interpreter to the loop, and writes Parquet. What waits is bounded: if the thread does
not keep up, happenings are left out and a ``trace_gap`` row says so. It also says so when the
session before this one crashed, when a file could not be written, and when something came that no
row can hold: the thread goes on whatever happens, since nobody would see that it ended.

While the broker runs, a ``clock`` row now and then says how far the trace is, even if nothing else
happens. Of files that hold nothing but such a row only the last two stay: one that is older says
nothing that a newer does not, and the newer is whole before the older goes.
"""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple

from sapwood.errors import TraceError, TraceWriteError
from sapwood.runtime.config.settings import TraceSettings
from sapwood.trace.columns import warm
from sapwood.trace.columns.frames import Frames
from sapwood.trace.columns.orders import Orders
from sapwood.trace.columns.segment import NO_FRAMES, Begun, Happening, Item, Segment
from sapwood.trace.files.retention import Retention
from sapwood.trace.files.writer import SegmentLimits, TraceWriter
from sapwood.trace.schema import CLOCK, TRACE_GAP, RunSettings

BATCH_BYTES: Final = 4 * 2**20
"""What is noted before it is handed over; earlier, if time passes. Each time, loop and thread take
turns, and lose some of what they have in the processor's caches."""

TICK_SECONDS: Final = 0.5
"""Longest time between two calls of `Tracer.tick`: so long a note may wait to be handed over."""

CLOCK_SECONDS: Final = 5.0
"""Time between two ``clock`` rows."""

_ITEM_BYTES: Final = 200
"""About what one note takes beside its frames."""

_ROWS_MAX: Final = 1_000_000
"""Rows of one file."""

TRIM_SECONDS: Final = 60.0
"""Time between two looks at how large and how old the trace is."""

_CLOCK_FILES_MAX: Final = 2
"""Whoever has just listed the one before the last still finds it."""


class _Batch(NamedTuple):
    """Notes that are handed over together."""

    items: list[Item]
    size: int
    now: float


class Tracer:
    """Writes the trace of one broker session from a thread of its own."""

    def __init__(
        self, settings: TraceSettings, broker: str, session: int, run_settings: RunSettings
    ) -> None:
        self.left_out = 0
        """Happenings that were not recorded: too much was waiting, or a file failed."""
        self.failure = ""
        """Why the last rows could not be recorded or written; empty if they could."""
        self._settings = settings
        self._writer = TraceWriter(
            settings.directory,
            settings.run,
            broker,
            session,
            settings=run_settings,
            limits=SegmentLimits(seconds_max=settings.seconds_max, rows_max=_ROWS_MAX),
        )
        self._noted: list[Item] = []
        self._noted_bytes = 0
        self._handed_bytes = 0
        self._done_bytes = 0
        self._now = 0.0
        self._clock_at = 0.0
        self._has_gap = False
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="trace", daemon=True)
        self._orders = Orders()
        self._segment = Segment(self._orders, 1)
        self._is_idle = True
        """Whether the segment has nothing but clock rows."""
        self._clock_files: list[Path] = []
        self._keep = Retention(
            bytes_max=settings.keep_bytes, seconds_max=settings.keep_hours * 3600.0
        )
        self._trimmed_at = 0.0

    def start(self, now: float) -> None:
        """Begin to write; if the session before this one crashed, rows of it may be missing."""
        warm.exercise()
        self._clock_at = now
        if self._writer.interrupted:
            self.record(now, TRACE_GAP, {})
        self._thread.start()

    def record(
        self,
        at: float,
        kind: str,
        fields: dict[str, Any],
        frames: Frames = NO_FRAMES,
        size: int | None = None,
    ) -> None:
        """Take something to be recorded: a row, or a row for each notification in some frames.

        What a client published and got is to be handed over in the client's own order. Frames that
        are but a part of their run take so many bytes.
        """
        size = _ITEM_BYTES + (len(frames.data) if size is None else size)
        if self.waiting_bytes + size > self._settings.queue_bytes:
            self.left_out += 1
            self._has_gap = True
            return
        self._note_gap(at)
        self._note(Happening(at, kind, fields, frames), size)
        self._now = at
        if self._noted_bytes >= BATCH_BYTES:
            self._hand_over()

    def client(self, name: str, order: int | None) -> None:
        """A client is here that has published and got so much elsewhere; None: it has left."""
        self._note(Begun(name, order), _ITEM_BYTES)

    def tick(self, now: float) -> None:
        """Time passes: what is old enough is written."""
        self._now = now
        # Either way: a clock that was set back must not stop it for hours.
        if abs(now - self._clock_at) >= CLOCK_SECONDS:
            self._note_clock(now)
        self._hand_over()

    def close(self, now: float) -> None:
        """Write the rest; the trace is whole then."""
        self._now = now
        self._note_clock(now)
        self._hand_over()
        self._queue.put(None)
        self._thread.join()

    @property
    def waiting_bytes(self) -> int:
        """What was noted and is not in a segment yet, in bytes."""
        return self._noted_bytes + self._handed_bytes - self._done_bytes

    def _note(self, item: Item, size: int) -> None:
        self._noted.append(item)
        self._noted_bytes += size

    def _note_gap(self, at: float) -> None:
        """Before anything that comes later: something was left out, if so."""
        if self._has_gap:
            self._has_gap = False
            self._note(Happening(at, TRACE_GAP, {}), _ITEM_BYTES)

    def _note_clock(self, now: float) -> None:
        self._clock_at = now
        self._note_gap(now)
        self._note(Happening(now, CLOCK, {}), _ITEM_BYTES)

    def _hand_over(self) -> None:
        batch = _Batch(self._noted, self._noted_bytes, self._now)
        self._handed_bytes += self._noted_bytes
        self._noted, self._noted_bytes = [], 0
        self._queue.put(batch)

    # In the thread

    def _work(self) -> None:
        while (batch := self._queue.get()) is not None:
            try:
                self._is_idle &= all(_is_clock(item) for item in batch.items)
                self._segment.add(batch.items)
            except Exception as problem:  # noqa: BLE001 - see the module
                self._write(batch.now)  # what came before; the next segment knows nothing of this
                self._give_up(problem, len(batch.items), batch.now)
            self._done_bytes += batch.size
            if self._is_due(batch.now):
                self._write(batch.now)
        self._write(self._now)
        try:
            self._writer.close()
        except TraceWriteError as problem:
            self.failure = str(problem)

    def _is_due(self, now: float) -> bool:
        """Whether the segment should be written before the next batch comes."""
        segment = self._segment
        if segment.first_at is None:
            return False
        # Either way: a clock that was set back must not keep rows in memory for hours.
        age = abs(now - segment.first_at)
        return (
            age + TICK_SECONDS >= self._settings.seconds_max
            or segment.rows >= _ROWS_MAX
            or segment.size >= SegmentLimits().bytes_max
        )

    def _write(self, now: float) -> None:
        """Write the segment as a file, and begin the next one."""
        segment = self._segment
        try:
            columns = segment.columns()
            self._segment = Segment(self._orders, segment.next_step)
            path = self._writer.write_columns(columns, has_gap=segment.has_gap)
            self.failure = ""
            self._tidy_up(path, now)
        except Exception as problem:  # noqa: BLE001 - see the module
            self._segment = Segment(self._orders, segment.next_step)
            self._give_up(problem, segment.rows, now)

    def _tidy_up(self, path: Path | None, now: float) -> None:
        """Drop what a new file makes needless, and what is too old or too much."""
        if path is None:
            return
        if self._is_idle:
            self._clock_files.append(path)
        kept = _CLOCK_FILES_MAX if self._is_idle else 0
        while len(self._clock_files) > kept:
            self._clock_files.pop(0).unlink(missing_ok=True)
        self._is_idle = True
        if abs(now - self._trimmed_at) >= TRIM_SECONDS:
            self._trimmed_at = now
            self._writer.trim(self._keep, now)

    def _give_up(self, problem: Exception, count: int, now: float) -> None:
        """Leave happenings out, and say so here and in the trace."""
        is_known = isinstance(problem, TraceError)
        self.failure = str(problem) if is_known else f"{type(problem).__name__}: {problem}"
        self.left_out += count
        self._is_idle = False
        self._segment.add([Happening(now, TRACE_GAP, {})])


def _is_clock(item: Item) -> bool:
    """Whether it makes no row but one that tells the time."""
    return isinstance(item, Begun) or item.kind == CLOCK
