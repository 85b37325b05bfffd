"""What a live broker records: handed over by the event loop, written by a thread.

The loop only appends what happened, as the bytes it has anyway. The thread takes frames apart and
writes Parquet. What waits is bounded: if the thread does not keep up, rows are left out and a
``trace_gap`` row says so.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sapwood.errors import FrameError, SapwoodError
from sapwood.filters.values import Value
from sapwood.runtime.settings import TraceSettings
from sapwood.trace.schema import Row, RunSettings
from sapwood.trace.writer import SegmentLimits, TraceWriter
from sapwood.wire.frames import HEADER_SIZE, NOTIFICATION_TYPES, decode_envelope, decode_head, split

_ITEM_BYTES = 200
"""About what one item takes beside its frames."""


class Happening(NamedTuple):
    """Something to be recorded: a row, or notifications as a run of frames."""

    at: float
    kind: str
    fields: dict[str, Any]
    data: bytes = b""


_Item: TypeAlias = Happening | tuple[str, int] | float | None
"""Also: a client with its order so far, the time, and the end."""


class Tracer:
    """Writes the trace of one broker session from a thread of its own."""

    def __init__(
        self, settings: TraceSettings, broker: str, session: int, run_settings: RunSettings
    ) -> None:
        self.left_out = 0
        """Happenings that were not recorded because too much was waiting."""
        self._settings = settings
        self._orders: dict[str, int] = {}
        """By client: how much it published and got, in its own order."""
        self._owner: dict[str, Any] = {"run": settings.run, "broker": broker, "session": session}
        self._writer = TraceWriter(
            settings.directory,
            settings.run,
            broker,
            session,
            settings=run_settings,
            limits=SegmentLimits(seconds_max=settings.seconds_max),
        )
        self._queue: queue.SimpleQueue[Happening | tuple[str, int] | float | None] = (
            queue.SimpleQueue()
        )
        self._waiting_bytes = 0
        self._written_bytes = 0
        self._has_gap = False
        self._step = 0
        self.failure = ""
        self._thread = threading.Thread(target=self._work, name="trace", daemon=True)

    def start(self, now: float) -> None:
        """Begin to write; if the session before this one crashed, rows of it may be missing."""
        if self._writer.interrupted:
            self.record(now, "trace_gap", {})
        self._thread.start()

    def record(self, at: float, kind: str, fields: dict[str, Any], data: bytes = b"") -> None:
        """Take something to be recorded.

        What a client published and got is to be handed over in the client's own order.
        """
        size = _ITEM_BYTES + len(data)
        if self._waiting_bytes - self._written_bytes + size > self._settings.queue_bytes:
            self.left_out += 1
            self._has_gap = True
            return
        if self._has_gap:
            self._has_gap = False
            self.record(at, "trace_gap", {})
        self._waiting_bytes += size
        self._queue.put(Happening(at, kind, fields, data))

    def client(self, name: str, order: int) -> None:
        """A client is here that has published and got so much elsewhere."""
        self._queue.put((name, order))

    def tick(self, now: float) -> None:
        """Time passes: what is old enough is written."""
        self._queue.put(now)

    def close(self, now: float) -> None:
        """Write the rest; the trace is whole then."""
        if self._has_gap:
            self._queue.put(Happening(now, "trace_gap", {}))
        self._queue.put(Happening(now, "clock", {}))
        self._queue.put(None)
        self._thread.join()

    # In the thread

    def _work(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                if isinstance(item, float):
                    self._writer.tick(item)
                elif not isinstance(item, Happening):
                    self._orders[item[0]] = item[1]
                else:
                    self._write(item)
                    self._written_bytes += _ITEM_BYTES + len(item.data)
            self._writer.close()
        except SapwoodError as problem:
            self.failure = str(problem)
            while self._queue.get() is not None:
                self.left_out += 1

    def _write(self, item: Happening) -> None:
        if not item.data:
            self._row(item.at, item.kind, item.fields)
            return
        for kind, head, body in split(item.data):
            if kind in NOTIFICATION_TYPES:
                with suppress(FrameError):  # the broker has refused it
                    self._write_notification(item, head, body)

    def _write_notification(self, item: Happening, head: bytes, body: bytes) -> None:
        publisher, attributes = decode_head(head)
        fields = {
            **item.fields,
            "publisher": publisher,
            "sequence": decode_envelope(body).sequence,
            "bytes": HEADER_SIZE + len(head) + len(body),
        }
        client = item.fields.get("client")
        if item.kind == "published":
            if publisher != client:
                return  # refused, too
            fields["attributes"] = _json(attributes)
        if client is not None:
            self._orders[client] = fields["client_order"] = self._orders.get(client, 0) + 1
        self._row(item.at, item.kind, fields)

    def _row(self, at: float, kind: str, fields: dict[str, Any]) -> None:
        self._step += 1
        self._writer.write(Row(**self._owner, step=self._step, at=at, kind=kind, **fields))


def _json(attributes: dict[str, Value]) -> str:
    return msgspec.json.encode(attributes).decode()
