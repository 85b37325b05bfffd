"""A broker at the edge of the tree hands its clients over to its neighbour, and then ends.

The neighbour is asked first, and goes on sending until it says that nothing more will come
(`sapwood.protocol.reconfigure.leaving`). Then the clients are told where their streams go on, and
their connections end: what they send is not looked at any more, and they keep it. Each stream goes
to the neighbour as it stands: counts, secret, subscriptions, whatever is not acknowledged. It is
sent in parts, and only as fast as the neighbour takes them.

Before it ends, the broker waits until the clients have read where they go on. Whatever goes wrong,
it ends as it would without handing over, after a stated time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import HandOver, Send, StayHere
from sapwood.protocol.events import LeaveBegun
from sapwood.protocol.link.handshake import BUSY, CLIENT, LEAVING, MOVED, Goodbye, Hello
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.messages import Adopt, AdoptedStream, Left, SpooledRun, TableName
from sapwood.protocol.neighbours import MOVES

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

PART_BYTES: Final = 2**20
"""About how much of a client goes into one message."""

UNDER_WAY_BYTES: Final = 4 * PART_BYTES
"""What is sent ahead of what the neighbour has acknowledged, of all clients together."""

ENTRY_BYTES: Final = 32
"""About what an entry takes beside its texts."""

HOMES_MAX: Final = 16
"""Brokers at which a client may take its stream to be."""


class Stage(StrEnum):
    """How far it is."""

    ASKED = "asked"
    """The neighbour was asked, and may still send."""
    HANDING = "handing"
    """The clients were told, and their streams go to the neighbour."""
    LEFT = "left"
    """All was sent; the neighbour has not said yet that it has them."""
    ADOPTED = "adopted"
    """The neighbour has them; some may still have to read where they go on."""
    REFUSED = "refused"
    """The neighbour does not take them, or is gone."""


def successor(node: Node) -> Peer | None:
    """The neighbour that can take over the clients of a node, if there is one."""
    neighbours = _tree_neighbours(node)
    return None if obstacle(node) else neighbours[0]


def obstacle(node: Node) -> str:
    """Why a node has nobody to hand its clients over to; empty if it has.

    A broker between others has nobody: the tree has to be changed around it first. Clients have to
    find the neighbour; one of whom no address is known is nobody for them.
    """
    name, neighbours = node.config.id, _tree_neighbours(node)
    if node.broker.is_restoring:
        return f"broker {name} was restarted and restores its tables; try again"
    if not neighbours:
        return f"broker {name} has no neighbour to hand its clients over to"
    if len(neighbours) > 1:
        others = ", ".join(sorted(peer.name for peer in neighbours))
        return f"broker {name} is between {others}; only one at the edge of the tree can leave"
    if node.durability is not None:
        return f"broker {name} keeps a journal: its clients find it again when it is back"
    if not node.config.hand_over_seconds:
        return f"broker {name} hands nobody over: hand_over_seconds is 0"
    peer = neighbours[0]
    if peer.line is None or not node.broker.leaving.can_adopt(peer.name):
        return f"{peer.name}, the neighbour of {name}, is away or cannot take clients over"
    if not addresses_of(node, peer) and any(map(can_move, node.peers.values())):
        return f"nobody knows where {peer.name}, the neighbour of {name}, can be dialled"
    return ""


def _tree_neighbours(node: Node) -> list[Peer]:
    return [peer for peer in node.peers.values() if not peer.is_client and peer.in_tree]


def addresses_of(node: Node, peer: Peer) -> tuple[str, ...]:
    """Where a neighbour can be dialled: as it says, or where this broker has found it."""
    targets = node.dialing.targets
    found = (one.address for one in targets if one.peer == peer.name and one.has_linked)
    return peer.addresses or tuple(found)


def can_move(peer: Peer) -> bool:
    """Whether a client's stream can go on at another broker."""
    return peer.is_client and MOVES in peer.features and not peer.is_over and peer.channel.is_sound


class HandingOver:
    """The clients of one node go to a neighbour."""

    def __init__(self, node: Node, neighbour: Peer, now: float) -> None:
        self._node = node
        self.neighbour = neighbour.name
        self._peer = neighbour
        self.addresses = addresses_of(node, neighbour)
        self.stage = Stage.ASKED
        self.change = f"{node.config.id}.{node.config.session}/1"
        self.until = now + node.config.hand_over_seconds
        self.clients: dict[str, None] = {}
        """Those who were told where they go on."""
        self._waiting: deque[str] = deque()
        """Those of them whose streams were not begun with."""
        self._parts: deque[Adopt] = deque()
        """Of the one that was begun with: what is still to be sent."""

    def ask(self, now: float) -> None:
        """Ask the neighbour."""
        count = sum(map(can_move, self._node.peers.values()))
        self._node.bring(LeaveBegun(self.neighbour, self.change, count), now)

    @property
    def has_handed_over(self) -> bool:
        """Whether the neighbour has, or will have, all that it needs to go on."""
        return self.stage in (Stage.LEFT, Stage.ADOPTED)

    # What the neighbour says

    def flushed(self, effect: HandOver, now: float) -> None:
        """All that the neighbour had has come: read nobody any more, and begin to hand over."""
        node = self._node
        if self.stage is not Stage.ASKED or effect.change != self.change:
            return
        self.stage = Stage.HANDING
        node.farewells.end_all(now)
        node.carry_out(node.broker.finish_turns(now), now)
        neighbour = node.peers.get(self.neighbour)
        if neighbour is not None:
            node.acknowledge(neighbour, now)
        for peer in [peer for peer in node.peers.values() if can_move(peer)]:
            self.clients[peer.name] = None
            self._waiting.append(peer.name)
            if peer.line is not None:
                node.acknowledge(peer, now)
                node.close(peer.line, self.goodbye, now, lingers=True)

    def adopted(self, now: float) -> None:
        """The neighbour has everybody, and knows this broker no longer."""
        if self.stage is Stage.LEFT:
            self.stage = Stage.ADOPTED
            self._node.membership.remove(self._peer, Goodbye(LEAVING, lost=0), now)

    def refused(self, effect: StayHere, now: float) -> None:
        """The neighbour does not take them."""
        if effect.change == self.change and self.stage is not Stage.ADOPTED:
            self.stage = Stage.REFUSED

    @property
    def goodbye(self) -> Goodbye:
        """What a client is told."""
        reason = f"broker {self._node.config.id} leaves; go on at {self.neighbour}"
        return Goodbye(MOVED, reason, self.neighbour, addresses=self.addresses)

    def objection(self, hello: Hello, name: str, now: float) -> Goodbye | None:
        """Why somebody is not let in any more, if so: those who are here may come back.

        If the neighbour begins a new stream, it has everybody and has forgotten this broker.
        """
        if name in self.clients:
            return self.goodbye
        if name == self.neighbour and not self._is_resumed(hello):
            self.adopted(now)
        elif name == self.neighbour or (hello.role == CLIENT and name in self._node.peers):
            return None
        return Goodbye(BUSY, f"broker {self._node.config.id} is leaving")

    def _is_resumed(self, hello: Hello) -> bool:
        """Whether somebody wants to go on with a stream that this broker has."""
        here = (self._node.config.id, self._node.config.session)
        return any((one.broker, one.session) == here for one in hello.resume)

    # Time

    def look(self, now: float) -> bool:
        """See how far it is, and go on; whether it is over."""
        node = self._node
        if self.stage is not Stage.ADOPTED and node.peers.get(self.neighbour) is not self._peer:
            self.stage = Stage.ADOPTED if self.stage is Stage.LEFT else Stage.REFUSED
        if self._peer.ended_orderly:
            self.stage = Stage.REFUSED  # it shuts down, and looks at nothing any more
        if is_due(self.until, now, node.config.hand_over_seconds):
            return True
        if self.stage is not Stage.ASKED:
            self._give_up_others(now)
        if self.stage is Stage.HANDING:
            self._hand_over(self._peer, now)
        is_read = not any(line.lingers for line in node.lines.values())
        return self.stage is Stage.REFUSED or (self.stage is Stage.ADOPTED and is_read)

    def _give_up_others(self, now: float) -> None:
        """End the links that stand by: when the neighbour is gone, none may take its place.

        A broker that is about to end would be part of the tree again, and on record as such: at its
        next start both ends would take it that something was lost between them. The neighbour may
        have come back as a new session: that link is part of the tree, and its stream has all that
        was kept for the former one.
        """
        node = self._node
        goodbye = Goodbye(LEAVING, f"broker {node.config.id} leaves", lost=0)
        for peer in [one for one in node.peers.values() if not one.is_client]:
            if peer is not self._peer and not (peer.in_tree and peer.name == self.neighbour):
                node.membership.remove(peer, goodbye, now)

    def dials(self, broker: str) -> bool:
        """Whether the connection to a broker is still needed."""
        return broker == self.neighbour and self.stage is not Stage.ADOPTED

    def _hand_over(self, neighbour: Peer, now: float) -> None:
        """Send as much as may be under way."""
        node = self._node
        while neighbour.channel.control_buffered < UNDER_WAY_BYTES:
            if self._parts:
                self._send(self._parts.popleft(), now)
            elif self._waiting:
                peer = node.peers.get(self._waiting.popleft())
                if peer is not None and can_move(peer):
                    self._parts.extend(self._packed(peer, now))
            else:
                self._send(Left(self.change), now)
                self.stage = Stage.LEFT
                break

    def _send(self, message: Adopt | Left, now: float) -> None:
        self._node.carry_out([Send(self.neighbour, message)], now)

    # Packing

    def _packed(self, peer: Peer, now: float) -> Iterator[Adopt]:
        """A client as messages, none of them much longer than a part."""
        name = peer.name
        claims: list[tuple[TableName, str, str]] = []
        runs: list[SpooledRun] = []
        stream: AdoptedStream | None = self._stream(peer, now)
        size = 0
        for claim, run, length in (*self._claims(name), *_cut(peer.channel.spool.runs())):
            if size and size + length > PART_BYTES:
                yield Adopt(self.change, name, stream, tuple(claims), tuple(runs))
                stream, claims, runs, size = None, [], [], 0
            if claim is not None:
                claims.append(claim)
            if run is not None:
                runs.append(run)
            size += length
        yield Adopt(self.change, name, stream, tuple(claims), tuple(runs), is_last=True)

    def _claims(
        self, name: str
    ) -> Iterator[tuple[tuple[TableName, str, str] | None, SpooledRun | None, int]]:
        broker = self._node.broker
        tables: tuple[TableName, TableName] = ("s", "a")
        for table, own in zip(tables, broker.tables, strict=True):
            for entry_id, text in own.texts(name).items():
                length = len(entry_id.encode()) + len(text.encode()) + ENTRY_BYTES
                yield (table, entry_id, text), None, length

    def _stream(self, peer: Peer, now: float) -> AdoptedStream:
        node = self._node
        counts = peer.channel.counts()
        away = 0.0 if peer.away_since is None else now - past(peer.away_since, now)
        home = (node.config.id, node.config.session)
        requests = (
            *(
                (one.user, one.number, *(("", "") if one.subject is None else one.subject[:2]))
                for one in node.broker.waves.waiting_for(peer.name)
            ),
            *node.broker.conducting.waiting_for(peer.name),
        )
        again = peer.claimed_again
        return AdoptedStream(
            session=peer.session,
            secret=peer.secret,
            homes=(home, *peer.homes)[:HOMES_MAX],
            features=peer.features,
            slow_policy=peer.slow_policy,
            received=counts.received,
            acknowledged=counts.acknowledged,
            sent=counts.sent,
            missed=counts.missed,
            given_up=counts.given_up,
            order=peer.order,
            streams=peer.streams,
            away_seconds=away,
            claimed_again=None if again is None else tuple(sorted(again)),
            requests=requests,
        )


def _cut(
    runs: list[FrameRun],
) -> Iterator[tuple[tuple[TableName, str, str] | None, SpooledRun | None, int]]:
    """Runs of a stream in pieces, none of them longer than a part."""
    for run in runs:
        data = run.data
        while data is not None and len(data) > PART_BYTES:
            yield None, SpooledRun(data[:PART_BYTES], is_more=True), PART_BYTES
            data = data[PART_BYTES:]
        piece = SpooledRun(data, run.frames, run.size, run.in_doubt)
        yield None, piece, len(data or b"") + ENTRY_BYTES


def joined(pieces: tuple[SpooledRun, ...]) -> list[FrameRun]:
    """The runs that were cut into pieces."""
    runs: list[FrameRun] = []
    begun: list[bytes] = []
    for piece in pieces:
        if piece.is_more:
            begun.append(piece.data or b"")
            continue
        data = piece.data
        if begun:
            data = b"".join((*begun, data or b""))
            begun = []
        if piece.frames:
            runs.append(FrameRun(data, piece.frames, piece.size, piece.in_doubt))
    return runs
