"""When records are brought to disk, and when segments go."""

from __future__ import annotations

from sapwood.protocol.durable.journal import Journal, SegmentOnDisk
from sapwood.protocol.durable.records import (
    Checkpoint,
    Entry,
    MailboxDropped,
    Moved,
    decode_segment,
)
from sapwood.protocol.durable.settings import DurabilitySettings
from sapwood.protocol.ports import Append, DriverEffect, Sync, Trim


class Written:
    """A journal, and what it asks its driver for."""

    def __init__(self, **settings: int) -> None:
        self.effects: list[DriverEffect] = []
        self.journal = Journal(
            DurabilitySettings(spool="disk", **settings),  # type: ignore[arg-type]
            self.effects.append,
            lambda position: Checkpoint("e", position),
        )
        self.journal.begin()

    def write(self, size: int = 10, now: float = 0.0) -> None:
        self.journal.run(("B2",), 1, b"x" * size)
        self.journal.finish(now)

    def asked(self, kind: type) -> list[DriverEffect]:
        return [one for one in self.effects if isinstance(one, kind)]


def test_an_event_becomes_one_record() -> None:
    written = Written()
    written.journal.published("c.1", 4)
    written.journal.change(MailboxDropped("d"))
    assert written.journal.has_more
    written.write()
    data = b"".join(one.data for one in written.effects if isinstance(one, Append))
    _, entry = decode_segment(data, is_last=True).records
    assert isinstance(entry, Entry)
    assert (entry.published, entry.changes, len(entry.runs)) == (
        {"c.1": 4},
        (MailboxDropped("d"),),
        1,
    )


def test_a_group_goes_to_disk_after_a_time_or_a_size() -> None:
    written = Written(sync_bytes=2**16)
    written.write(now=1.0)
    assert written.journal.next_at == 1.05
    written.journal.tick(1.01)
    assert not written.asked(Sync)
    written.journal.tick(1.05)
    assert written.asked(Sync) == [Sync(1)]
    written.write(size=2**17, now=1.06)
    assert written.asked(Sync) == [Sync(1)], "one group at a time"
    assert written.journal.next_at == float("inf")
    written.journal.note_synced(1, 1.07)
    assert written.asked(Sync) == [Sync(1), Sync(2)]
    assert written.journal.is_dirty
    written.journal.note_synced(2, 1.08)
    assert not written.journal.is_dirty


def test_segments_go_when_nothing_in_them_is_needed_and_the_next_is_on_disk() -> None:
    written = Written(segment_bytes=2**16)
    for _ in range(3):
        written.write(size=2**16)
    written.journal.trim(3)
    assert not written.asked(Trim), "nothing is on disk"
    written.journal.sync()
    written.journal.note_synced(3, 0.0)
    before = written.journal.size
    written.journal.trim(2)
    assert written.asked(Trim) == [Trim(2)]
    assert written.journal.size < before - 2**16
    written.journal.trim(4)
    assert written.asked(Trim)[-1] == Trim(3), "the last one has nothing behind it on disk"


def test_a_segment_stays_until_what_was_moved_out_of_it_is_on_disk() -> None:
    written = Written(segment_bytes=2**16)
    for _ in range(3):
        written.write(size=2**16)
    written.journal.sync()
    written.journal.note_synced(3, 0.0)
    written.journal.move(Moved("B2", 1, 0.0, ((1, b"x"),)))
    written.journal.finish(0.0)
    written.journal.trim(3)
    assert not written.asked(Trim)
    written.journal.sync()
    written.journal.note_synced(4, 0.0)
    written.journal.trim(3)
    assert written.asked(Trim) == [Trim(3)]


def test_a_journal_is_long_beside_what_is_needed_or_too_long_at_all() -> None:
    written = Written(segment_bytes=2**16, journal_bytes=2**19)
    for _ in range(7):
        written.write(size=2**16)
    assert written.journal.is_long(100)
    assert not written.journal.is_long(2**17)
    assert not written.journal.is_too_long
    written.write(size=2**16)
    assert written.journal.is_too_long


def test_a_journal_goes_on_behind_the_segments_that_there_are() -> None:
    written = Written()
    again = Journal(
        DurabilitySettings(spool="disk"), written.effects.append, lambda at: Checkpoint("e", at)
    )
    again.restored(12, [SegmentOnDisk(4, 3, 100), SegmentOnDisk(5, 9, 50)])
    again.begin()
    assert (again.oldest, again.position, again.place.segment) == (4, 13, 6)
    assert again.size == 150 + again.place.start
