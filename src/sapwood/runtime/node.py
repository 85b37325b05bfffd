"""A live broker: the pure one (``sapwood.protocol``) with sockets, timers and a clock.

Each read becomes one event; what the broker asks for is done before the next one. Bytes for a
destination are collected and leave in one write. Streams outlive connections (see
``sapwood.protocol.channel``): a neighbour without connection is *away*, not gone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from importlib.metadata import version
from typing import Final

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.channel import Channel
from sapwood.protocol.effects import Effect, Forward, Record, Send, SetTimer
from sapwood.protocol.events import (
    Away,
    Back,
    ClientDown,
    ClientUp,
    Event,
    Fired,
    GaveUp,
    Inspect,
    LinkDown,
    LinkUp,
    Received,
)
from sapwood.protocol.handshake import (
    LEAVING,
    PROTOCOL,
    REPLACED,
    SHUTDOWN,
    SLOW_CONSUMER,
    Ack,
    GivenUp,
    Goodbye,
    LinkMessage,
    Ping,
    Pong,
    Resume,
)
from sapwood.protocol.messages import CODEC, Refused, Surveyed
from sapwood.protocol.spool import Run
from sapwood.runtime.clock import Clock
from sapwood.runtime.config.settings import ClientSettings, LinkSettings, Settings
from sapwood.runtime.connection import Connection
from sapwood.runtime.flow import DISCONNECT, Flow
from sapwood.runtime.peer import Peer
from sapwood.runtime.recording import ABANDONED, NO_ROOM, Recording
from sapwood.runtime.tracing import Tracer
from sapwood.runtime.upkeep import EXCESS_MAX, Upkeep
from sapwood.trace.schema import RunSettings

_WINDOW_MIN: Final = 4096
"""Bytes that everybody may send ahead, however many there are."""


class Node:
    """A broker on an event loop."""

    def __init__(self, settings: Settings, session: int) -> None:
        self.settings = settings
        self.session = session
        self.clock = Clock()
        self.broker = Broker(
            BrokerConfig(
                id=settings.id,
                session=session,
                advertisements_required=settings.advertisements == "required",
                settle_interval=settings.settle_interval_seconds,
                settle_patience=settings.settle_patience_seconds,
                remembered_max=settings.remembered_max,
                addresses=settings.advertise,
                admin=settings.admin,
                release=version("sapwood"),
                recording=bool(settings.trace.directory),
            )
        )
        self.peers: dict[str, Peer] = {}
        self.client_count = 0
        self.dialling = asyncio.Lock()
        """Held by whoever asks to be let in somewhere: two ways into one tree at the same time
        would not know of each other."""
        self.flow = Flow(settings.link.slow_seconds)
        self.counts: Counter[str] = Counter()
        """Of things that happened, for the metrics."""
        self.tracer: Tracer | None = None
        self._recording: Recording | None = None
        if settings.trace.directory:
            required = self.broker.config.advertisements_required
            self.tracer = Tracer(
                settings.trace,
                settings.id,
                session,
                RunSettings(advertisements_required=required),
            )
            self._recording = Recording(self.tracer, settings.id)
        self._of: dict[Connection, Peer] = {}
        self._connections: set[Connection] = set()
        """All that are not gone, those that end included."""
        self._all_gone = asyncio.Event()
        self._all_gone.set()
        self._upkeep = Upkeep(self)
        self._touched: dict[Peer, None] = {}
        self._owing: dict[Peer, None] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._surveys: dict[int, asyncio.Future[Surveyed]] = {}
        self._survey_count = 0
        self._answers: dict[Peer, asyncio.Future[None]] = {}
        self._ack_timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # Life

    def start(self) -> None:
        """Begin, on the running event loop."""
        self._loop = asyncio.get_running_loop()
        if self.tracer is not None:
            self.tracer.start(self.clock.now())
        self._upkeep.start()

    async def stop(self) -> None:
        """Tell everybody, let them have what is theirs, and end.

        A broker at the edge of the tree leaves it; one in the middle may be back soon, so its
        neighbours keep what goes to it.
        """
        clients = [peer for peer in self.peers.values() if peer.is_client]
        links = [peer for peer in self.peers.values() if not peer.is_client]
        deadline = self.clock.now() + self.settings.leave_seconds
        await self._drained(clients, deadline - self.settings.leave_seconds / 2)
        for peer in clients:
            self.remove(peer, Goodbye(SHUTDOWN, f"broker {self.settings.id} is shutting down"))
        await self._drained(links, deadline)
        is_leaf = sum(peer.in_tree for peer in links) <= 1
        for peer in links:
            if peer.connection is not None:
                peer.acknowledge()
                code = LEAVING if is_leaf else SHUTDOWN
                peer.connection.close(Goodbye(code, f"broker {self.settings.id} shuts down"))
        self._upkeep.stop()
        for handle in (self._ack_timer, *self._timers.values()):
            if handle is not None:
                handle.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, deadline - self.clock.now())):
                await self._all_gone.wait()
        for connection in list(self._connections):
            connection.abort("the broker is shutting down")
        if self.tracer is not None:
            await asyncio.to_thread(self.tracer.close, self.clock.now())

    async def _drained(self, peers: list[Peer], deadline: float) -> None:
        """Wait until those who are connected have all that is theirs by now."""
        wanted = {peer: peer.channel.last for peer in peers}
        while self.clock.now() < deadline:
            if not any(
                peer.channel.connected and peer.channel.acknowledged < last
                for peer, last in wanted.items()
            ):
                return
            await asyncio.sleep(self.settings.ack_seconds / 2)

    # Who comes and goes

    def new_channel(self, *, is_client: bool) -> Channel:
        """The stream to a new neighbour or client."""
        limits = self.settings.client if is_client else self.settings.link
        channel = Channel(limits.channel(), splits_runs=is_client and self.tracer is not None)
        channel.window = self.window(limits)
        return channel

    def resumes(self) -> tuple[Resume, ...]:
        """The streams to neighbours that have no connection, for a hello to any of them."""
        return tuple(
            Resume(peer.name, peer.session, peer.channel.received)
            for peer in self.peers.values()
            if not peer.is_client and peer.connection is None
        )

    def window(self, limits: LinkSettings | ClientSettings) -> int:
        """How many bytes someone may send ahead.

        All together no more than half of a link's buffer: when a neighbour does not keep up, those
        who send to it are held back at half, and what is under way then must still fit. The more
        there are, the less each may send ahead.
        """
        share = self.settings.link.buffer_bytes // 2 // (len(self.peers) + 1)
        return min(limits.window_bytes, max(share, _WINDOW_MIN))

    def enter(
        self, peer: Peer, connection: Connection, credit: int, *, had_stream: bool = False
    ) -> None:
        """A neighbour or client is there, with a new stream.

        One of the same name that was there before ends. If there was a stream, here or on the
        other side, then what the other side had still to send over it is missed.
        """
        before = self.peers.get(peer.name)
        if before is not None:
            self.remove(before, Goodbye(REPLACED, "a newer session of the same id is here"))
        self.peers[peer.name] = peer
        self.client_count += peer.is_client
        self._attach(peer, connection, 0, credit)
        if peer.is_client:
            self.handle(ClientUp(peer.name))
            return
        routing = self.settings.routing
        self.handle(LinkUp(peer.name, peer.in_tree, sends=routing, receives=routing))
        if peer.in_tree and (had_stream or before is not None):
            self.handle(GaveUp(peer.name, 0))

    def come_back(self, peer: Peer, connection: Connection, received: int, credit: int) -> None:
        """A neighbour or client goes on with its stream over a new connection."""
        old = peer.connection
        if old is not None:
            self._of.pop(old, None)
            old.close(Goodbye(REPLACED, "the other side has connected again"))
            self._detach(peer)
        self._attach(peer, connection, received, credit)
        self._count_losses(peer)
        self.counts["resumed"] += 1
        if not peer.is_client:
            self.handle(Back(peer.name))
        self._touch(peer)
        self._flush()

    def _attach(self, peer: Peer, connection: Connection, received: int, credit: int) -> None:
        connection.owner = self
        connection.is_open = True
        connection.heard_at = connection.wrote_at = self.clock.now()
        self._connections.add(connection)
        self._all_gone.clear()
        self._upkeep.heed(connection.silence)
        peer.connection = connection
        peer.disconnected.clear()
        peer.away_since = None
        self._got(peer, peer.channel.connect(received, credit))
        self._of[connection] = peer

    def _detach(self, peer: Peer) -> None:
        now = self.clock.now()
        connection, peer.connection = peer.connection, None
        if connection is not None:
            peer.heard_at = now if connection.has_heard else connection.heard_at
        peer.disconnected.set()
        peer.channel.disconnect()
        peer.away_since = now
        self.flow.release(peer)

    def remove(self, peer: Peer, goodbye: Goodbye) -> None:
        """A neighbour or client is gone for good, with all it wanted."""
        if self.peers.get(peer.name) is not peer:
            return
        since = self.clock.now() if peer.away_since is None else peer.heard_at
        del self.peers[peer.name]
        self.client_count -= peer.is_client
        self._touched.pop(peer, None)
        self._owing.pop(peer, None)
        self.flow.forget(peer)
        if peer.connection is not None:
            self._of.pop(peer.connection, None)
            peer.flush()
            peer.connection.close(goodbye)
            self._detach(peer)
        self._abandon(peer)
        if peer.is_client:
            self._client_left(peer, since)
        else:
            self.handle(LinkDown(peer.name))

    def _abandon(self, peer: Peer) -> None:
        abandoned = peer.channel.abandon()
        self.counts["abandoned"] += sum(run.frames for run in abandoned)
        if self._recording is not None:
            self._recording.dropped(self.clock.now(), peer, abandoned, ABANDONED)

    def _client_left(self, peer: Peer, since: float) -> None:
        """A client is gone, and has been since a time: the trace says that its claims ended then.

        Nothing was owed to it while its stream was kept in vain, and by now it may have said the
        same to another broker.
        """
        now = self.clock.now()
        effects = self.broker.handle(ClientDown(peer.name), now)
        if self._recording is not None:
            for effect in effects:
                if isinstance(effect, Record):
                    self._recording.asked(since, effect)
            self._recording.left(peer)
        others: list[Effect] = [one for one in effects if not isinstance(one, Record)]
        self._carry_out(others, now, None)
        self._flush()

    def connected(self) -> list[tuple[Connection, Peer]]:
        """All connections whose other side has introduced itself."""
        return list(self._of.items())

    async def is_alive(self, peer: Peer, patience: float) -> bool:
        """Whether the other side of a connection answers."""
        if peer.connection is None:
            return False
        answer = self._answers.setdefault(peer, asyncio.get_running_loop().create_future())
        peer.connection.say(Ping())
        done, _ = await asyncio.wait([answer], timeout=patience)
        self._answers.pop(peer, None)
        return bool(done)

    # What a connection brings

    def received(self, connection: Connection, data: bytes, frames: int, size: int) -> None:
        """Frames of a stream came: one event, however many they are."""
        peer = self._of.get(connection)
        if peer is None:
            return
        now = self.clock.now()
        if self._recording is not None:
            self._recording.published(now, peer, data)
        peer.frames_in += frames
        is_due = peer.channel.count(frames, size)
        effects = self.broker.handle(Received(peer.name, data), now)
        if len(effects) == 1 and type(effects[0]) is Forward:
            self._pass_on(effects[0], now, peer)
        else:
            self._carry_out(effects, now, peer)
        if self._touched:
            self._flush()  # a client hears of a refusal before the acknowledgement
        if is_due:
            self._acknowledge(peer)
            if peer.channel.exceeded > EXCESS_MAX:
                connection.close(Goodbye(PROTOCOL, "sent more than it was given credit for"))
        else:
            self._owing[peer] = None
            if self._ack_timer is None:
                assert self._loop is not None
                self._ack_timer = self._loop.call_later(self.settings.ack_seconds, self._ack_all)

    def said(self, connection: Connection, message: LinkMessage) -> None:
        """The other end said something about the connection."""
        peer = self._of.get(connection)
        if peer is None:
            return
        if type(message) is Ack:
            self._acknowledged(peer, message)
        elif type(message) is GivenUp:
            peer.channel.miss(message.count)
            if not peer.is_client:
                self.handle(GaveUp(peer.name, message.count))
        elif type(message) is Ping:
            connection.say(Pong(message.number))
        elif type(message) is Pong:
            answer = self._answers.get(peer)
            if answer is not None and not answer.done():
                answer.set_result(None)
        elif type(message) is Goodbye:
            self._told_goodbye(peer, connection, message)
        else:
            reason = f"{type(message).__name__} after the handshake"
            connection.close(Goodbye(PROTOCOL, reason))

    def _acknowledged(self, peer: Peer, ack: Ack) -> None:
        self._got(peer, peer.channel.acknowledge(ack))
        if peer.holds:
            self.flow.drained(peer)
        peer.flush()

    def _got(self, peer: Peer, runs: list[Run]) -> None:
        if self._recording is not None:
            self._recording.delivered(self.clock.now(), peer, runs)

    def _told_goodbye(self, peer: Peer, connection: Connection, goodbye: Goodbye) -> None:
        if goodbye.code == LEAVING:
            self.remove(peer, Goodbye(LEAVING))
        else:
            connection.abort(goodbye.reason or goodbye.code)

    def lost(self, connection: Connection, reason: str) -> None:
        """A connection is gone: its stream waits for the next one."""
        self._connections.discard(connection)
        if not self._connections:
            self._all_gone.set()
        peer = self._of.pop(connection, None)
        if peer is None:
            return
        self.counts["connections_lost"] += 1
        self._detach(peer)
        if not peer.is_client:
            self.handle(Away(peer.name))

    # What the broker asks for

    def handle(self, event: Event) -> None:
        """Bring an event to the broker and do what it asks, in order."""
        now = self.clock.now()
        self._carry_out(self.broker.handle(event, now), now, None)
        self._flush()

    def _carry_out(self, effects: list[Effect], now: float, source: Peer | None) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Forward:
                self._forward(effect, now, source)  # type: ignore[arg-type]
            elif kind is Send:
                self._send(effect)  # type: ignore[arg-type]
            elif kind is SetTimer:
                self._set_timer(effect, now)  # type: ignore[arg-type]
            elif self._recording is not None:
                self._recording.asked(now, effect)  # type: ignore[arg-type]

    def _pass_on(self, effect: Forward, now: float, source: Peer) -> None:
        """A single run, as of a short read: whoever has nothing waiting gets it at once."""
        data, count, peers = effect.data, effect.count, self.peers
        for name in effect.destinations:
            peer = peers.get(name)
            if peer is None or peer.connection is None or not peer.channel.pass_on(data, count):
                self._forward(Forward((name,), data, count), now, source)
                continue
            peer.frames_out += count
            if self._recording is not None:
                self._recording.forwarded(now, peer, data)
            peer.connection.write(data)

    def _forward(self, effect: Forward, now: float, source: Peer | None) -> None:
        data, count, peers = effect.data, effect.count, self.peers
        for name in effect.destinations:
            peer = peers.get(name)
            if peer is None:
                continue
            channel = peer.channel
            given_up = channel.push(data, count)
            self._touched[peer] = None
            peer.frames_out += count
            if self._recording is not None:
                self._recording.forwarded(now, peer, data)
            if channel.buffered > channel.limits.buffer_bytes >> 1 and source is not None:
                self.flow.pushed(peer, source, now)
            if given_up:
                self._overflown(peer, given_up)

    def shed(self, peer: Peer, size: int) -> None:
        """Give up the oldest notifications for somebody until no more than a size is left."""
        self._given_up(peer, peer.channel.shed(size))

    def _given_up(self, peer: Peer, runs: list[Run]) -> None:
        self._count_losses(peer)
        if self._recording is not None:
            self._recording.dropped(self.clock.now(), peer, runs, NO_ROOM)

    def _overflown(self, peer: Peer, given_up: list[Run]) -> None:
        """A destination's buffer was full, and the oldest notifications in it were given up."""
        self._given_up(peer, given_up)
        if peer.is_client and peer.slow_policy == DISCONNECT and not peer.is_condemned:
            peer.is_condemned = True
            self.counts["slow_clients_disconnected"] += 1
            goodbye = Goodbye(SLOW_CONSUMER, "the client does not keep up with what it subscribed")
            assert self._loop is not None
            self._loop.call_soon(self.remove, peer, goodbye)

    def _count_losses(self, peer: Peer) -> None:
        given_up = peer.channel.given_up
        self.counts["given_up"] += given_up - peer.given_up_seen
        peer.given_up_seen = given_up

    def _send(self, effect: Send) -> None:
        peer = self.peers.get(effect.destination)
        if peer is not None:
            push = peer.channel.push_control
            if type(effect.message) is Refused:
                push = peer.channel.push_refusal
            push(CODEC.encode(effect.message))
            self._touched[peer] = None
        elif effect.destination == self.settings.id and isinstance(effect.message, Surveyed):
            survey = self._surveys.pop(effect.message.request, None)
            if survey is not None and not survey.done():
                survey.set_result(effect.message)

    async def survey(self) -> Surveyed:
        """Who is in the network on this side; a TimeoutError if that does not come to light."""
        self._survey_count += 1
        number = self._survey_count
        survey: asyncio.Future[Surveyed] = asyncio.get_running_loop().create_future()
        self._surveys[number] = survey
        self.handle(Inspect(number))
        try:
            async with asyncio.timeout(self.settings.settle_patience_seconds):
                return await survey
        finally:
            self._surveys.pop(number, None)

    def _set_timer(self, effect: SetTimer, now: float) -> None:
        assert self._loop is not None
        old = self._timers.pop(effect.timer, None)
        if old is not None:
            old.cancel()
        delay = max(0.0, effect.at - now)
        self._timers[effect.timer] = self._loop.call_later(delay, self._fire, effect.timer)

    def _fire(self, timer: str) -> None:
        self._timers.pop(timer, None)
        self.handle(Fired(timer))

    # Regular work

    def _touch(self, peer: Peer) -> None:
        self._touched[peer] = None

    def _flush(self) -> None:
        touched = self._touched
        if touched:
            self._touched = {}
            for peer in touched:
                peer.flush()

    def _ack_all(self) -> None:
        self._ack_timer = None
        owing, self._owing = self._owing, {}
        for peer in owing:
            self._acknowledge(peer)

    def _acknowledge(self, peer: Peer) -> None:
        settings = self.settings
        peer.channel.window = self.window(settings.client if peer.is_client else settings.link)
        peer.acknowledge()
