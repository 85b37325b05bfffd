"""A node: a broker with its links and clients, without sockets, files or clock.

Everything that decides whether a network survives is here and in ``link``: who may come in, who
resumes, who is a neighbour, when to acknowledge, whom to hold back, who is silent, whom to dial
and when again. A driver brings bytes and time, and does what it is asked (``ports``); the
simulator and the live runtime drive the same node.

Bytes for a line are collected while an event is handled and leave as one `Write`. Between node,
broker and streams there are direct calls: a notification costs no event of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, ClassVar, Final

from sapwood.protocol.broker import Broker
from sapwood.protocol.due import is_due
from sapwood.protocol.durable.keeping import Durability
from sapwood.protocol.durable.records import Segment
from sapwood.protocol.effects import Effect, Forward
from sapwood.protocol.events import ChangeRequested, Event, Tick
from sapwood.protocol.faults import FAULTS
from sapwood.protocol.link.admission import Admission
from sapwood.protocol.link.checking import Checking
from sapwood.protocol.link.credit import Credit
from sapwood.protocol.link.dialing import Dialing
from sapwood.protocol.link.ending import Ending
from sapwood.protocol.link.farewells import Farewells
from sapwood.protocol.link.flow import Flow
from sapwood.protocol.link.handing import HandingOver
from sapwood.protocol.link.handshake import PROTOCOL, Ack, Goodbye, LinkMessage
from sapwood.protocol.link.hearing import hear
from sapwood.protocol.link.keepalive import Keepalive
from sapwood.protocol.link.line import Frames, Line, lone_ack
from sapwood.protocol.link.membership import Membership
from sapwood.protocol.link.metering import Metering
from sapwood.protocol.link.orders import Orders
from sapwood.protocol.link.overflow import EXCESS_MAX, Overflow
from sapwood.protocol.link.peer import Peer
from sapwood.protocol.link.placing import Placing
from sapwood.protocol.link.reloading import reload
from sapwood.protocol.link.rows import Rows
from sapwood.protocol.link.states import LineState
from sapwood.protocol.link.stopping import Stopping
from sapwood.protocol.link.wiring import wiring_problems
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Data,
    DialFailed,
    Disconnected,
    DriverEffect,
    DriverEvent,
    DropMailbox,
    Fetched,
    Reload,
    Restart,
    SecretVerified,
    Stop,
    Stopped,
    Synced,
    Unsent,
    Write,
)
from sapwood.wire.frames import LINK, NOTIFICATION_TYPES
from sapwood.wire.scan import only_kind

_LEFT: Final[dict[str, type]] = {
    "_effects": list,
    "_to_write": list,
    "_to_flush": dict,
    "_to_acknowledge": dict,
    "surveys": int,
}
"""What an event leaves for its end or for the next one, and of which type it is."""


class Node:
    """One broker with its links and clients. See `sapwood.protocol.ports.Machine`."""

    def __init__(
        self,
        config: NodeConfig,
        random: Random,
        draw_secret: Callable[[], str],
        *,
        broker: Broker | None = None,
        journal: Iterable[Segment] = (),
    ) -> None:
        self.config = config
        self.draw_secret = draw_secret
        self.broker = Broker(config.broker()) if broker is None else broker
        self.peers: dict[str, Peer] = {}
        self.client_count = 0
        self.lines: dict[int, Line] = {}
        """By the driver's number: all that are not gone, those that end included."""
        self.counts: Counter[str] = Counter()
        """Of things that happened, for the metrics."""
        self.deadline = float("-inf")
        """When the next `Tick` is wanted at the latest."""
        self.changed = False
        """Whether the event that is being handled may have changed a deadline."""
        self.flow = Flow(config.link.slow_seconds, self.peers)
        self.credit = Credit(self)
        self.membership = Membership(self)
        self.placing = Placing(self)
        self.admission = Admission(self)
        self.dialing = Dialing(self, random)
        self.keepalive = Keepalive(self)
        self.ending = Ending(self)
        self.orders = Orders(self)
        self.overflow = Overflow(self)
        self.farewells = Farewells(self)
        self.checking = Checking(self)
        self.handing: HandingOver | None = None
        """How the clients go to a neighbour, before the end."""
        self.stopping: Stopping | None = None
        self.metering = Metering()
        self.durability: Durability | None = None
        """What outlives the process, where something does."""
        self.rows = Rows(self)
        self._is_recording = config.recording
        self._effects: list[DriverEffect] = []
        self._to_write: list[Line] = []
        self._to_flush: dict[str, None] = {}
        self._to_acknowledge: dict[str, None] = {}
        self._acknowledge_at = float("inf")
        self._look_at = float("-inf")
        """When everybody is to be looked at again."""
        self.surveys = 0
        self._was_restoring = self.broker.is_restoring
        if config.durability.is_on:
            self.durability = Durability(self, journal, draw_secret())

    def __repr__(self) -> str:
        return f"<node {self.config.id}.{self.config.session}>"

    def handle(self, event: DriverEvent, now: float) -> list[DriverEffect]:
        """Take an event; what the driver has to do because of it, in order."""
        if type(event) is Data:
            return self.receive(event.connection, event.data, now)
        try:
            self.changed = True
            if self.durability is not None:
                self.durability.begin(now)
            self.HANDLERS[type(event)](self, event, now)
            return self._finish(now)
        except FAULTS as fault:
            return self._recover(fault, getattr(event, "connection", 0), now)

    def receive(self, connection: int, data: bytes, now: float) -> list[DriverEffect]:
        """The same for `Data`, by far the most frequent: a read costs no event object."""
        try:
            line = self.lines.get(connection)
            if line is None:
                return [Abort(connection, "nobody knows this connection")]
            line.heard_at, peer = now, line.peer
            if peer is not None and self.peers.get(peer.name) is not peer:
                raise RuntimeError(f"{line} belongs to {peer}, whom nobody knows")
            kind = -1 if peer is None or line.rest or line.needed else only_kind(data)
            if kind in NOTIFICATION_TYPES:
                self._frames(line, data, 1, len(data), now)
            elif kind == LINK and (ack := lone_ack(data)) is not None:
                self.acknowledged(line, ack, now)
            elif line.state is not LineState.CLOSING:
                self._read(line, data, now)
            return self._finish(now)
        except FAULTS as fault:
            return self._recover(fault, connection, now)

    def _recover(self, fault: Exception, connection: int, now: float) -> list[DriverEffect]:
        """Something raised that nothing should: what it was about begins anew, or all does."""
        try:
            self.checking.impossible(fault, self.lines.get(connection), now)
            return self._finish(now)
        except FAULTS:
            if self.config.raises_faults:
                raise
            return [Restart(f"{type(fault).__name__}: {fault}")]

    def _finish(self, now: float) -> list[DriverEffect]:
        """What an event came to."""
        if self.durability is not None:
            self.durability.finish(now)
        if self._to_flush:
            self._flush_all(now)
        if self.changed or self._was_restoring:
            self._look_ahead(now)
        elif self._acknowledge_at < self.deadline:
            self.deadline = self._acknowledge_at
        effects = self._effects if type(self._effects) is list else []
        self._effects = []
        if self._to_write:
            for line in self._to_write:
                try:
                    if line.out:
                        effects.append(Write(line.number, line.take()))
                except FAULTS as fault:
                    self.checking.impossible(fault, line if type(line) is Line else None, now)
            self._to_write = []
        return effects

    def derive(self) -> None:
        """Forget what an event leaves for its end, if that cannot be right."""
        for problem in wiring_problems(self):
            raise RuntimeError(f"this session is over: {problem}")
        self._is_recording = self.config.recording
        for name, kind in _LEFT.items():
            if type(getattr(self, name)) is not kind:
                setattr(self, name, kind())
        if not all(type(at) is float for at in (self._acknowledge_at, self._look_at)):
            self._acknowledge_at, self._look_at = float("inf"), float("-inf")
        self.changed = True

    def forget_everything(self) -> None:
        """Begin anew, without peers and lines."""
        self.peers.clear()
        self.lines.clear()
        self.client_count = 0
        self._to_write, self._to_flush, self._to_acknowledge = [], {}, {}
        self.membership.forget_everything()
        for part in (self.flow, self.overflow, self.keepalive, self.admission, self.dialing):
            part.forget_everything()
        self.farewells.forget_everything()

    @property
    def kept_clients(self) -> tuple[str, ...]:
        """Clients that have no peer: durable subscriptions, and those not forgotten yet."""
        durable = () if self.durability is None else self.durability.mailboxes.clients
        return (*durable, *self.farewells.leaving)

    @property
    def is_stopping(self) -> bool:
        """Whether this broker is about to end."""
        return self.stopping is not None

    def _look_ahead(self, now: float) -> None:
        """Find out when something is due, and what follows from what happened."""
        if self.overflow.condemned:
            self.overflow.send_away(now)
        if self._was_restoring and not self.broker.is_restoring:
            self._was_restoring = False
            self.membership.restored(now)
        if self.ending.look(now):
            self.do(Stopped())
        if self._to_flush:
            self._flush_all(now)
        self.changed = False
        self.deadline = self.next_at

    @property
    def next_at(self) -> float:
        """When something is due, from the times that are kept."""
        first = min(self._acknowledge_at, self._look_at)
        for at in (
            self.broker.next_at,
            self.keepalive.next_at,
            self.admission.next_at,
            self.dialing.next_at,
            self.ending.next_at,
            self.farewells.next_at,
            None if self.durability is None else self.durability.next_at,
        ):
            if at is not None and at < first:
                first = at
        return first

    def problems(self) -> list[str]:
        """What is wrong between two events; see ``node_invariants``."""
        return node_problems(self)

    # Lines

    def connected(self, event: Connected, now: float) -> None:
        """A connection is there."""
        if event.dial and self.durability is not None and self.durability.defers_dial(event):
            return
        part = self.dialing if event.dial else self.admission
        line = part.connected(event, now)
        if line is None:
            self.do(Abort(event.connection, "nobody waits for this connection"))
        else:
            self.lines[line.number] = line

    def _disconnected(self, event: Disconnected, now: float) -> None:
        line = self.lines.pop(event.connection, None)
        if line is None:
            if self.durability is not None:
                self.durability.gone(event.connection)
            return
        was_calling = line.state is LineState.CALLING
        line.advance("end")
        self.admission.forget(line)
        if was_calling:
            self.dialing.lost(line, event.reason or "closed by the other side", now)
        self.membership.lost(line, now, event.reason or "closed by the other side")
        self.dialing.tick(now)

    def close(self, line: Line, goodbye: Goodbye, now: float, *, lingers: bool = False) -> None:
        """End a line, with a reason for the other side; what was written still goes out.

        A node that stops lets the other side end the line (`lingers`): if it closed first, what
        the other side is still sending could reset the connection before the reason is read.
        """
        if line.state is LineState.CLOSING:
            return
        if goodbye.code == PROTOCOL and line.peer is not None:
            goodbye = self.checking.broke(line.peer, goodbye, now, was_told=False)
        self.say(line, goodbye, now)
        self._end(line, now, goodbye.reason or goodbye.code)
        self.do(Write(line.number, line.take()))
        line.lingers = lingers
        if self.stopping is None and not lingers:
            self.do(Close(line.number, goodbye.reason or goodbye.code))

    def abort(self, line: Line, reason: str, now: float) -> None:
        """End a line at once."""
        if line.state is not LineState.CLOSING:
            line.out.clear()
            self._end(line, now, reason)
            self.do(Abort(line.number, reason))

    def _end(self, line: Line, now: float, reason: str) -> None:
        line.number, line.ended_at = self.checking.number_of(line), now
        line.advance("end")
        self.changed = True
        self.admission.forget(line)
        self.membership.lost(line, now, reason)

    def say(self, line: Line, message: LinkMessage, now: float) -> None:
        """Say something about a connection to its other end."""
        self._to_write.append(line)
        line.say(message)
        line.wrote_at = now

    def write(self, line: Line, data: bytes, now: float) -> None:
        """Send bytes to the other end of a connection when the event is done."""
        self._to_write.append(line)
        line.out.append(data)
        line.wrote_at = now

    def do(self, effect: DriverEffect) -> None:
        """Ask the driver for something."""
        self._effects.append(effect)

    # What comes

    def _read(self, line: Line, data: bytes, now: float) -> None:
        for piece in line.read(data):
            if line.state is LineState.CLOSING:
                return
            if type(piece) is Frames:
                self._frames(line, *piece, now)
            else:
                hear(self, line, piece, now)  # type: ignore[arg-type]
        if line.problem:
            self.close(line, Goodbye(PROTOCOL, line.problem), now)

    def _frames(self, line: Line, data: bytes, frames: int, size: int, now: float) -> None:
        """Frames of a stream came: one event for the broker, however many they are."""
        peer = line.peer
        if peer is None:
            self.close(line, Goodbye(PROTOCOL, "a frame before the handshake is done"), now)
            return
        if self.stopping is not None:
            return  # not acknowledged either: whoever sent it keeps it
        if self._is_recording:
            self.rows.published(peer, data, frames, size, now)
        self.metering.came(peer, data, frames, now + self.broker.skew)
        is_due = peer.channel.count(frames, size)
        if self.durability is not None:
            self.durability.came(peer, data, frames, size)
        try:
            effects = self.broker.receive(peer.name, data, now)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the state is wrong
            effects = self.broker.fault(problem, now)
        if len(effects) == 1 and type(effects[0]) is Forward and self.durability is None:
            self._pass_on(effects[0], peer, now)
        elif effects:
            self.carry_out(effects, now, peer)
        if size != len(data):
            self.changed = True  # a control message may wait for its time and ask for nothing yet
        if is_due:
            if self._to_flush:
                self._flush_all(now)  # a client hears of a refusal before the acknowledgement
            self._confirm(peer, now)
        elif peer.name not in self._to_acknowledge:
            self.owe_ack(peer, now)

    def acknowledged(self, line: Line, ack: Ack, now: float) -> None:
        """The other end has got something, or gives credit."""
        peer = line.peer
        if peer is None:
            return
        before = peer.channel.acknowledged
        runs = peer.channel.acknowledge(ack)
        if peer.channel.acknowledged != before:
            peer.progress_at = now
        elif ack.received != before:
            what = f"{ack.received} frames acknowledged, {peer.channel.sent} were sent"
            self.checking.contradicts(peer, what, now)
            return
        elif before == peer.channel.sent:
            peer.progress_at = now  # it owes nothing: what is sent by this credit has its own time
        if self._is_recording:
            self.rows.delivered(peer, runs, now)
        if self.durability is not None:
            self.durability.released(peer, runs, now)
        if peer.holds:
            for freed in self.flow.drained(peer):
                self.acknowledge(freed, now)
        if peer.channel.waiting:  # most have nothing waiting, and say so often
            self.flush(peer, now)
        self.changed = self.changed or self.handing is not None or self.stopping is not None

    # What the broker asks for

    def bring(self, event: Event, now: float, recorded_at: float | None = None) -> None:
        """Bring an event to the broker and do what it asks, in order."""
        self.changed = True
        effects = self.broker.handle(event, now)
        self.carry_out(effects, now, None, recorded_at)

    def carry_out(
        self,
        effects: Iterable[Effect],
        now: float,
        source: Peer | None = None,
        recorded_at: float | None = None,
    ) -> None:
        """Do what the broker asks, in order."""
        for effect in effects:
            kind = type(effect)
            if kind is Forward:
                self._forward(effect, source, now)  # type: ignore[arg-type]
                continue
            self.changed = True
            if not self.orders.carry_out(effect, now):
                at = now if recorded_at is None else recorded_at
                self.rows.asked(effect, at)  # type: ignore[arg-type]

    def _pass_on(self, effect: Forward, source: Peer, now: float) -> None:
        """A single run, as of a short read: whoever has nothing waiting gets it at once."""
        data, count, peers = effect.data, effect.count, self.peers
        for name in effect.destinations:
            try:
                peer = peers.get(name)
                if peer is None or peer.line is None or not peer.channel.pass_on(data, count):
                    self._forward(Forward((name,), data, count), source, now)
                    continue
                peer.frames_out += count
                peer.bytes_out += len(data)
                if self._is_recording:
                    self.rows.forwarded(peer, data, now)
                line = peer.line
                line.wrote_at = now
                if line.out:
                    line.out.append(data)
                else:
                    self._effects.append(Write(line.number, data))
            except FAULTS as fault:
                self.checking.impossible_for(fault, name, now)

    def _forward(self, effect: Forward, source: Peer | None, now: float) -> None:
        data, count, peers = effect.data, effect.count, self.peers
        position = 0 if self.durability is None else self.durability.forward(effect, now)
        for name in effect.destinations:
            peer = peers.get(name)
            if peer is None:
                continue
            try:
                channel = peer.channel
                given_up = channel.push(data, count, 0 if peer.is_client else position)
                self._to_flush[name] = None
                peer.frames_out += count
                peer.bytes_out += len(data)
                if self._is_recording:
                    self.rows.forwarded(peer, data, now)
                if channel.buffered > channel.limits.buffer_bytes >> 1 and source is not None:
                    self.flow.pushed(peer, source, now)
                if given_up:
                    self.overflow.gave_up(peer, given_up, now)
            except FAULTS as fault:
                self.checking.impossible_for(fault, name, now)

    # Sending and acknowledging

    def touch(self, peer: Peer) -> None:
        """Send what may be sent to a peer when the event is done."""
        self._to_flush[peer.name] = None

    def forget_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone, or another one takes its place."""
        self._to_flush.pop(peer.name, None)
        self._to_acknowledge.pop(peer.name, None)
        for freed in self.flow.forget(peer):
            self.acknowledge(freed, now)

    def _flush_all(self, now: float) -> None:
        to_flush, self._to_flush = self._to_flush, {}
        for name in to_flush:
            peer = self.peers.get(name)
            if peer is not None:
                try:
                    self.flush(peer, now)
                except FAULTS as fault:
                    self.checking.impossible_for(fault, name, now)

    def flush(self, peer: Peer, now: float) -> None:
        """Send what may be sent."""
        line = peer.line
        if line is None or not peer.channel.connected:
            return
        runs = peer.channel.take()
        if runs:
            self._to_write.append(line)
            line.out += runs
            line.wrote_at = now

    def owe_ack(self, peer: Peer, now: float) -> None:
        """Acknowledge soon what came from a peer."""
        self._to_acknowledge[peer.name] = None
        self._acknowledge_at = min(self._acknowledge_at, now + self.config.ack_seconds)

    def acknowledge(self, peer: Peer, now: float) -> None:
        """Tell a peer how far this side is, if it does not know."""
        line, channel = peer.line, peer.channel
        if line is None or not channel.connected:
            return
        channel.window = self.credit.window(is_client=peer.is_client)
        if self.broker.turning.ring is not None:
            channel.withheld = self.credit.is_withheld(peer)
        if channel.owes_ack:
            self.write(line, channel.ack(), now)

    # Time

    def _tick(self, event: Tick, now: float) -> None:
        self._do_guarded(self._acknowledge_due, now)
        for part in (self.keepalive, self.admission, self.dialing, self.farewells, self.durability):
            if part is not None:
                self._do_guarded(part.tick, now)
        congested = tuple(self.flow.congested)
        if is_due(self._look_at, now, TICK_SECONDS):
            self._look_at = now + TICK_SECONDS
            self._do_guarded(self.checking.look_for_strangers, now)
            self._do_guarded(self.membership.tick, now)
            self._do_guarded(self.overflow.tick, now)
            self._do_guarded(self.checking.tick, now)
            busy, load = self.membership.busy(), self.metering.look(self, now)
            self.bring(Tick(busy, event.handling, congested, event.skew, load), now)
        elif (at := self.broker.next_at) is not None and now >= at:
            self.bring(Tick(event.busy, event.handling, congested, event.skew), now)

    def _do_guarded(self, tick: Callable[[float], None], now: float) -> None:
        """Let a part do what is due; if it cannot, the others do all the same."""
        try:
            tick(now)
        except FAULTS as fault:
            self.checking.impossible(fault, None, now)

    def _acknowledge_due(self, now: float) -> None:
        if not is_due(self._acknowledge_at, now, self.config.ack_seconds):
            return
        self._acknowledge_at = float("inf")
        owing, self._to_acknowledge = self._to_acknowledge, {}
        for peer in [self.peers[name] for name in owing if name in self.peers]:
            self._confirm(peer, now)

    def _confirm(self, peer: Peer, now: float) -> None:
        """Acknowledge what came; send a peer away that sends far more than it may."""
        self.acknowledge(peer, now)
        if peer.line is not None and peer.channel.exceeded > EXCESS_MAX:
            goodbye = Goodbye(PROTOCOL, "sent more than it was given credit for")
            self.close(peer.line, goodbye, now)

    def _keep(self, event: Synced | Fetched | DropMailbox, now: float) -> None:
        if self.durability is not None:
            self.durability.take(event, now)

    HANDLERS: ClassVar[dict[type, Callable[[Any, Any, float], None]]] = {
        Connected: connected,
        Disconnected: _disconnected,
        DialFailed: lambda self, event, now: self.dialing.failed(event, now),
        Unsent: lambda self, event, now: self.overflow.unsent(event, now),
        Tick: _tick,
        SecretVerified: lambda self, event, now: self.admission.verified(event, now),
        **dict.fromkeys((Synced, Fetched, DropMailbox), _keep),
        Reload: reload,
        Stop: lambda self, event, now: self.ending.begin(now),
        ChangeRequested: bring,
    }
    """What is done for each kind of event: code, so that no fault changes it."""
