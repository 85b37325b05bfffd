"""Who is here: neighbours and clients come, go away, come back, and leave for good.

Streams outlive lines: a peer without a line is *away*, not gone. When a neighbour comes back as a
new session, what was kept for its old one goes into the new stream, and its entries in the routing
table stay until it has told its own again (as in BGP's graceful restart, RFC 4724). What was sent
to the old session and never acknowledged may have been passed on by it, so it is lost, counted
and reported; unless that session ended in an orderly way: then it had not looked at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.protocol.due import is_due
from sapwood.protocol.effects import Dismiss, Reborn, ResetStream
from sapwood.protocol.events import (
    ClientArrived,
    ClientAway,
    ClientBack,
    ClientDown,
    ClientUp,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    NotificationsMissed,
    Roster,
)
from sapwood.protocol.link.channel import Channel
from sapwood.protocol.link.handshake import (
    CLIENT,
    COUNT_MAX,
    OUTSIDE_TREE,
    REPLACED,
    SILENT,
    SLOW_CONSUMER,
    Goodbye,
    Hello,
    Resume,
    Welcome,
    common_features,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.messages import CODEC, ClientMoved, Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.ports import ClientOrder, Remember, Restart
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.protocol.stabilize.places import Place
from sapwood.wire.frames import HEADER_SIZE

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

EXCUSES_MAX: Final = 10
"""How often in a row a stream that brings something is excused for what it does not bring."""

WINDOW_BYTES_MIN: Final = 4096
"""Bytes that everybody may send ahead, however many there are."""


class LinkPlace(NamedTuple):
    """What a link to a broker is, when a connection is there."""

    in_tree: bool
    is_held: bool = False
    """Whether it is not to carry anything yet, though it is part of the tree."""
    place: Place = Place.NONE
    """Where the other broker is, if that is certain."""

    @property
    def is_carrying(self) -> bool:
        """Whether it carries notifications at once."""
        return self.in_tree and not self.is_held


class Membership:
    """The peers of a node as they come and go."""

    def __init__(self, node: Node) -> None:
        self._node = node
        config = node.config
        self._former = dict.fromkeys(config.expected, 0)
        """The sessions of the neighbours that the session before this one had."""
        self._former.update(zip(config.expected, config.expected_sessions, strict=False))
        self._remembered = Remember(
            config.expected, config.expected_sessions, config.expected_parent
        )
        self._roll_at = float("-inf")
        """When the broker is told again who is here."""

    # Credit

    def window(self, *, is_client: bool) -> int:
        """How many bytes someone may send ahead.

        All together no more than half of a link's buffer: when a neighbour does not keep up, those
        who send to it are held back at half, and what is under way then must still fit. The more
        there are, the less each may send ahead.
        """
        config = self._node.config
        share = config.link.buffer_bytes // 2 // (len(self._node.peers) + 1)
        limit = config.client.window_bytes if is_client else config.link.window_bytes
        return limit if limit <= share else max(share, min(limit, WINDOW_BYTES_MIN))

    def credit(self, *, is_client: bool) -> int:
        """How many bytes of notifications may come over a new line.

        None before the tables are restored: until then nobody knows where they have to go. The
        other side keeps them.
        """
        return 0 if self._node.broker.is_restoring else self.window(is_client=is_client)

    def restored(self, now: float) -> None:
        """The tables are whole: take part."""
        node = self._node
        for peer in list(node.peers.values()):
            if not peer.holders:
                peer.channel.withheld = False
                node.acknowledge(peer, now)
        self._remember()

    # The tree

    def place(self, hello: Hello, *, is_alone: bool = True) -> LinkPlace:
        """What the link to a broker that says hello is.

        It is part of the tree if both know it as such, and carries at once if it is where it was:
        one end is the other's parent, and knows nothing else since. If one of them has forgotten
        everything, the other is believed: a child has no other way to the root, and whoever has had
        no parent yet has no other one. All other links are candidates, and the beacons decide.
        Without beacons a broker that is in the tree by no other way gets into it.
        """
        node = self._node
        own = node.config.features(is_client=hello.role == CLIENT)
        if BEACONS not in common_features(hello.features, own):
            return LinkPlace(is_alone)
        ours = node.broker.tree.place_of(hello.id)
        theirs = _place(hello.tree.get(node.config.id, "")).seen_from_there
        is_known_here = self.has_link(hello.id)
        is_known_there = node.config.id in hello.tree
        if is_known_here and is_known_there:
            is_same = ours is theirs is not Place.NONE
            return LinkPlace(True, not is_same, ours if is_same else Place.NONE)
        if is_known_here and (ours is Place.PARENT or (ours is Place.CHILD and hello.is_open)):
            return LinkPlace(True, place=ours)
        if is_known_there and self.may_be(theirs):
            return LinkPlace(True, place=theirs)
        return LinkPlace(in_tree=False)

    def may_be(self, place: Place) -> bool:
        """Whether a broker may be what it says it is, though nothing is known of it here."""
        return place is Place.CHILD or (place is Place.PARENT and self._node.broker.tree.is_open)

    def welcomed(self, welcome: Welcome) -> LinkPlace:
        """What the link to a broker is that says welcome, if this side still sees it so."""
        if BEACONS not in welcome.features:
            return LinkPlace(welcome.in_tree)
        place = _place(welcome.place).seen_from_there
        is_known = self.has_link(welcome.id)
        if not welcome.in_tree or not (is_known or self.may_be(place)):
            return LinkPlace(in_tree=False)
        if is_known and self._node.broker.tree.place_of(welcome.id) is not place:
            return LinkPlace(True, is_held=True)
        return LinkPlace(True, welcome.is_held, place)

    def has_link(self, name: str) -> bool:
        """Whether a broker is known as a neighbour in the tree, or expected as one."""
        broker = self._node.broker
        return broker.neighbours.is_in_tree(name) or name in broker.restoration.expected()

    def is_in_place(self, peer: Peer) -> bool:
        """Whether a neighbour is where it was, as far as this side knows."""
        if BEACONS not in peer.features:
            return True
        return bool(self._node.broker.tree.place_of(peer.name))

    def is_joined(self, name: str) -> bool:
        """Whether the link to a broker carries, or stands by in a tree that carries."""
        peer = self._node.peers.get(name)
        if peer is None or peer.line is None:
            return False
        return BEACONS not in peer.features or self._node.broker.tree.is_joined(name)

    def tree_changed(self, now: float) -> None:
        """Other links are part of the tree, or another neighbour is the parent."""
        self._mirror_tree()
        self._remember()
        self._node.dialing.tick(now)

    def _mirror_tree(self) -> None:
        """Which links are part of the tree is decided by the broker, where it keeps one."""
        neighbours = self._node.broker.neighbours
        for peer in self._node.peers.values():
            if not peer.is_client and BEACONS in peer.features and peer.name in neighbours:
                peer.in_tree = neighbours.is_in_tree(peer.name)

    # Coming

    def new_peer(self, said: Introduction) -> Peer:
        """Somebody with a new stream."""
        config = self._node.config
        limits = config.limits(is_client=said.is_client)
        channel = Channel(limits.channel(), splits_runs=said.is_client and config.recording)
        channel.window = self.window(is_client=said.is_client)
        return Peer(said, channel)

    def resumes(self) -> tuple[Resume, ...]:
        """The streams to neighbours, for a hello to any of them.

        Those that have a line are shown with a count that none has: they cannot be resumed, and
        whoever is dialled knows that there is no need to begin another one.
        """
        return tuple(
            Resume(
                peer.name,
                peer.session,
                peer.channel.received if peer.line is None else COUNT_MAX,
                peer.secret,
            )
            for peer in self._node.peers.values()
            if not peer.is_client
        )

    def enter(
        self,
        peer: Peer,
        line: Line,
        credit: int,
        now: float,
        *,
        had_stream: bool = False,
        place: LinkPlace | None = None,
        order: int = 0,
    ) -> None:
        """A neighbour or client is there, with a new stream.

        `had_stream`: the other side wanted to go on with one that is not known here.
        """
        node = self._node
        before = node.peers.get(peer.name)
        if peer.is_client:
            if before is not None:
                reason = Goodbye(REPLACED, "a newer session of the same id is here")
                self.remove(before, reason, now)
            node.peers[peer.name] = peer
            node.client_count += 1
            self._attach(peer, line, 0, credit, now)
            if node.config.recording:
                node.do(ClientOrder(peer.name, order))
                peer.claimed_again = set() if had_stream else None
            node.bring(ClientUp(peer.name, peer.features), now)
            if peer.has_moved:
                node.bring(ClientArrived(peer.name, peer.streams), now)
            return
        restarts = before is not None and before.in_tree and peer.in_tree
        restarts = restarts and RESTART in peer.features
        if before is not None and not restarts:
            if before.in_tree:
                self._node.bring(NotificationsMissed(before.name, 0), now)
            self.remove(before, Goodbye(REPLACED, "a newer session of the same id is here"), now)
        elif before is not None:
            self._drop_line(before, Goodbye(REPLACED, "the other side has connected again"), now)
            node.forget_peer(before, now)
        node.peers[peer.name] = peer
        self._attach(peer, line, 0, credit, now)
        place = place or LinkPlace(peer.in_tree)
        node.bring(self._link(peer, place, restarted=bool(restarts)), now)
        if before is not None and restarts:
            self._inherit(peer, before, now)
        if peer.in_tree and before is not None:
            self._report_lost(before, peer, now)
        elif peer.in_tree and had_stream and RESTART not in peer.features:
            node.bring(NotificationsMissed(peer.name, 0), now)
        elif peer.in_tree:
            self._look_back(peer, now)
        self._remember()

    def _link(self, peer: Peer, place: LinkPlace, *, restarted: bool = False) -> LinkUp:
        """What the broker is told of a link."""
        return LinkUp(
            peer.name,
            place.in_tree,
            sends=self._node.config.routing,
            receives=peer.routing or self._node.config.routing,
            session=peer.session,
            addresses=peer.addresses,
            features=peer.features,
            restarted=restarted,
            refresh_seconds=peer.refresh_seconds,
            is_held=place.is_held,
            place=place.place,
        )

    def reborn(self, effect: Reborn, now: float) -> None:
        """The broker has built its state anew: it may lack somebody, or need a new session."""
        if effect.is_again:
            self._node.do(Restart(effect.reason))
        self.call_roll(now)

    def call_roll(self, now: float) -> None:
        """See to it that the broker knows who is here, and nobody else."""
        node = self._node
        peers = list(node.peers.values())
        clients = tuple(one.name for one in peers if one.is_client)
        node.client_count = len(clients)
        self._mirror_tree()
        links = tuple(self._link(one, _known_place(one)) for one in peers if not one.is_client)
        away = tuple(one.name for one in peers if not one.is_client and one.line is None)
        node.bring(Roster(links, away, clients), now)

    def _inherit(self, peer: Peer, before: Peer, now: float) -> None:
        """What was kept for the former session goes to the new one.

        Of control messages only reports of losses do, and which clients have moved: the others are
        about tables, and those are told anew. A move keeps its place among the notifications, even
        if it was told anew as well: what was kept before it is older than the move.
        """
        node = self._node
        lost = peer.channel.inherit(
            before.channel, _outlives_sessions, is_certain=before.ended_orderly
        )
        node.counts["given_up"] += sum(run.frames for run in lost)
        peer.given_up_seen = peer.channel.given_up
        node.rows.dropped(peer, lost, now)
        node.touch(peer)

    def _report_lost(self, before: Peer, peer: Peer, now: float) -> None:
        """What the former session had still to send ended with it.

        If there was a session between the two, it may have taken part without this broker, or
        have been told of losses and ended. If the new one does not expect this broker, it takes
        part without it.
        """
        is_next = peer.expects_us and peer.former == before.session
        if not before.ended_orderly or before.lost_there or not is_next:
            count = max(0, before.lost_there)
            self._node.bring(NotificationsMissed(peer.name, count), now)

    def _look_back(self, peer: Peer, now: float) -> None:
        """Report what ended with both ends of a link.

        If a neighbour was restarted while this broker was down, what it had kept for this one is
        gone, and nobody else knows of it. This broker may have forgotten such a neighbour, if it
        has taken part without it since; but the neighbour says that they were linked.
        """
        former = self._former.get(peer.name, 0)
        self._former[peer.name] = peer.session
        if former != peer.session and (former or peer.expects_us):
            self._node.bring(NotificationsMissed(peer.name, 0), now)

    def come_back(
        self,
        peer: Peer,
        line: Line,
        received: int,
        credit: int,
        now: float,
        *,
        in_place: bool = True,
    ) -> None:
        """A neighbour or client goes on with its stream over a new line.

        `in_place`: the link of a neighbour is where it was in the tree, and carries at once.
        """
        node = self._node
        self._drop_line(peer, Goodbye(REPLACED, "the other side has connected again"), now)
        self._attach(peer, line, received, credit, now)
        node.count_losses(peer)
        node.counts["resumed"] += 1
        if peer.is_client:
            node.bring(ClientBack(peer.name), now)
        else:
            node.bring(NeighbourBack(peer.name, in_place), now)
        node.touch(peer)

    def _attach(self, peer: Peer, line: Line, received: int, credit: int, now: float) -> None:
        node = self._node
        is_restoring = node.broker.is_restoring
        line.peer = peer
        line.heard_at = line.wrote_at = now
        peer.line = line
        peer.away_since = None
        peer.progress_at = now
        peer.ended_orderly, peer.lost_there = False, -1
        peer.channel.withheld = bool(peer.holders) or is_restoring
        granted = 0 if is_restoring or line.has_no_credit else None
        node.rows.delivered(peer, peer.channel.connect(received, credit, granted), now)
        node.keepalive.watch(line, now)
        if line.has_no_credit:
            node.acknowledge(peer, now)  # the tables may be restored since that was said

    # Going

    def lost(self, line: Line, now: float) -> None:
        """A line is gone: its stream waits for the next one."""
        node = self._node
        peer = line.peer
        if peer is None:
            return
        node.counts["connections_lost"] += 1
        self._detach(peer, now)
        if peer.is_client:
            node.bring(ClientAway(peer.name), now)
        elif BEACONS in peer.features and not peer.in_tree:
            self.remove(peer, Goodbye(OUTSIDE_TREE), now)  # nothing was under way
        else:
            node.bring(NeighbourAway(peer.name), now)

    def _detach(self, peer: Peer, now: float) -> None:
        node = self._node
        line, peer.line = peer.line, None
        if line is not None:
            line.peer = None
            peer.heard_at = line.heard_at
        peer.channel.disconnect()
        peer.away_since = now
        for freed in node.flow.release(peer):
            node.acknowledge(freed, now)

    def _drop_line(self, peer: Peer, goodbye: Goodbye, now: float) -> None:
        """End the line of a peer, if there is one, and keep the peer."""
        line = peer.line
        if line is not None:
            self._detach(peer, now)
            self._node.close(line, goodbye, now)

    def remove(self, peer: Peer, goodbye: Goodbye, now: float) -> None:
        """A neighbour or client is gone for good, with all it wanted."""
        node = self._node
        if node.peers.get(peer.name) is not peer:
            return
        since = now if peer.away_since is None else peer.heard_at
        if peer.line is not None:
            node.flush(peer, now)
        del node.peers[peer.name]
        node.client_count -= peer.is_client
        node.forget_peer(peer, now)
        self._drop_line(peer, goodbye, now)
        abandoned = peer.channel.abandon()
        node.counts["abandoned"] += sum(run.frames for run in abandoned)
        node.rows.dropped(peer, abandoned, now, is_abandoned=True)
        if peer.is_client:
            self._client_left(peer, since, now)
        else:
            node.bring(LinkDown(peer.name), now)
            self._remember()

    def dismiss(self, effect: Dismiss, now: float) -> None:
        """Let a client's session end that goes on elsewhere."""
        peer = self._node.peers.get(effect.client)
        if peer is not None and peer.is_client:
            self.remove(peer, Goodbye(REPLACED, effect.reason), now)

    def reset(self, effect: ResetStream, now: float) -> None:
        """Let a stream begin anew that does not bring what it has to; what it had is reported.

        As long as it brings anything at all, that may still be on its way: the stream is slow, not
        wrong. Only after many times it is not believed any more.
        """
        peer = self._node.peers.get(effect.peer)
        if peer is None or peer.line is None:
            return
        came, peer.frames_in_at_silence = peer.frames_in_at_silence, peer.frames_in
        is_slow = came != peer.frames_in or bool(peer.holders)
        if is_slow and effect.times < EXCUSES_MAX:
            return
        self._node.counts["streams_reset"] += 1
        if not peer.is_client and peer.in_tree:
            self._node.bring(NotificationsMissed(peer.name, 0), now)
        self.remove(peer, Goodbye(SILENT, effect.reason), now)

    def tick(self, now: float) -> None:
        """Let those go who have been away for too long, or whose control messages overran.

        And see every so often whether the broker knows who is here.
        """
        node = self._node
        settings = node.config.stabilization
        if settings.refresh != "off" and is_due(self._roll_at, now, settings.refresh_seconds):
            self._roll_at = now + settings.refresh_seconds
            self.call_roll(now)
        for peer in list(node.peers.values()):
            if peer.channel.is_overrun:
                node.counts["overruns"] += 1
                goodbye = Goodbye(SLOW_CONSUMER, "too many control messages wait")
                self.remove(peer, goodbye, now)
            elif peer.is_client and self._is_past_grace(peer, now):
                self.remove(peer, Goodbye(SILENT), now)
            elif not peer.is_client:
                self._agree(peer, now)

    def _agree(self, peer: Peer, now: float) -> None:
        """Let the broker know of a neighbour what is so, and do what the broker says of its link.

        Events say all this when it happens; this is for what a transient fault did to either.
        """
        one = self._node.broker.neighbours.get(peer.name)
        if one is None:
            return
        if one.is_connected != (peer.line is not None):
            is_back = peer.line is not None
            in_place = BEACONS not in peer.features
            back, away = NeighbourBack(peer.name, in_place), NeighbourAway(peer.name)
            self._node.bring(back if is_back else away, now)
        if one.is_connected and peer.channel.is_held != one.is_held:
            peer.channel.is_held = one.is_held
            self._node.touch(peer)
        if peer.in_tree != one.in_tree:
            self.tree_changed(now)

    def busy(self) -> tuple[str, ...]:
        """Neighbours from whom frames have come since this was last asked."""
        names = []
        for peer in self._node.peers.values():
            if not peer.is_client and peer.frames_in != peer.frames_seen:
                peer.frames_seen = peer.frames_in
                names.append(peer.name)
        return tuple(names)

    def _is_past_grace(self, peer: Peer, now: float) -> bool:
        since = peer.away_since
        return since is not None and now - since > self._node.config.client.grace_seconds

    def _client_left(self, peer: Peer, since: float, now: float) -> None:
        """A client is gone, and has been since a time: the trace says that its wishes ended then.

        Nothing was owed to it while its stream was kept in vain, and by now it may have said the
        same to another broker.
        """
        node = self._node
        node.bring(ClientDown(peer.name), now, recorded_at=since)
        if node.config.recording:
            node.do(ClientOrder(peer.name, None))

    def _remember(self) -> None:
        """Keep for the next start who the neighbours are."""
        node = self._node
        sessions: dict[str, int] = {}
        if node.broker.is_restoring:
            sessions = {name: self._former.get(name, 0) for name in node.config.expected}
        for peer in node.peers.values():
            if not peer.is_client and peer.in_tree:
                sessions[peer.name] = peer.session
        names = tuple(sorted(sessions))
        parent = node.broker.tree.parent
        remembered = Remember(
            names, tuple(sessions[name] for name in names), parent if parent in sessions else ""
        )
        if remembered != self._remembered:
            self._remembered = remembered
            node.do(remembered)


def _known_place(peer: Peer) -> LinkPlace:
    """What a link is that a broker may have forgotten: with beacons, those decide about it."""
    return LinkPlace(peer.in_tree, is_held=peer.in_tree and BEACONS in peer.features)


_PLACES: Final = {place.value: place for place in Place}


def _place(text: str) -> Place:
    """What another broker says; nothing if it is no place."""
    return _PLACES.get(text, Place.NONE)


def _outlives_sessions(data: bytes) -> bool:
    """Whether a control message for one session of a neighbour is for the next one, too."""
    return isinstance(CODEC.decode(data[HEADER_SIZE:]), Missed | ClientMoved)
