"""One durable subscription: what was kept for it and not read, in order, with positions."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Final

import msgspec

from sapwood.protocol.durable.messages import MailboxState
from sapwood.protocol.durable.records import KeptMailbox, KeptRun
from sapwood.wire.scan import skip

_FIRST: Final = attrgetter("first")
_COMPACT_FROM: Final = 256
"""Runs that are done with before they leave the list."""


class Page(msgspec.Struct, frozen=True, gc=False):
    """Notifications from a position on."""

    first: int
    count: int
    data: bytes


class Kept(msgspec.Struct, frozen=True, gc=False):
    """Notifications that came together."""

    first: int
    """The position of the first of them."""
    count: int
    data: bytes
    at: float
    record: int
    """The position in the journal of the record that has them."""


class Mailbox:
    """A durable subscription of a broker."""

    def __init__(self, name: str, filter: str, owner: str, epoch: int, now: float) -> None:
        self.name = name
        self.filter = filter
        self.owner = owner
        self.epoch = epoch
        self.next = 0
        """The position of the next notification."""
        self.committed = 0
        """Everything before this position was read."""
        self.size = 0
        self.lost = 0
        """Notifications that were given up unread."""
        self.used_at = now
        self._runs: list[Kept] = []
        self._start = 0
        """Where in the list the first run is that is kept."""

    def __repr__(self) -> str:
        return f"<mailbox {self.name} {self.committed}-{self.next}>"

    @property
    def client(self) -> str:
        """Its name as that of a client of the broker."""
        return f"durable:{self.name}.{self.epoch}"

    @property
    def first(self) -> int:
        """The position of the oldest notification that is kept, or of the next one."""
        return self._runs[self._start].first if self._start < len(self._runs) else self.next

    @property
    def needed(self) -> int | None:
        """The position in the journal of the oldest record that is needed, if any."""
        return self._runs[self._start].record if self._start < len(self._runs) else None

    def append(self, count: int, data: bytes, at: float, record: int) -> None:
        """Keep notifications."""
        self._runs.append(Kept(self.next, count, data, at, record))
        self.next += count
        self.size += len(data)

    def leave_out(self, count: int) -> None:
        """Notifications came that cannot be kept: they have positions, and are lost."""
        self.next += count
        self.lost += count

    def commit(self, position: int) -> bool:
        """Everything before a position was read; whether that is news."""
        position = min(position, self.next)
        if position <= self.committed:
            return False
        self.committed = position
        runs = self._runs
        while self._start < len(runs) and _end(runs[self._start]) <= position:
            self._let_go()
        self._compact()
        return True

    def _let_go(self) -> None:
        """The oldest run is not kept any longer."""
        self.size -= len(self._runs[self._start].data)
        self._start += 1

    def _compact(self) -> None:
        if self._start >= _COMPACT_FROM:
            del self._runs[: self._start]
            self._start = 0

    def give_up(self, bytes_max: int, oldest: float) -> int:
        """Give up the oldest that are too many or too old; how many notifications that were.

        What was read does not change by that: whoever reads on finds out what is missing.
        """
        given_up = 0
        runs = self._runs
        while self._start < len(runs) and (self.size > bytes_max or runs[self._start].at < oldest):
            run = runs[self._start]
            given_up += _end(run) - max(run.first, self.committed)
            self._let_go()
        self._compact()
        self.lost += given_up
        return given_up

    def readable(self, synced: int) -> int:
        """The position behind the last notification that is on disk."""
        for at in range(len(self._runs) - 1, self._start - 1, -1):
            run = self._runs[at]
            if run.record <= synced:
                return run.first + run.count
        return self.first

    def read(self, position: int, size: int, synced: int) -> Page | None:
        """What is on disk from a position on, some bytes of it; None if nothing is there yet.

        It ends before anything that was never kept, so that the positions are those of one row.
        """
        runs = self._runs
        at = max(self._start, bisect_right(runs, position, lo=self._start, key=_FIRST) - 1)
        if at < len(runs) and _end(runs[at]) <= position:
            at += 1
        if at >= len(runs) or runs[at].record > synced:
            return None
        first = following = max(position, runs[at].first)
        parts: list[bytes] = []
        taken = 0
        while at < len(runs) and taken < size:
            run = runs[at]
            if run.record > synced or run.first > following:
                break
            parts.append(skip(run.data, following - run.first) if run.first < first else run.data)
            taken += len(parts[-1])
            following = _end(run)
            at += 1
        return Page(first, following - first, b"".join(parts))

    def state(self, synced: int, now: float) -> MailboxState:
        """How far it is."""
        return MailboxState(
            self.name,
            self.filter,
            self.epoch,
            first=self.first,
            committed=self.committed,
            next=self.readable(synced),
            size=self.size,
            owner=self.owner,
            unused_seconds=max(0.0, now - self.used_at),
            lost=self.lost,
        )

    # The journal

    def kept(self, *, is_whole: bool) -> KeptMailbox:
        """What a checkpoint says of it; with everything that is kept, or without."""
        runs = self._runs[self._start :] if is_whole else ()
        return KeptMailbox(
            self.name,
            self.filter,
            self.owner,
            self.epoch,
            self.next,
            self.committed,
            self.used_at,
            tuple(KeptRun(run.first, run.count, run.data, run.at) for run in runs),
        )

    @classmethod
    def restored(cls, kept: KeptMailbox) -> Mailbox:
        """A durable subscription as a checkpoint has it."""
        mailbox = cls(kept.name, kept.filter, kept.owner, kept.epoch, kept.used_at)
        mailbox.next = kept.runs[0].first if kept.runs else kept.next
        for run in kept.runs:
            mailbox.append(run.count, run.data or b"", run.at, 0)
        mailbox.committed = kept.committed
        return mailbox


def _end(run: Kept) -> int:
    """The position behind a run."""
    return run.first + run.count
