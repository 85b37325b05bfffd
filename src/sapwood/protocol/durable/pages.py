"""Where in the journal the notifications of one destination are.

Of what is kept for a neighbour or a durable subscription, memory holds no more than a page: from
which number on, how many, how many bytes, and between which two bytes of which segment their
records are. What is in between is read back when it is wanted (`Fetch`, `Fetched`). So hours of
notifications take as much memory as there are pages, not as there are notifications.

A page is closed when it is long enough, when it spans much of a segment though little of that is
its own, or when another segment begins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec

from sapwood.protocol.durable.records import Entry, Moved, decode_records

PAGE_BYTES: Final = 2**18
"""About how much is read back at a time."""

SPAN_BYTES: Final = 2**20
"""How far the records of a page may lie apart."""

_FIRST: Final = attrgetter("first")
_COMPACT_FROM: Final = 256
"""Pages that are done with before they leave the list."""


class Place(NamedTuple):
    """A record of the journal that is being made."""

    segment: int
    start: int
    """The byte of the segment at which it begins."""
    record: int
    """Its position in the journal."""


class PlacedRun(msgspec.Struct, frozen=True, gc=False):
    """Notifications that were read back; without data: they were never kept."""

    first: int
    count: int
    data: bytes


@dataclass(slots=True)
class Page:
    """Consecutive notifications of one destination, and the bytes of the journal they are in."""

    first: int
    count: int
    size: int
    at: float
    """When the last of them came."""
    segment: int
    start: int
    end: int
    record: int
    """The position of the last record."""
    is_moved: bool = False
    """Whether they were written once more, out of their turn."""

    @property
    def behind(self) -> int:
        """The number behind the last of them."""
        return self.first + self.count


def runs_in(data: bytes, destination: str, behind: int, *, is_moved: bool) -> list[PlacedRun]:
    """What of bytes that were read back is for a destination; `behind` is the number behind it.

    A JournalDamageError if they are not what was written.
    """
    found: list[tuple[int, bytes]] = []
    for record in decode_records(data):
        if type(record) is not Entry:
            continue
        if is_moved:
            for change in record.changes:
                if isinstance(change, Moved) and change.destination == destination:
                    found += change.runs
        else:
            found += ((r.count, r.data) for r in record.runs if destination in r.destinations)
    number = behind - sum(count for count, _ in found)
    runs: list[PlacedRun] = []
    for count, run in found:
        runs.append(PlacedRun(number, count, run))
        number += count
    return runs


class Pages:
    """The pages of one destination, in order."""

    def __init__(self, page_bytes: int = PAGE_BYTES) -> None:
        self.size = 0
        """Bytes of notifications in all of them."""
        self._page_bytes = page_bytes
        self._pages: list[Page] = []
        self._begin = 0
        """Where in the list the first page is that is kept."""

    def __iter__(self) -> Iterator[Page]:
        """All of them, the oldest first."""
        for number in range(self._begin, len(self._pages)):
            yield self._pages[number]

    def __len__(self) -> int:
        return len(self._pages) - self._begin

    @property
    def oldest(self) -> Page | None:
        """The first that is kept."""
        return self._pages[self._begin] if self._begin < len(self._pages) else None

    def append(self, first: int, count: int, size: int, at: float, place: Place) -> Page:
        """Notifications were written, behind all others; the page they belong to now."""
        page = self._pages[-1] if len(self) else None
        if page is None or not self._continues(page, first, size, place):
            page = Page(first, 0, 0, at, place.segment, place.start, place.start, place.record)
            self._pages.append(page)
        page.count += count
        page.size += size
        page.at, page.record = at, place.record
        self.size += size
        return page

    def insert(self, page: Page) -> None:
        """Notifications that were written once more, if the first writing is not here."""
        at = bisect_right(self._pages, page.first, lo=self._begin, key=_FIRST)
        before = self._pages[at - 1] if at > self._begin else None
        behind = self._pages[at] if at < len(self._pages) else None
        if before is not None and before.behind > page.first:
            return
        if behind is not None and page.behind > behind.first:
            return
        self._pages.insert(at, page)
        self.size += page.size

    def find(self, number: int) -> Page | None:
        """The page that has a number, or the first behind it."""
        at = bisect_right(self._pages, number, lo=self._begin, key=_FIRST) - 1
        if at < self._begin or self._pages[at].behind <= number:
            at = max(at + 1, self._begin)
        return self._pages[at] if at < len(self._pages) else None

    def release(self, number: int) -> None:
        """Everything before a number is not needed any more."""
        while (page := self.oldest) is not None and page.behind <= number:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        """The oldest page is not kept any longer."""
        self.size -= self._pages[self._begin].size
        self._begin += 1
        if self._begin >= _COMPACT_FROM or self._begin == len(self._pages):
            del self._pages[: self._begin]
            self._begin = 0

    def remove(self, page: Page) -> None:
        """One page is not kept any longer, if it is here."""
        for number in range(self._begin, len(self._pages)):
            if self._pages[number] is page:
                self.size -= page.size
                del self._pages[number]
                return

    def too_old(self, size: int, oldest: float) -> Page | None:
        """The oldest page, if it is beyond a size or an age."""
        page = self.oldest
        if page is None:
            return None
        is_too_much = self.size > size and len(self) > 1  # the last one is just being written
        return page if is_too_much or page.at < oldest else None

    def before(self, segment: int) -> list[Page]:
        """Those that lie in older segments."""
        return [page for page in self if page.segment < segment]

    @property
    def needed(self) -> int | None:
        """The oldest segment that is needed, if any."""
        return min((page.segment for page in self), default=None)

    def shift(self, by: int) -> None:
        """All numbers change."""
        for page in self:
            page.first += by

    def _continues(self, page: Page, first: int, size: int, place: Place) -> bool:
        """Whether a page goes on with what was written now; one record is never divided."""
        is_short = page.size + size <= self._page_bytes and place.start - page.start <= SPAN_BYTES
        return (
            page.behind == first
            and page.segment == place.segment
            and not page.is_moved
            and (is_short or page.record == place.record)
        )
