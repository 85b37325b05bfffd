"""The journal of a broker: what is written down, when it is brought to disk, what may be removed.

Everything that one event comes to is collected and becomes one record. Records have positions,
counted from 1. A group of records is brought to disk at once: when there are `sync_bytes` of them,
or `sync_seconds` after the first. One group is on its way at a time.

Records lie in segments. A segment is removed when nothing in it is needed any more. Where somebody
who reads little keeps old segments alive, all that is still needed is written once more into a new
one, so that the journal never takes much more than what is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from sapwood.protocol.due import is_due
from sapwood.protocol.durable.records import (
    Change,
    Checkpoint,
    Entry,
    Received,
    Run,
    encode,
    encode_header,
)
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.ports import Append, DriverEffect, Sync, Trim

SEGMENTS_KEPT: Final = 4
"""So many segments are never too many, however little of them is needed."""


class _Segment(NamedTuple):
    """A segment of the journal."""

    number: int
    first: int
    """The position of its first record."""


class Journal:
    """Writes records, and knows which of them are on disk."""

    def __init__(
        self,
        settings: DurabilitySettings,
        do: Callable[[DriverEffect], None],
        checkpoint: Callable[[int, bool], Checkpoint],
    ) -> None:
        self._settings = settings
        self._do = do
        self._checkpoint = checkpoint
        """What all so far comes to, before a position, with runs or without."""
        self.last = 0
        """The position of the last record."""
        self.synced = 0
        """The position of the last record that is on disk."""
        self.size = 0
        """Bytes in all segments, about."""
        self._segments: deque[_Segment] = deque()
        self._segment_size = 0
        self._number = 0
        """Of the last segment."""
        self._whole: _Segment | None = None
        """A segment with everything: when it is on disk, those before it go."""
        self._unsynced_bytes = 0
        self._sync_at = float("inf")
        self._is_syncing = False
        self._runs: list[Run] = []
        self._received: dict[str, Received] = {}
        self._published: dict[str, int] = {}
        self._changes: list[Change] = []

    def restored(self, position: int, segment: int) -> None:
        """Go on behind what is on disk: a position, and the number of the last segment.

        The next segment has everything that is kept; then the others can go.
        """
        self.last = self.synced = position
        self._number = segment

    def begin(self) -> None:
        """Before the first event: begin a segment with everything that is kept."""
        self._begin_segment(is_whole=True)

    # Writing

    @property
    def position(self) -> int:
        """The position of the record that the present event will become."""
        return self.last + 1

    @property
    def has_more(self) -> bool:
        """Whether the present event has come to something that is to be written."""
        return bool(self._runs or self._received or self._published or self._changes)

    @property
    def is_dirty(self) -> bool:
        """Whether something was accepted that is not on disk."""
        return self.synced < self.last or self.has_more

    def run(self, destinations: tuple[str, ...], count: int, data: bytes) -> None:
        """Notifications go to durable destinations."""
        self._runs.append(Run(destinations, count, data))

    def received(self, neighbour: str, received: Received) -> None:
        """So much has come from a neighbour."""
        self._received[neighbour] = received

    def published(self, client: str, sequence: int) -> None:
        """So much has come from a client."""
        self._published[client] = sequence

    def change(self, change: Change) -> None:
        """Something else has changed."""
        self._changes.append(change)

    def finish(self, now: float) -> None:
        """The event is done: what it came to becomes a record."""
        record = Entry(
            now,
            self.synced,
            tuple(self._runs),
            self._received,
            self._published,
            tuple(self._changes),
        )
        data = encode(record)
        self._runs, self._received, self._published, self._changes = [], {}, {}, []
        self.last += 1
        self._append(data)
        if self._segment_size >= self._settings.segment_bytes:
            self._begin_segment(is_whole=False)
        if self._sync_at == float("inf"):
            self._sync_at = now + self._settings.sync_seconds
        if self._unsynced_bytes >= self._settings.sync_bytes:
            self.sync()

    def _append(self, data: bytes, segment: int = 0) -> None:
        self._do(Append(data, segment))
        self.size += len(data)
        self._segment_size += len(data)
        self._unsynced_bytes += len(data)

    def _begin_segment(self, *, is_whole: bool) -> None:
        """Begin a segment, between two records: its checkpoint has what all before came to."""
        self._number += 1
        segment = _Segment(self._number, self.position)
        if is_whole:
            self._segments.clear()
            self.size = 0
            self._whole = segment
        self._segments.append(segment)
        self._segment_size = 0
        record = encode(self._checkpoint(self.position, is_whole))
        self._append(encode_header(segment.number) + record, segment.number)

    # Bringing to disk

    @property
    def next_at(self) -> float:
        """When the next group is due."""
        return float("inf") if self._is_syncing else self._sync_at

    def tick(self, now: float) -> None:
        """Bring to disk what is due."""
        if is_due(self._sync_at, now, self._settings.sync_seconds):
            self.sync()

    def sync(self) -> None:
        """Bring everything to disk that was written, unless that is under way."""
        if not self._is_syncing and self.synced < self.last:
            self._is_syncing = True
            self._unsynced_bytes = 0
            self._do(Sync(self.last))

    def note_synced(self, position: int, now: float) -> None:
        """The driver has brought records to disk."""
        self._is_syncing = False
        self.synced = max(self.synced, min(position, self.last))
        self._sync_at = float("inf")
        if self._whole is not None and self.synced >= self._whole.first:
            self._do(Trim(self._whole.number))
            self._whole = None
        if self.synced < self.last:
            self._sync_at = now + self._settings.sync_seconds
            if self._unsynced_bytes >= self._settings.sync_bytes:
                self.sync()

    # Removing

    def trim(self, needed: int, kept_bytes: int) -> None:
        """Nothing before a position is needed, and what is needed takes so many bytes.

        A segment goes only when what replaces it is on disk.
        """
        segments = self._segments
        before = len(segments)
        while len(segments) > 1 and segments[1].first <= min(needed, self.synced):
            segments.popleft()
        if len(segments) < before:
            self._do(Trim(segments[0].number))
            self.size = self._segment_size + (len(segments) - 1) * self._settings.segment_bytes
        is_long = len(segments) > SEGMENTS_KEPT and self.size > 4 * kept_bytes
        if is_long and self._whole is None and not self.has_more:
            self._begin_segment(is_whole=True)
