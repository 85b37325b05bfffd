"""Who is here: neighbours and clients come, go away, come back, and leave for good.

Streams outlive lines: a peer without a line is *away*, not gone. When a neighbour comes back as a
new session, what was kept for its old one goes into the new stream, and its entries in the routing
table stay until it has told its own again (as in BGP's graceful restart, RFC 4724). What was sent
to the old session and never acknowledged may have been passed on by it, so it is lost, counted
and reported; unless that session ended in an orderly way: then it had not looked at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sapwood.protocol.due import is_due, past
from sapwood.protocol.effects import Dismiss, Reborn, ResetStream
from sapwood.protocol.events import (
    ClientArrived,
    ClientAway,
    ClientBack,
    ClientHandedOver,
    ClientUp,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    NotificationsMissed,
    Roster,
)
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link import notes
from sapwood.protocol.link.agreeing import (
    agree,
    is_candidate,
    let_go,
    link_problems,
)
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import (
    BUSY,
    COUNT_MAX,
    OUTSIDE_TREE,
    REPLACED,
    SILENT,
    SLOW_CONSUMER,
    Goodbye,
    Resume,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.link.placing import LinkPlace, known_place
from sapwood.protocol.messages import CODEC, ClientMoved, ClientsAt, Missed
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.ports import ClientOrder, Remember, Restart
from sapwood.protocol.stabilize.beacon import BEACONS
from sapwood.wire.frames import HEADER_SIZE

if TYPE_CHECKING:
    from sapwood.protocol.node import Node

EXCUSES_MAX: Final = 10
"""How often in a row a stream that brings something is excused for what it does not bring."""

_PHASES: Final = 64
"""Over so many parts of their period the looks at streams are spread."""


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

    def restored(self, now: float) -> None:
        """The tables are whole: take part."""
        node = self._node
        for peer in list(node.peers.values()):
            if not node.credit.is_withheld(peer):
                peer.channel.withheld = False
                node.acknowledge(peer, now)
        self.remember()

    def is_joined(self, name: str) -> bool:
        """Whether the link to a broker carries, or stands by in a tree that carries."""
        peer = self._node.peers.get(name)
        if peer is None or peer.line is None:
            return False
        return BEACONS not in peer.features or self._node.broker.tree.is_joined(name)

    def tree_changed(self, now: float) -> None:
        """Other links are part of the tree, or another neighbour is the parent."""
        self._mirror_tree()
        self.remember()
        self._node.checking.tree_changed(now)
        notes.tree_changed(self._node)
        self._node.dialing.tick(now)

    def _mirror_tree(self) -> None:
        """Which links are part of the tree is decided by the broker, where it keeps one."""
        for peer in self._node.peers.values():
            self._mirror_place(peer)

    def _mirror_place(self, peer: Peer) -> None:
        neighbour = self._node.broker.neighbours.get(peer.name)
        if neighbour is None or peer.is_client:
            return
        if BEACONS in peer.features or BEACONS in neighbour.features:
            peer.in_tree = neighbour.in_tree

    # Coming

    def new_peer(self, said: Introduction) -> Peer:
        """Somebody with a new stream."""
        channel = self._new_channel(is_client=said.is_client)
        if self._node.durability is not None:
            self._node.durability.prepare(channel)
        return Peer(said, channel)

    def _new_channel(self, *, is_client: bool) -> Channel:
        limits = self.channel_limits(is_client=is_client)
        channel = Channel(limits, splits_runs=is_client and self._node.config.recording)
        channel.window = self._node.credit.window(is_client=is_client)
        return channel

    def channel_limits(self, *, is_client: bool) -> ChannelLimits:
        """How much a stream may hold."""
        return self._node.config.channel_limits(is_client=is_client)

    def resumes(self) -> tuple[Resume, ...]:
        """The streams to neighbours, for a hello to any of them.

        Those that have a line are shown with a count that none has: they cannot be resumed, and
        whoever is dialled knows that there is no need to begin another one. One of which something
        was spoilt is not shown: nobody would read a hello with that.
        """
        return tuple(
            Resume(
                peer.name,
                peer.session,
                peer.channel.received if peer.line is None else COUNT_MAX,
                peer.secret,
            )
            for peer in self._node.peers.values()
            if not peer.is_client and not peer.is_over and peer.can_be_shown
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
            notes.came(node, peer, line.address)
            self._attach(peer, line, 0, credit, now)
            peer.order = order
            if node.config.recording:
                node.do(ClientOrder(peer.name, order))
                peer.claimed_again = set() if had_stream else None
            node.farewells.came(peer.name, now)
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
        notes.came(node, peer, line.address)
        self._attach(peer, line, 0, credit, now)
        place = place or LinkPlace(peer.in_tree)
        node.bring(self._link(peer.name, peer, place, restarted=bool(restarts)), now)
        former = before.channel if before is not None and restarts else None
        skipped = -1 if node.durability is None else node.durability.linked(peer, former, now)
        if before is not None and restarts:
            self._inherit(peer, before, now, skipped)
        if peer.in_tree and before is not None:
            self._report_lost(before, peer, now)
        elif peer.in_tree and had_stream and RESTART not in peer.features:
            node.bring(NotificationsMissed(peer.name, 0), now)
        elif peer.in_tree:
            self._look_back(peer, now)
        self.remember()

    def _link(self, name: str, peer: Peer, place: LinkPlace, *, restarted: bool = False) -> LinkUp:
        """What the broker is told of a link."""
        return LinkUp(
            name,
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
        else:
            self.call_roll(now)

    def call_roll(self, now: float) -> None:
        """See to it that the broker knows who is here, and nobody else."""
        node, peers = self._node, self._node.peers
        node.checking.screen(now)
        clients = tuple(name for name, one in peers.items() if one.is_client)
        node.client_count = len(clients)
        self._mirror_tree()
        links = {
            name: self._link(name, one, known_place(one))
            for name, one in peers.items()
            if not one.is_client
        }
        away = tuple(name for name in links if peers[name].line is None)
        node.bring(Roster(tuple(links.values()), away, clients + node.kept_clients), now)

    def _inherit(self, peer: Peer, before: Peer, now: float, skipped: int) -> None:
        """What was kept for the former session goes to the new one; the first few it may have.

        Of control messages only reports of losses do, and which clients have moved: the others are
        about tables, and those are told anew. A move keeps its place among the notifications, even
        if it was told anew as well: what was kept before it is older than the move.
        """
        node = self._node
        if not before.channel.is_sound:
            self._throw_away(before, now)
        is_certain = before.ended_orderly or skipped >= 0
        lost = peer.channel.inherit(
            before.channel, _outlives_sessions, is_certain=is_certain, skipped=max(0, skipped)
        )
        node.counts["given_up"] += sum(run.frames for run in lost)
        peer.given_up_seen = peer.channel.given_up
        node.rows.dropped(peer, lost, now)
        node.touch(peer)

    def end_stream(self, peer: Peer, now: float, *, is_spoilt: bool = False) -> None:
        """The stream of a peer contradicts itself: the next connection begins a new one.

        If this side itself is wrong, or what it kept is known to be spoilt, none of that is
        believed. The other side tells those concerned that anything may be missing
        (`_report_lost`), as this one does.
        """
        peer.is_over = True
        if is_spoilt or not peer.channel.is_sound:
            self._throw_away(peer, now)

    def _throw_away(self, peer: Peer, now: float) -> None:
        """Go on with an empty stream, without looking much at what the old one kept."""
        node = self._node
        before, peer.channel = peer.channel, self._new_channel(is_client=peer.is_client)
        peer.given_up_seen = 0
        with suppress(*FAULTS):
            abandoned = before.abandon()
            node.counts["abandoned"] += sum(run.frames for run in abandoned)
            node.rows.dropped(peer, abandoned, now, is_abandoned=True)

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

    def has_had(self, name: str) -> bool:
        """Whether a broker was a neighbour in the tree when that was last looked at, if known."""
        remembered: object = self._remembered
        return type(remembered) is not Remember or name in remembered.neighbours

    def forget_everything(self) -> None:
        """Begin anew: nobody is here."""
        self._believe_former()

    def _believe_former(self) -> None:
        if type(self._former) is not dict:
            self._former = {}
        if type(self._roll_at) is not float:
            self._roll_at = float("-inf")

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
        notes.came_back(node, peer, line.address, now)
        self._attach(peer, line, received, credit, now)
        node.overflow.count(peer)
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
        peer.check_at = now + node.broker.refresh_seconds * _phase(line.number)
        peer.progress_at = now
        peer.ended_orderly, peer.lost_there = False, -1
        peer.channel.withheld = node.credit.is_withheld(peer)
        granted = 0 if is_restoring or line.has_no_credit else None
        done = peer.channel.connect(received, credit, granted)
        node.rows.delivered(peer, done, now)
        if node.durability is not None:
            node.durability.released(peer, done, now)
        node.keepalive.watch(line, now)
        if line.has_no_credit:
            node.acknowledge(peer, now)  # the tables may be restored since that was said

    # Going

    def lost(self, line: Line, now: float, reason: str) -> None:
        """A line is gone: its stream waits for the next one."""
        if line.peer is not None:
            notes.lost(self._node, line.peer, reason)
            self.lose(line.peer, now)

    def lose(self, peer: Peer, now: float) -> None:
        """A peer has no line any more."""
        node = self._node
        node.counts["connections_lost"] += 1
        self._detach(peer, now)
        self._mirror_place(peer)
        if peer.is_client:
            node.bring(ClientAway(peer.name), now)
        elif is_candidate(self._node, peer):
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

    def _drop_line(
        self, peer: Peer, goodbye: Goodbye, now: float, *, lingers: bool = False
    ) -> None:
        """End the line of a peer, if there is one, and keep the peer."""
        line = peer.line
        if line is not None:
            self._detach(peer, now)
            self._node.close(line, goodbye, now, lingers=lingers)

    def remove(self, peer: Peer, goodbye: Goodbye, now: float, *, is_told: bool = False) -> None:
        """A neighbour or client is gone for good, with all it wanted.

        `is_told`: the broker knows that the neighbour is.
        """
        node = self._node
        if node.peers.get(peer.name) is not peer:
            return
        since = now if peer.away_since is None else past(peer.heard_at, now)
        if peer.line is not None:
            node.flush(peer, now)
        del node.peers[peer.name]
        node.client_count -= peer.is_client
        node.forget_peer(peer, now)
        self._drop_line(peer, goodbye, now, lingers=is_told)
        if node.durability is not None and not peer.is_client:
            node.durability.unlinked(peer)
        abandoned = peer.channel.abandon()
        count = sum(run.frames for run in abandoned)
        node.counts["abandoned"] += count
        notes.gone(node, peer, goodbye, count)
        node.rows.dropped(peer, abandoned, now, is_abandoned=True)
        if peer.is_client:
            self._client_left(peer, since, now)
        else:
            if not is_told:
                node.bring(LinkDown(peer.name), now)
            self.remember()

    def hand_off(self, peer: Peer, now: float) -> None:
        """A client goes on at another broker, with its stream and all it asked for."""
        node = self._node
        del node.peers[peer.name]
        node.client_count -= 1
        node.forget_peer(peer, now)
        node.counts["handed_over"] += 1
        node.bring(ClientHandedOver(peer.name), now)
        if node.config.recording:
            node.do(ClientOrder(peer.name, None))

    def dismiss(self, effect: Dismiss, now: float) -> None:
        """Let a client's session end that goes on elsewhere, or asks for too much."""
        peer = self._node.peers.get(effect.client)
        if peer is not None and peer.is_client:
            code = REPLACED if effect.goes_on else BUSY
            self.remove(peer, Goodbye(code, effect.reason), now)

    def reset(self, effect: ResetStream, now: float) -> None:
        """Let a stream begin anew that does not bring what it has to; what it had is reported.

        As long as it brings anything at all, or takes what waits for it (with its credit perhaps
        behind that), it is slow, not wrong. Only after many times it is not believed any more.
        """
        peer = self._node.peers.get(effect.peer)
        if peer is None or peer.line is None:
            return
        came, peer.frames_in_at_silence = peer.frames_in_at_silence, peer.frames_in
        is_slow = came != peer.frames_in or bool(peer.holders) or _is_draining(peer, now)
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
        period = node.broker.refresh_seconds
        if node.config.stabilization.refresh != "off" and is_due(self._roll_at, now, period):
            self._roll_at = now + period
            self.call_roll(now)
        for peer in list(node.peers.values()):
            if peer.channel.is_overrun and not peer.channel.is_sound:
                node.checking.contradicts(peer, "this side of the stream was spoilt", now)
            elif peer.channel.is_overrun:
                node.counts["overruns"] += 1
                goodbye = Goodbye(SLOW_CONSUMER, "too many control messages wait")
                self.remove(peer, goodbye, now)
            elif peer.is_client and self._is_past_grace(peer, now):
                self.remove(peer, Goodbye(SILENT), now)
            elif not peer.is_client:
                agree(node, peer.name, peer, now)
            else:
                let_go(node, peer.name, peer)

    def busy(self) -> tuple[str, ...]:
        """Neighbours from whom frames have come since this was last asked."""
        names = []
        for peer in self._node.peers.values():
            if not peer.is_client and peer.frames_in != peer.frames_seen:
                peer.frames_seen = peer.frames_in
                names.append(peer.name)
        return tuple(names)

    def problems(self, name: str, peer: Peer) -> Iterator[str]:
        """What is wrong with what follows from whether a peer has a line."""
        is_away = peer.line is None
        if is_away != (peer.away_since is not None) or (is_away and peer.channel.connected):
            yield f"{name} is away since {peer.away_since} and has {peer.line}"
        if not is_away and (peer.ended_orderly or peer.lost_there != -1):
            yield f"{name} has said goodbye, and is here"
        if peer.is_condemned:
            yield f"{name} is to be sent away, and is here"
        yield from link_problems(self._node, name, peer)
        if peer.channel.withheld is not self._node.credit.is_withheld(peer):
            yield f"the credit of {name} is {'' if peer.channel.withheld else 'not '}withheld"

    def derive(self, now: float) -> None:
        """Let everything follow anew from who is here and has a line."""
        node = self._node
        self._believe_former()
        for name, peer in list(node.peers.items()):
            if peer.line is not None:
                peer.away_since = None
                peer.ended_orderly, peer.lost_there = False, -1
            else:
                peer.channel.disconnect()
                if peer.away_since is None:
                    peer.away_since = now
            peer.is_condemned = False
            agree(node, name, peer, now)
            node.credit.withhold(peer, now)
        node.client_count = sum(peer.is_client for peer in node.peers.values())
        self.remember()

    def _is_past_grace(self, peer: Peer, now: float) -> bool:
        if peer.away_since is None:
            return False
        peer.away_since = past(peer.away_since, now)
        return now - peer.away_since > self._node.config.client.grace_seconds

    def _client_left(self, peer: Peer, since: float, now: float) -> None:
        """A client is gone, and has been since a time: the trace says that its wishes ended then.

        Nothing was owed to it while its stream was kept in vain, and by now it may have said the
        same to another broker.
        """
        self._node.farewells.begin(peer.name, since, now)

    def remember(self) -> None:
        """Keep for the next start who the neighbours are."""
        node = self._node
        sessions: dict[str, int] = {}
        if node.broker.is_restoring:
            sessions = {name: self._former.get(name, 0) for name in node.config.expected}
        sessions |= {name: self._former.get(name, 0) for name in node.broker.kept_for}
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


def _phase(number: int) -> float:
    """Which part of its period a line waits at first, so that not all are looked at at once."""
    return (number % _PHASES + 1) / _PHASES


def _outlives_sessions(data: bytes) -> bool:
    """Whether a control message for one session of a neighbour is for the next one, too."""
    return isinstance(CODEC.decode(data[HEADER_SIZE:]), Missed | ClientMoved | ClientsAt)


def _is_draining(peer: Peer, now: float) -> bool:
    """Whether a peer takes what waits for it, however slowly."""
    patience = 0.0 if peer.line is None else peer.line.silence
    return peer.channel.buffered > 0 and now - past(peer.progress_at, now) <= patience
