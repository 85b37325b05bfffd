"""The journal of a broker: what is written down, when it is brought to disk, what may be removed.

Everything that one event comes to is collected and becomes one record. Records have positions,
counted from 1. A group of records is brought to disk at once: when there are `sync_bytes` of them,
or `sync_seconds` after the first. One group is on its way at a time.

Records lie in segments. A segment is removed when nothing in it is needed any more. Where somebody
who reads little keeps old segments alive, what is still needed of the oldest one is written once
more (`is_long`), so that the journal never takes much more than what is kept. And it never takes
more than `journal_bytes`: then the oldest segment goes, needed or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sapwood.protocol.due import is_due
from sapwood.protocol.durable.pages import Place
from sapwood.protocol.durable.records import (
    Change,
    Checkpoint,
    Entry,
    Moved,
    Received,
    Run,
    encode,
    encode_header,
)
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.ports import Append, DriverEffect, Sync, Trim

SEGMENTS_KEPT: Final = 4
"""So many segments are never too many, however little of them is needed."""


@dataclass(slots=True)
class SegmentOnDisk:
    """A segment of the journal."""

    number: int
    first: int
    """The position of its first record."""
    size: int = 0


class Journal:
    """Writes records, and knows which of them are on disk."""

    def __init__(
        self,
        settings: DurabilitySettings,
        do: Callable[[DriverEffect], None],
        checkpoint: Callable[[int], Checkpoint],
    ) -> None:
        self._settings = settings
        self._do = do
        self._checkpoint = checkpoint
        """What all so far comes to, before a position."""
        self.last = 0
        """The position of the last record."""
        self.synced = 0
        """The position of the last record that is on disk."""
        self.size = 0
        """Bytes in all segments."""
        self._segments: deque[SegmentOnDisk] = deque()
        self._moved = 0
        """The position of the last record with something that was written once more."""
        self._unsynced_bytes = 0
        self._sync_at = float("inf")
        self._is_syncing = False
        self._runs: list[Run] = []
        self._received: dict[str, Received] = {}
        self._published: dict[str, int] = {}
        self._changes: list[Change] = []

    def restored(self, position: int, segments: list[SegmentOnDisk]) -> None:
        """Go on behind what is on disk: a position, and the segments that there are."""
        self.last = self.synced = position
        self._segments.extend(segments)
        self.size = sum(one.size for one in segments)

    def begin(self) -> None:
        """Before the first event: begin a segment."""
        self._begin_segment()

    # Writing

    @property
    def position(self) -> int:
        """The position of the record that the present event will become."""
        return self.last + 1

    @property
    def place(self) -> Place:
        """Where the record of the present event will be."""
        segment = self._segments[-1]
        return Place(segment.number, segment.size, self.position)

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

    def move(self, moved: Moved) -> None:
        """Write something once more, since its segment is to go."""
        self._changes.append(moved)
        self._moved = self.position

    def finish(self, now: float) -> int:
        """The event is done: what it came to becomes a record; where that ends in its segment."""
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
        end = self._segments[-1].size
        if end >= self._settings.segment_bytes:
            self._begin_segment()
        if self._sync_at == float("inf"):
            self._sync_at = now + self._settings.sync_seconds
        if self._unsynced_bytes >= self._settings.sync_bytes:
            self.sync()
        return end

    def _append(self, data: bytes, segment: int = 0) -> None:
        self._do(Append(data, segment))
        self.size += len(data)
        self._segments[-1].size += len(data)
        self._unsynced_bytes += len(data)

    def _begin_segment(self) -> None:
        """Begin a segment, between two records: its checkpoint has what all before came to."""
        number = self._segments[-1].number + 1 if self._segments else 1
        record = encode(self._checkpoint(self.position))
        self._segments.append(SegmentOnDisk(number, self.position))
        self._append(encode_header(number) + record, number)

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
        if self.synced < self.last:
            self._sync_at = now + self._settings.sync_seconds
            if self._unsynced_bytes >= self._settings.sync_bytes:
                self.sync()

    # Removing

    @property
    def oldest(self) -> int:
        """The number of the oldest segment."""
        return self._segments[0].number

    def trim(self, needed: int) -> None:
        """Nothing before a segment is needed: those before it go.

        A segment goes only when what takes its place is on disk.
        """
        segments = self._segments
        before = len(segments)
        while len(segments) > 1 and segments[0].number < needed and self._can_go(segments[1]):
            self.size -= segments.popleft().size
        if len(segments) < before:
            self._do(Trim(segments[0].number))

    def _can_go(self, following: SegmentOnDisk) -> bool:
        """Whether nothing that is on disk needs the segments before this one."""
        return following.first <= self.synced and self._moved <= self.synced

    def is_long(self, kept_bytes: int) -> bool:
        """Whether the journal is far longer than what is needed of it."""
        return len(self._segments) > SEGMENTS_KEPT and self.size > 4 * kept_bytes

    @property
    def is_too_long(self) -> bool:
        """Whether the oldest segment has to go, needed or not."""
        return len(self._segments) > 1 and self.size > self._settings.journal_bytes
