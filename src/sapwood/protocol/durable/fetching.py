"""What is read back from the journal: for a stream, for a reader, or to be written once more.

The driver is asked for the bytes of a page (`Fetch`) when the record of the present event is
written, and brings them with an event of its own (`Fetched`). Meanwhile anything may have happened:
so what was read is used only if it is still wanted, and for what its page is by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from sapwood.protocol.durable.messages import Mailbox as Asked
from sapwood.protocol.durable.pages import Page, PlacedRun, runs_in
from sapwood.protocol.durable.records import JournalDamageError, Moved
from sapwood.protocol.link import notes
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.ports import Fetch, Fetched
from sapwood.wire.scan import skip

if TYPE_CHECKING:
    from sapwood.protocol.durable.keeping import Durability
    from sapwood.protocol.node import Node

FETCHES_MAX: Final = 64
"""Pages that readers wait for at a time; the others have their turn later."""


class Wanted(NamedTuple):
    """A page that is to be read back, and for whom."""

    destination: str
    page: Page
    client: str = ""
    """Who reads, if it is for a durable subscription."""
    asked: Asked | None = None
    is_move: bool = False
    """Whether it is to be written once more."""


class _Asked(msgspec.Struct, frozen=True, gc=False):
    """A page as it was when the driver was asked for it: it may have grown since."""

    wanted: Wanted
    count: int
    is_moved: bool


class Fetching:
    """The pages of a node that are on their way from disk."""

    def __init__(self, node: Node, durability: Durability) -> None:
        self._node = node
        self._durability = durability
        self._number = node.config.session << 20
        """Of the last request: no answer to another session is taken for one to this."""
        self._pending: list[Wanted] = []
        """What the driver will be asked for at the end of the event."""
        self._asked: dict[int, _Asked] = {}
        self._loading: dict[str, None] = {}
        """Neighbours for whose streams something is on its way."""
        self._is_moving = False

    def want(self, wanted: Wanted) -> None:
        """Let a page be read back."""
        self._pending.append(wanted)

    def flush(self) -> None:
        """The event is written: ask the driver."""
        while self._pending and len(self._asked) < FETCHES_MAX:
            wanted = self._pending.pop(0)
            self._number += 1
            page = wanted.page
            self._asked[self._number] = _Asked(wanted, page.count, page.is_moved)
            self._node.do(Fetch(self._number, page.segment, page.start, page.end))

    def take(self, event: Fetched, now: float) -> None:
        """The driver has read something back."""
        asked = self._asked.pop(event.request, None)
        if asked is None:
            return
        wanted, page = asked.wanted, asked.wanted.page
        behind = page.first + asked.count
        try:
            runs = runs_in(event.data, wanted.destination, behind, is_moved=asked.is_moved)
        except JournalDamageError as problem:
            runs = self._damaged(wanted, problem)
        if wanted.is_move:
            self._is_moving = False
            if runs:
                self._move(wanted, [run for run in runs if run.first >= page.first])
            self.tidy()
        elif wanted.asked is not None:
            self._durability.mailboxes.fetched(wanted.client, wanted.asked, page, runs, now)
        else:
            self._loading.pop(wanted.destination, None)
            peer = self._node.peers.get(wanted.destination)
            if peer is not None:
                self.load(peer, now, page, runs)

    def _damaged(self, wanted: Wanted, problem: JournalDamageError) -> list[PlacedRun]:
        """What is on disk is not what was written: it is given up, counted and said."""
        page, kept = wanted.page, self._durability
        notes.note(
            self._node, "error", "journal damaged", segment=page.segment, byte=page.start,
            destination=wanted.destination, lost=page.count, problem=str(problem),
        )  # fmt: skip
        self._node.counts["journal_damaged"] += 1
        if not kept.mailboxes.give_up_page(wanted.destination, page):
            kept.link(wanted.destination).pages.remove(page)
        return []

    # Streams

    def load(
        self, peer: Peer, now: float, page: Page | None = None, runs: list[PlacedRun] | None = None
    ) -> None:
        """Fill in what a stream will need soon, from a page that was read if it is the right one.

        What the journal does not have any more is given up, and the neighbour is told.
        """
        spool, link = peer.channel.spool, self._durability.link(peer.name)
        if peer.name in self._loading or not peer.channel.connected:
            return
        while spool.wants_page and (place := spool.paged_at()) is not None:
            frames, behind = place
            number = link.pushed - behind + 1
            there = link.pages.find(number)
            if there is None or there.first > number:
                missing = frames if there is None else min(frames, there.first - number)
                given_up = spool.fill([FrameRun(None, missing, 0)])
                self._node.overflow.gave_up(peer, given_up, now)
            elif there is page and runs:
                spool.fill([_cut(runs, number, frames, there.record)])
                page = None
            else:
                self._loading[peer.name] = None
                self.want(Wanted(peer.name, there))
                break
        self._node.touch(peer)

    def forget(self, name: str) -> None:
        """A stream to a neighbour begins anew: what is on its way is not for it."""
        self._loading.pop(name, None)

    # Writing once more

    def tidy(self) -> None:
        """Write once more what is needed of the oldest segment, if the journal is far too long."""
        kept = self._durability
        if self._is_moving or not kept.journal.is_long(kept.size):
            return
        for destination, pages in kept.destinations():
            for page in pages.before(kept.journal.oldest + 1):
                self._is_moving = True
                self.want(Wanted(destination, page, is_move=True))
                return

    def _move(self, wanted: Wanted, runs: list[PlacedRun]) -> None:
        page, kept = wanted.page, self._durability
        own = [pages for name, pages in kept.destinations() if name == wanted.destination]
        if not any(one is page for pages in own for one in pages):
            return  # it was read, or given up, meanwhile
        data = tuple((run.count, run.data) for run in runs)
        place = kept.journal.place
        kept.journal.move(Moved(wanted.destination, page.first, page.at, data))
        page.segment, page.start, page.record = place
        page.is_moved = True
        kept.touched(page)


def _cut(runs: list[PlacedRun], number: int, frames: int, record: int) -> FrameRun:
    """Notifications from a number on, no more than so many, as one run."""
    parts: list[bytes] = []
    taken = 0
    for run in runs:
        left_out = max(0, number - run.first)
        if left_out >= run.count or taken == frames:
            continue
        data, count = skip(run.data, left_out) if left_out else run.data, run.count - left_out
        if count > frames - taken:
            count = frames - taken
            data = data[: len(data) - len(skip(data, count))]
        parts.append(data)
        taken += count
    whole = b"".join(parts)
    return FrameRun(whole, taken, len(whole), position=record)
