"""What a node keeps on disk: what came in and where it has to go, before anybody is told so.

The rules are those of a write-ahead log:

- What comes from a client or over a durable link is acknowledged when it is on disk. Until then the
  other side keeps it, and sends it again if this broker dies.
- What was taken goes to a neighbour when it is on disk. So nobody has what this broker could forget
  and then get once more.
- What came in, how far each source is, and where it goes are one record (``records``).

After a restart the neighbours are told how far each of them is, and so are the clients for what
they published; what was not passed on goes out again. Of what is kept, memory holds the end and
where the rest is (``pages``); that is read back when it is wanted (``fetching``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from sapwood.protocol.durable.fetching import Fetching
from sapwood.protocol.durable.journal import Journal, SegmentOnDisk
from sapwood.protocol.durable.outgoing import Outgoing
from sapwood.protocol.durable.pages import Page, Pages, Place
from sapwood.protocol.durable.records import (
    Checkpoint,
    Entry,
    LinkForgotten,
    LinkNumbered,
    Moved,
    Received,
    Segment,
)
from sapwood.protocol.durable.serving import RUN_BYTES_MAX, Mailboxes
from sapwood.protocol.durable.settings import DURABLE
from sapwood.protocol.effects import Forward
from sapwood.protocol.link import notes
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import Hello, JournalMark
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.ports import TICK_SECONDS, Connected, DropMailbox, Fetched, Synced
from sapwood.wire.frames import CONTROL, HEADER, HEADER_SIZE, walk

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

PUBLISHERS_MAX: Final = 100_000
"""Clients of which the last publication is known; those heard of last are."""

NEIGHBOURS_MAX: Final = 10_000
"""Brokers of which it is known how far they are."""


class Durability:
    """The part of a node that keeps things."""

    def __init__(self, node: Node, segments: Iterable[Segment], epoch: str) -> None:
        self._node = node
        settings = node.config.durability
        self.epoch = epoch
        """The name of this journal: a broker whose disk was lost has another one."""
        self.journal = Journal(settings, node.do, self._checkpoint)
        self.links: dict[str, Outgoing] = {}
        self.received: dict[str, Received] = {}
        """How far each neighbour's journal is known here."""
        self.published: dict[str, int] = {}
        """By client: its last publication that was taken."""
        self.fetching = Fetching(node, self)
        self.mailboxes = Mailboxes(node, self.journal, self.fetching)
        self._owed: dict[str, tuple[Peer, deque[tuple[int, int]]]] = {}
        """By source: positions in the journal, and how many frames are kept with each."""
        self._unloaded: dict[str, None] = {}
        """Neighbours whose stream does not have yet what was kept for them."""
        self._deferred: list[tuple[Line, Hello] | Connected] = []
        """Whose handshake waits until it is certain how far their streams are."""
        self._touched: list[Page] = []
        """Pages with something of the present event: they end where its record will."""
        self._look_at = float("-inf")
        self._began_at = float("inf")
        self._restore(segments)

    # After a restart

    def _restore(self, segments: Iterable[Segment]) -> None:
        """Bring back what the journal says: one segment after the other, none stays in memory."""
        position = 0
        found: list[SegmentOnDisk] = []
        for segment in segments:
            start = _checkpoint_of(segment)
            if not found:
                self._begin_with(start)
                position = start.position - 1
            found.append(SegmentOnDisk(segment.number, start.position, segment.end))
            at = segment.ends[0]
            for record, end in zip(segment.records[1:], segment.ends[1:], strict=True):
                if isinstance(record, Entry):
                    position += 1
                    self._replay(record, Place(segment.number, at, position), end)
                at = end
        if found:
            self.journal.restored(position, found)
            self.mailboxes.restored()

    def _begin_with(self, start: Checkpoint) -> None:
        self.epoch = start.epoch
        self.received, self.published = dict(start.received), dict(start.published)
        self.links = {name: Outgoing.restored(kept) for name, kept in start.links.items()}
        self.mailboxes.restore(start.mailboxes)

    def _replay(self, entry: Entry, place: Place, end: int) -> None:
        for change in entry.changes:
            if isinstance(change, LinkNumbered):
                self.link(change.neighbour).renumber(change.pushed, change.released)
            elif isinstance(change, LinkForgotten):
                self.link(change.neighbour).give_up_all()
            elif isinstance(change, Moved):
                self._replay_moved(change, place, end)
            else:
                self.mailboxes.replay(change)
        for run in entry.runs:
            for name in run.destinations:
                self._keep(name, run.count, run.data, entry.at, place)
        self._end_touched(end)
        self.received.update(entry.received)
        self._note_published(entry.published)

    def _replay_moved(self, moved: Moved, place: Place, end: int) -> None:
        mailbox = self.mailboxes.by_client(moved.destination)
        known = self.links.get(moved.destination) if mailbox is None else mailbox
        if known is not None:
            count = sum(count for count, _ in moved.runs)
            size = sum(len(data) for _, data in moved.runs)
            page = Page(
                moved.first, count, size, moved.at, place.segment, place.start, end, place.record,
                is_moved=True,
            )  # fmt: skip
            known.pages.insert(page)

    def _keep(self, name: str, count: int, data: bytes, at: float, place: Place) -> None:
        """Keep notifications for a destination: a durable subscription, or else a neighbour."""
        mailbox = self.mailboxes.by_client(name)
        if mailbox is not None:
            page = self.mailboxes.keep(mailbox, count, data, at, place)
        else:
            page = self.link(name).push(count, len(data), at, place)
        self.touched(page)

    def touched(self, page: Page) -> None:
        """A page has something of the present event."""
        self._touched.append(page)

    def _end_touched(self, end: int) -> None:
        for page in self._touched:
            page.end = end
        self._touched.clear()

    def _checkpoint(self, position: int) -> Checkpoint:
        return Checkpoint(
            epoch=self.epoch,
            position=position,
            received=dict(self.received),
            published=dict(self.published),
            mailboxes=self.mailboxes.kept(),
            links={name: one.kept() for name, one in self.links.items()},
        )

    def link(self, name: str) -> Outgoing:
        """The durable link to a neighbour."""
        return self.links.setdefault(name, Outgoing())

    def destinations(self) -> Iterator[tuple[str, Pages]]:
        """All for whom something is kept."""
        for name, link in self.links.items():
            yield name, link.pages
        for mailbox in self.mailboxes:
            yield mailbox.client, mailbox.pages

    @property
    def size(self) -> int:
        """Bytes that are kept, for all destinations."""
        return sum(pages.size for _, pages in self.destinations())

    def _note_published(self, published: dict[str, int]) -> None:
        for client, sequence in published.items():
            self.published.pop(client, None)
            self.published[client] = sequence
        while len(self.published) > PUBLISHERS_MAX:
            del self.published[next(iter(self.published))]

    # Time

    def begin(self, now: float) -> None:
        """The first event: let durable subscriptions be in force again."""
        if self._began_at == float("inf"):
            self._began_at = now
            self.journal.begin()
            self.mailboxes.begin(now)

    @property
    def next_at(self) -> float:
        """When something is due."""
        return min(self.journal.next_at, self.mailboxes.next_at)

    def tick(self, now: float) -> None:
        """Bring to disk what is due, and let go what is too old."""
        self.journal.tick(now)
        self.mailboxes.tick(now)
        if now >= self._look_at:
            self._look_at = now + TICK_SECONDS
            settings = self._node.config.durability
            oldest = now - self._node.config.link.away_seconds
            for link in self.links.values():
                link.give_up(settings.link_bytes, oldest)
            self._trim()
            self._load_all(now)

    def finish(self, now: float) -> None:
        """An event is done: write down what it came to."""
        if self._node.broker.restoration.late or self._node.broker.kept_for:
            self._keep_for_late(now)
        if self.journal.has_more:
            end = self.journal.finish(now)
            if self._touched:
                self._end_touched(end)
        self.fetching.flush()

    def take(self, event: Synced | Fetched | DropMailbox, now: float) -> None:
        """Take an event of the driver."""
        if isinstance(event, Synced):
            self._synced(event.position, now)
        elif isinstance(event, Fetched):
            self.fetching.take(event, now)
        else:
            self.mailboxes.drop(event.name, now)

    def _synced(self, position: int, now: float) -> None:
        """More of the journal is on disk: acknowledge it, and send it on."""
        node, journal = self._node, self.journal
        journal.note_synced(position, now)
        for name, (peer, owed) in list(self._owed.items()):
            if node.peers.get(name) is not peer:
                del self._owed[name]
                continue
            while owed and owed[0][0] <= journal.synced:
                peer.channel.kept = owed.popleft()[1]
            if not owed:
                peer.channel.kept = None
                del self._owed[name]
            node.acknowledge(peer, now)
        for peer in node.peers.values():
            if not peer.is_client:
                peer.channel.spool.synced = journal.synced
                node.touch(peer)
        self.mailboxes.synced(now)
        self._admit_deferred(now)

    def _keep_for_late(self, now: float) -> None:
        """Let neighbours miss nothing whose wishes were not told in time after a restart.

        They get everything until they have told what they want; it is kept for them as long as for
        any neighbour that is away.
        """
        broker, config = self._node.broker, self._node.config
        is_over = now - self._began_at > config.link.away_seconds
        late = [name for name in broker.restoration.late if name in self.links and not is_over]
        for name in [one for one in broker.kept_for if one not in late]:
            broker.keep_no_more(name)
            self._node.membership.remember()
        for name in [one for one in late if one not in broker.kept_for]:
            broker.keep_for(name)
            self._node.membership.remember()

    def _trim(self) -> None:
        """Let go of what nobody needs; and of what is needed, if the journal is too long."""
        journal = self.journal
        self._trim_unneeded()
        while journal.is_too_long:
            oldest = journal.oldest
            self._give_up_before(oldest + 1)
            self._trim_unneeded()
            if journal.oldest == oldest:
                break  # what comes behind it is not on disk yet
        self.fetching.tidy()

    def _trim_unneeded(self) -> None:
        needed = [pages.needed for _, pages in self.destinations()]
        known = [one for one in needed if one is not None]
        self.journal.trim(min(known, default=self.journal.place.segment))

    def _give_up_before(self, segment: int) -> None:
        """Give up what lies in old segments: for neighbours it is counted when its turn comes."""
        lost = sum(self.mailboxes.give_up_before(segment).values())
        for link in self.links.values():
            for page in link.pages.before(segment):
                link.pages.remove(page)
                lost += page.count
        if lost:
            notes.note(
                self._node, "warning", "journal full", size=self.journal.size,
                journal_bytes=self._node.config.durability.journal_bytes, given_up=lost,
            )  # fmt: skip

    def _load_all(self, now: float) -> None:
        """Read back what streams will need soon."""
        for peer in list(self._node.peers.values()):
            if not peer.is_client and peer.channel.spool.paged:
                self.fetching.load(peer, now)

    # What comes

    def came(self, peer: Peer, data: bytes, frames: int, size: int) -> None:
        """Frames came from a peer: note how far it is, and acknowledge them when that is kept."""
        count, first = _notifications(data, frames, size)
        if peer.is_client:
            if count:
                self._publications(peer, count, data, first)
        elif not self.is_durable(peer):
            return
        elif count:
            self._count(peer, count)
        self._owe(peer, frames, is_news=bool(count))

    def _publications(self, peer: Peer, count: int, data: bytes, first: int) -> None:
        _, _, head = HEADER.unpack_from(data, first)
        body_at = first + HEADER_SIZE + head
        last = int.from_bytes(data[body_at : body_at + 8], "little") + count - 1
        self._note_published({peer.name: last})
        self.journal.published(peer.name, last)

    def _count(self, peer: Peer, count: int) -> None:
        before = self.received.get(peer.name, Received(peer.journal, 0))
        received = self.received[peer.name] = Received(before.epoch, before.number + count)
        self.journal.received(peer.name, received)

    def _owe(self, peer: Peer, frames: int, *, is_news: bool) -> None:
        """What came is acknowledged when the record of this event is on disk."""
        channel = peer.channel
        known = self._owed.get(peer.name)
        if known is None or known[0] is not peer:
            if not is_news:
                return
            known = self._owed[peer.name] = (peer, deque())
            channel.kept = channel.received - frames
        owed = known[1]
        position = self.journal.position if is_news or not owed else owed[-1][0]
        if owed and owed[-1][0] == position:
            owed.pop()
        owed.append((position, channel.received))

    def missed(self, peer: Peer, count: int) -> None:
        """A neighbour had to give up notifications: they count."""
        if not peer.is_client and self.is_durable(peer):
            self._count(peer, count)
            self._owe(peer, count, is_news=True)

    # What goes out

    def is_durable(self, peer: Peer) -> bool:
        """Whether what goes to and comes from a neighbour is kept at both ends."""
        keeps = self._node.config.durability.keeps_link(peer.name)
        return DURABLE in peer.features and bool(peer.journal) and keeps

    def forward(self, effect: Forward, now: float) -> int:
        """Write down where notifications go; the position behind which neighbours wait."""
        data, count, peers = effect.data, effect.count, self._node.peers
        place = self.journal.place
        kept: list[str] = []
        for name in effect.destinations:
            peer = peers.get(name)
            if peer is None:
                if self.mailboxes.by_client(name) is not None:
                    if len(data) > RUN_BYTES_MAX:
                        self.journal.run((name,), count, b"")
                        self._keep(name, count, b"", now, place)
                        continue
                elif name not in self._node.broker.kept_for:
                    continue
            elif peer.is_client or not self.is_durable(peer):
                continue
            else:
                self._load(peer, now)
            self._keep(name, count, data, now, place)
            kept.append(name)
        if kept:
            self.journal.run(tuple(kept), count, data)
        return self.journal.position if self.journal.has_more else 0

    def released(self, peer: Peer, runs: Iterable[FrameRun], now: float) -> None:
        """A neighbour has got something."""
        link = self.links.get(peer.name)
        if link is not None and not peer.is_client:
            count = sum(run.frames for run in runs if run.size or run.data is None)
            link.release(link.released + count)
            if peer.channel.spool.paged:
                self.fetching.load(peer, now)

    # Handshakes

    def is_behind(self, name: str) -> bool:
        """Whether something came from somebody that is not on disk yet."""
        return name in self._owed

    def defer(self, what: tuple[Line, Hello] | Connected) -> None:
        """Let a handshake wait until it is certain how far the streams are."""
        self._deferred.append(what)
        self.journal.sync()

    def defers_dial(self, event: Connected) -> bool:
        """Whether a hello has to wait: it would say what is not on disk yet."""
        is_behind = any(not peer.is_client and peer.line is None for peer, _ in self._owed.values())
        if is_behind:
            self.defer(event)
        return is_behind

    def _admit_deferred(self, now: float) -> None:
        deferred, self._deferred = self._deferred, []
        for one in deferred:
            if isinstance(one, Connected):
                self._node.connected(one, now)
            elif one[0].number in self._node.lines:
                self._node.admission.hello(*one, now)

    def gone(self, connection: int) -> bool:
        """A connection is gone; whether it was waiting to be known at all."""
        before = len(self._deferred)
        self._deferred = [
            one
            for one in self._deferred
            if not isinstance(one, Connected) or one.connection != connection
        ]
        return len(self._deferred) < before

    def marks(self) -> tuple[JournalMark, ...]:
        """How far the journals of the neighbours are known here, for a hello."""
        return tuple(
            JournalMark(name, one.epoch, one.number)
            for name, one in self.received.items()
            if one.epoch
        )

    def mark(self, name: str) -> JournalMark | None:
        """How far the journal of one neighbour is known here."""
        one = self.received.get(name)
        return None if one is None or not one.epoch else JournalMark(name, one.epoch, one.number)

    def prepare(self, channel: Channel) -> None:
        """A stream is made for somebody."""
        channel.spool.synced = self.journal.synced

    def linked(self, peer: Peer, before: Channel | None, now: float) -> int:
        """A stream with a neighbour begins: agree on numbers.

        Says how many of the notifications that a former stream kept the neighbour has already; -1
        if nobody knows.
        """
        if not self.is_durable(peer):
            return -1
        known = self.received.get(peer.name)
        if known is None or known.epoch != peer.journal:
            self.received[peer.name] = Received(peer.journal, 0)
            self.journal.received(peer.name, self.received[peer.name])
            while len(self.received) > NEIGHBOURS_MAX:
                del self.received[next(iter(self.received))]
        link, mark = self.link(peer.name), peer.mark
        is_known = mark is not None and mark.epoch == self.epoch
        number = mark.number if mark is not None and is_known else link.released
        skipped = -1
        if before is not None and is_known:
            skipped = max(0, number - (link.pushed - _notifications_in(before)))
        if not is_known:
            link.renumber(link.pushed - link.released, 0)
            self.journal.change(LinkNumbered(peer.name, link.pushed, link.released))
        elif number > link.pushed:
            link.renumber(number, number)
            self.journal.change(LinkNumbered(peer.name, number, number))
        else:
            link.release(number)
        peer.channel.spool.memory_bytes = self._node.config.durability.memory_bytes
        self.fetching.forget(peer.name)
        self._unloaded.pop(peer.name, None)
        if before is None:
            self._unloaded[peer.name] = None
            if peer.in_tree:
                self._load(peer, now)
        return skipped

    def _load(self, peer: Peer, now: float) -> None:
        """Put what the journal has for a neighbour into its new stream."""
        if self._unloaded.pop(peer.name, self) is self:
            return
        for run in self.link(peer.name).runs():
            peer.channel.spool.append(run)
        self.fetching.load(peer, now)

    def unlinked(self, peer: Peer) -> None:
        """A neighbour is gone from the tree: what was kept for it is given up, and counted."""
        link = self.links.get(peer.name)
        if link is not None and link.pushed > link.released:
            link.give_up_all()
            self.journal.change(LinkForgotten(peer.name))


def _checkpoint_of(segment: Segment) -> Checkpoint:
    """What a segment begins with; one that was cut off before that is not here."""
    first = segment.records[0]
    assert isinstance(first, Checkpoint)
    return first


def _notifications(data: bytes, frames: int, size: int) -> tuple[int, int]:
    """How many notifications there are among some frames, and where the first of them begins."""
    if size == len(data):
        return frames, 0
    starts = [at for kind, at, *_ in walk(data) if kind != CONTROL]
    return len(starts), starts[0] if starts else 0


def _notifications_in(channel: Channel) -> int:
    """How many notifications a stream keeps that are not acknowledged, given up ones included."""
    return sum(run.frames for run in channel.spool.runs() if run.size or run.data is None)
