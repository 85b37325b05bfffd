"""One durable subscription: what was kept for it and not read, in order, with positions.

The last notifications are in memory, so that whoever keeps up needs no disk. All are in the journal
(``pages``), from where the others are read back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

import msgspec

from sapwood.protocol.durable.messages import MailboxState
from sapwood.protocol.durable.pages import PAGE_BYTES, Page, Pages, Place, PlacedRun
from sapwood.protocol.durable.records import KeptMailbox
from sapwood.wire.scan import skip

_FIRST: Final = attrgetter("first")
_COMPACT_FROM: Final = 256
"""Runs that are done with before they leave the list."""


class ReadPage(msgspec.Struct, frozen=True, gc=False):
    """Notifications from a position on."""

    first: int
    count: int
    data: bytes


class Mailbox:
    """A durable subscription of a broker."""

    def __init__(
        self,
        name: str,
        filter: str,
        owner: str,
        epoch: int,
        now: float,
        bytes_max: int = 8 * PAGE_BYTES,
    ) -> None:
        self.name = name
        self.filter = filter
        self.owner = owner
        self.epoch = epoch
        self.next = 0
        """The position of the next notification."""
        self.readable = 0
        """The position behind the last one that is on disk."""
        self.committed = 0
        """Everything before this position was read."""
        self.lost = 0
        """Notifications that were given up unread."""
        self.used_at = now
        self.pages = Pages(min(PAGE_BYTES, bytes_max >> 3))
        self._unsynced: deque[tuple[int, int]] = deque()
        """Records that are not on disk, and the position behind what they hold."""
        self._recent: list[PlacedRun] = []
        self._start = 0
        """Where in the list the first run is that is in memory."""
        self._recent_bytes = 0

    def __repr__(self) -> str:
        return f"<mailbox {self.name} {self.committed}-{self.next}>"

    @property
    def client(self) -> str:
        """Its name as that of a client of the broker."""
        return f"durable:{self.name}.{self.epoch}"

    @property
    def first(self) -> int:
        """The position of the oldest notification that is kept, or of the next one."""
        oldest = self.pages.oldest
        return self.next if oldest is None else oldest.first

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self.pages.size

    def append(self, count: int, data: bytes, at: float, place: Place) -> Page:
        """Keep notifications; without data they were too much, have positions, and are lost."""
        page = self.pages.append(self.next, count, len(data), at, place)
        self._recent.append(PlacedRun(self.next, count, data))
        self._recent_bytes += len(data)
        self.next += count
        if self._unsynced and self._unsynced[-1][0] == place.record:
            self._unsynced.pop()
        self._unsynced.append((place.record, self.next))
        if not data:
            self.lost += count
        return page

    def note_synced(self, synced: int) -> None:
        """So much of the journal is on disk."""
        unsynced = self._unsynced
        while unsynced and unsynced[0][0] <= synced:
            self.readable = unsynced.popleft()[1]

    def shrink(self, bytes_max: int) -> None:
        """Keep no more than so many bytes in memory."""
        while self._recent_bytes > bytes_max and self._start < len(self._recent):
            self._let_go()

    def commit(self, position: int) -> bool:
        """Everything before a position was read; whether that is news."""
        position = min(position, self.next)
        if position <= self.committed:
            return False
        self.committed = position
        self.pages.release(position)
        self._forget_before(position)
        return True

    def _forget_before(self, position: int) -> None:
        runs = self._recent
        while self._start < len(runs) and _end(runs[self._start]) <= position:
            self._let_go()

    def _let_go(self) -> None:
        """The oldest run is not in memory any longer."""
        self._recent_bytes -= len(self._recent[self._start].data)
        self._start += 1
        if self._start >= _COMPACT_FROM or self._start == len(self._recent):
            del self._recent[: self._start]
            self._start = 0

    def give_up(self, bytes_max: int, oldest: float) -> int:
        """Give up the oldest that are too many or too old; how many notifications that were.

        What was read does not change by that: whoever reads on finds out what is missing.
        """
        given_up = 0
        while (page := self.pages.too_old(bytes_max, oldest)) is not None:
            given_up += self.give_up_page(page)
        return given_up

    def give_up_page(self, page: Page) -> int:
        """Give up one page; how many notifications that were."""
        self.pages.remove(page)
        self._forget_before(page.behind)
        given_up = page.behind - max(page.first, self.committed)
        self.lost += given_up
        return given_up

    def read(self, position: int, size: int) -> ReadPage | Page | None:
        """What is on disk from a position on, some bytes of it; None if nothing is there yet.

        Where it is not in memory, the page that has it: then it is to be read back first.
        """
        position = max(position, self.first)
        if position >= self.readable:
            return None
        runs = self._recent
        if self._start < len(runs) and runs[self._start].first <= position:
            found = self.assembled(runs, position, size, self._start)
            if found is not None:
                return found
        page = self.pages.find(position)
        return page if page is not None and page.first < self.readable else None

    def assembled(
        self, runs: Sequence[PlacedRun], position: int, size: int, lo: int = 0
    ) -> ReadPage | None:
        """What some runs have from a position on, some bytes of it, as far as it is on disk.

        It ends before anything that was never kept, so that the positions are those of one row.
        """
        at = max(lo, bisect_right(runs, position, lo=lo, key=_FIRST) - 1)
        while at < len(runs) and (_end(runs[at]) <= position or not runs[at].data):
            at += 1
        if at >= len(runs):
            return None
        first = following = max(position, runs[at].first)
        parts: list[bytes] = []
        taken = 0
        while at < len(runs) and taken < size:
            run = runs[at]
            if _end(run) > self.readable or not run.data:
                break
            parts.append(skip(run.data, following - run.first) if run.first < first else run.data)
            taken += len(parts[-1])
            following = _end(run)
            at += 1
        return ReadPage(first, following - first, b"".join(parts)) if parts else None

    def state(self, now: float) -> MailboxState:
        """How far it is."""
        return MailboxState(
            self.name,
            self.filter,
            self.epoch,
            first=self.first,
            committed=self.committed,
            next=max(self.readable, self.first),
            size=self.size,
            owner=self.owner,
            unused_seconds=max(0.0, now - self.used_at),
            lost=self.lost,
        )

    # The journal

    def kept(self) -> KeptMailbox:
        """What a checkpoint says of it."""
        return KeptMailbox(
            self.name,
            self.filter,
            self.owner,
            self.epoch,
            self.next,
            self.committed,
            self.used_at,
        )

    @classmethod
    def restored(cls, kept: KeptMailbox, bytes_max: int) -> Mailbox:
        """A durable subscription as a checkpoint has it."""
        mailbox = cls(kept.name, kept.filter, kept.owner, kept.epoch, kept.used_at, bytes_max)
        mailbox.next = mailbox.readable = kept.next
        mailbox.committed = kept.committed
        return mailbox


def _end(run: PlacedRun) -> int:
    """The position behind a run."""
    return run.first + run.count
