"""What a node keeps on disk: what came in and where it has to go, before anybody is told so.

The rules are those of a write-ahead log:

- What comes from a client or over a durable link is acknowledged when it is on disk. Until then the
  other side keeps it, and sends it again if this broker dies.
- What was taken goes to a neighbour when it is on disk. So nobody has what this broker could forget
  and then get once more.
- What came in, how far each source is, and where it goes are one record (``records``).

After a restart the neighbours are told how far each of them is, and so are the clients for what
they published; what was not passed on goes out again. All of it is kept in memory, too: what is
kept is bounded, and nothing is read from disk but at the start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from sapwood.protocol.durable.journal import Journal
from sapwood.protocol.durable.outgoing import Outgoing
from sapwood.protocol.durable.records import (
    Checkpoint,
    Entry,
    LinkForgotten,
    LinkNumbered,
    Received,
    Segment,
)
from sapwood.protocol.durable.serving import Mailboxes
from sapwood.protocol.durable.settings import DURABLE
from sapwood.protocol.effects import Forward
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import Hello, JournalMark
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.ports import TICK_SECONDS, Connected, DropMailbox, Synced
from sapwood.wire.frames import CONTROL, HEADER, HEADER_SIZE, walk

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

PUBLISHERS_MAX: Final = 100_000
"""Clients of which the last publication is known; those heard of last are."""

NEIGHBOURS_MAX: Final = 10_000
"""Brokers of which it is known how far they are."""


class Durability:
    """The part of a node that keeps things."""

    def __init__(self, node: Node, segments: Sequence[Segment], epoch: str) -> None:
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
        self.mailboxes = Mailboxes(node, self.journal)
        self._owed: dict[str, tuple[Peer, deque[tuple[int, int]]]] = {}
        """By source: positions in the journal, and how many frames are kept with each."""
        self._unloaded: dict[str, None] = {}
        """Neighbours whose stream does not have yet what was kept for them."""
        self._deferred: list[tuple[Line, Hello] | Connected] = []
        """Whose handshake waits until it is certain how far their streams are."""
        self._look_at = float("-inf")
        self._began_at = float("inf")
        self._restore(segments)

    # After a restart

    def _restore(self, segments: Sequence[Segment]) -> None:
        """Bring back what the journal says."""
        whole = [at for at, one in enumerate(segments) if _checkpoint_of(one).is_whole]
        segments = segments[whole[-1] if whole else 0 :]
        if not segments:
            return
        start = _checkpoint_of(segments[0])
        self.epoch = start.epoch
        self.received, self.published = dict(start.received), dict(start.published)
        self.links = {name: Outgoing.restored(kept) for name, kept in start.links.items()}
        self.mailboxes.restore(start.mailboxes)
        position = start.position - 1
        for segment in segments:
            for record in segment.records:
                if isinstance(record, Entry):
                    position += 1
                    self._replay(record, position)
        self.journal.restored(position, segments[-1].number)

    def _replay(self, entry: Entry, position: int) -> None:
        for change in entry.changes:
            if isinstance(change, LinkNumbered):
                self._link(change.neighbour).renumber(change.pushed, change.released)
            elif isinstance(change, LinkForgotten):
                self._link(change.neighbour).give_up(0, float("inf"))
            else:
                self.mailboxes.replay(change)
        for run in entry.runs:
            for name in run.destinations:
                if not self.mailboxes.keep(name, run.count, run.data, entry.at, position):
                    self._link(name).push(run.count, run.data, entry.at, position)
        self.received.update(entry.received)
        self._note_published(entry.published)

    def _checkpoint(self, position: int, is_whole: bool) -> Checkpoint:
        return Checkpoint(
            epoch=self.epoch,
            position=position,
            is_whole=is_whole,
            received=dict(self.received),
            published=dict(self.published),
            mailboxes=self.mailboxes.kept(is_whole=is_whole),
            links={name: one.kept(is_whole=is_whole) for name, one in self.links.items()},
        )

    def _link(self, name: str) -> Outgoing:
        return self.links.setdefault(name, Outgoing())

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

    def finish(self, now: float) -> None:
        """An event is done: write down what it came to."""
        if self._node.broker.restoration.late or self._node.broker.kept_for:
            self._keep_for_late(now)
        if self.journal.has_more:
            self.journal.finish(now)

    def take(self, event: Synced | DropMailbox, now: float) -> None:
        """Take an event of the driver."""
        if isinstance(event, Synced):
            self._synced(event.position, now)
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
        """Let go of what nobody needs."""
        needed = [one.needed for one in (*self.links.values(), *self.mailboxes)]
        first = min((one for one in needed if one is not None), default=self.journal.position)
        size = sum(one.size for one in (*self.links.values(), *self.mailboxes))
        self.journal.trim(first, size)

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
        kept: list[str] = []
        for name in effect.destinations:
            peer = peers.get(name)
            if peer is None:
                if not self.mailboxes.keep(name, count, data, now, self.journal.position):
                    if name not in self._node.broker.kept_for:
                        continue
                    self._link(name).push(count, data, now, self.journal.position)
                kept.append(name)
            elif not peer.is_client and self.is_durable(peer):
                self._load(peer)
                self._link(name).push(count, data, now, self.journal.position)
                kept.append(name)
        if kept:
            self.journal.run(tuple(kept), count, data)
        return self.journal.position if self.journal.has_more else 0

    def released(self, peer: Peer, runs: Iterable[FrameRun]) -> None:
        """A neighbour has got something."""
        link = self.links.get(peer.name)
        if link is not None and not peer.is_client:
            count = sum(run.frames for run in runs if run.size or run.data is None)
            link.release(link.released + count)

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

    def linked(self, peer: Peer, before: Channel | None) -> int:
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
        link, mark = self._link(peer.name), peer.mark
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
        self._unloaded.pop(peer.name, None)
        if before is None:
            self._unloaded[peer.name] = None
            if peer.in_tree:
                self._load(peer)
        return skipped

    def _load(self, peer: Peer) -> None:
        """Put what the journal has for a neighbour into its new stream."""
        if self._unloaded.pop(peer.name, self) is self:
            return
        for run in self._link(peer.name).runs():
            peer.channel.spool.append(run)
        self._node.touch(peer)

    def unlinked(self, peer: Peer) -> None:
        """A neighbour is gone from the tree: what was kept for it is given up, and counted."""
        link = self.links.get(peer.name)
        if link is not None and link.pushed > link.released:
            link.give_up(0, float("inf"))
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
