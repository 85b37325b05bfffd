"""A simulated client: a machine with the session of a client, and what its application has seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood.filters.values import Value
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import (
    CLIENT,
    LEAVING,
    SHUTDOWN,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Resume,
    Welcome,
)
from sapwood.protocol.link.line import HANDSHAKE_SECONDS, Frames, Line
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    Message,
    Missed,
    Refused,
    Settled,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.protocol.ports import (
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEffect,
    DriverEvent,
    Write,
)
from sapwood.wire.frames import CONTROL, decode_envelope, decode_head, encode_head
from sapwood.wire.frames import encode_notification, split

if TYPE_CHECKING:
    from sapwood.sim.faithful.host import Host

ACK_SECONDS = 0.02


class Got(NamedTuple):
    publisher: str
    sequence: int
    attributes: Mapping[str, Value]


class Gap(NamedTuple):
    count: int
    link: str


class Unconfirmed(NamedTuple):
    first: int
    last: int


class Online(NamedTuple):
    broker: str
    is_resumed: bool


class PlainSession:
    """A client's session."""

    def __init__(
        self,
        name: str,
        servers: tuple[str, ...],
        random: Random,
        *,
        network: str = "sapwood",
        silence: float = 3.0,
        limits: ChannelLimits | None = None,
        slow_policy: str = "",
    ) -> None:
        self.id, _, number = name.partition(".")
        self.session = int(number)
        self.name = name
        self.deadline = 0.0
        self.order = 0
        self.out: list[object] = []
        """What the application hears: Got, Gap, Settled, Refused, Unconfirmed."""
        self._servers = servers
        self._server = 0
        self._random = random
        self._network = network
        self._silence = silence
        self._limits = ChannelLimits(buffer_bytes=2**24, window_bytes=(limits or ChannelLimits()).window_bytes)
        self._slow_policy = slow_policy
        self._channel = Channel(self._limits)
        self._line: Line | None = None
        self._stream: tuple[str, int, str] | None = None
        self._entries: dict[tuple[str, str], Message] = {}
        self._in_flight: dict[int, int] = {}
        """Sequence of each publication by its number in the stream."""
        self._frames_kept: dict[int, bytes] = {}
        self._sequence = 0
        self._last: dict[str, int] = {}
        self._dial = 0
        self._retry_at = 0.0
        self._delay = 0.05
        self._ack_at = math.inf
        self._effects: list[object] = []
        self._closing = False
        self._ended_orderly = False

    # The door

    def handle(self, event: DriverEvent, now: float) -> list[object]:
        if isinstance(event, Connected):
            self._line = Line(event.connection, LineState.CALLING, now)
            self._retry_at = now + HANDSHAKE_SECONDS
            self._say(self._hello(), now)
        elif isinstance(event, Data):
            self._data(event, now)
        elif isinstance(event, Disconnected):
            if self._line is not None and self._line.number == event.connection:
                self._lost(now)
        elif isinstance(event, DialFailed):
            if event.dial == self._dial and self._line is None:
                self._again(now)
        else:
            self._tick(now)
        return self._done(now)

    def _done(self, now: float) -> list[object]:
        line = self._line
        if line is not None and line.is_open:
            line.out += self._channel.take()
        if line is not None and line.out:
            line.wrote_at = now
            self._effects.append(Write(line.number, line.take()))
        self.deadline = min(self._ack_at, self._retry_at, now + 0.5)
        effects, self._effects = [*self._effects, *self.out], []
        self.out = []
        return effects

    def _say(self, message: LinkMessage, now: float) -> None:
        assert self._line is not None
        self._line.say(message)

    def _hello(self) -> Hello:
        resume = ()
        if self._stream is not None:
            broker, session, secret = self._stream
            resume = (Resume(broker, session, self._channel.received, secret),)
        return Hello(
            role=CLIENT,
            network=self._network,
            id=self.id,
            session=self.session,
            resume=resume,
            credit=self._limits.window_bytes,
            silence=self._silence,
            slow_policy=self._slow_policy,
            order=self.order,
        )

    def _lost(self, now: float) -> None:
        self._line = None
        self._channel.disconnect()
        self._again(now)

    def _again(self, now: float) -> None:
        if self._closing:
            return
        self._server = (self._server + 1) % len(self._servers)
        self._retry_at = now + self._delay * self._random.uniform(0.5, 1.0)
        self._delay = min(2.0, self._delay * 2)

    def _tick(self, now: float) -> None:
        line = self._line
        if now >= self._ack_at:
            self._ack_at = math.inf
            if line is not None and line.is_open and self._channel.owes_ack:
                line.out.append(self._channel.ack())
        if line is not None and line.is_open:
            if now - line.heard_at > self._silence:
                self._effects.append(Abort(line.number, "silent"))
                self._lost(now)
            elif now - line.wrote_at > (line.silence or self._silence) / 4:
                self._say(Ping(), now)
        elif now >= self._retry_at and not self._closing:
            self._retry_at = math.inf
            if line is not None:
                self._effects.append(Abort(line.number, "no answer"))
                self._lost(now)
                return
            self._dial += 1
            self._retry_at = now + 10.0
            self._effects.append(Dial(self._dial, self._servers[self._server]))

    # What comes

    def _data(self, event: Data, now: float) -> None:
        line = self._line
        if line is None or line.number != event.connection:
            return
        line.heard_at = now
        for piece in line.read(event.data):
            if self._line is not line:
                return
            if type(piece) is Frames:
                self._frames(piece, now)
            else:
                self._said(piece, now)
        assert not line.problem, line.problem

    def _frames(self, frames: Frames, now: float) -> None:
        assert self._line is not None
        for kind, head, body in split(frames.data):
            if kind == CONTROL:
                self._told(CODEC.decode(body))
                continue
            publisher, attributes = decode_head(head)
            sequence = decode_envelope(body).sequence
            if sequence > self._last.get(publisher, 0):
                self._last[publisher] = sequence
                self.order += 1
                self.out.append(Got(publisher, sequence, attributes))
        if self._channel.count(frames.frames, frames.size):
            self._line.out.append(self._channel.ack())
        else:
            self._ack_at = min(self._ack_at, now + ACK_SECONDS)

    def _said(self, message: LinkMessage, now: float) -> None:
        line = self._line
        assert line is not None
        if isinstance(message, Welcome):
            line.state = LineState.OPEN
            line.silence = message.silence
            self._retry_at = math.inf
            self._delay = 0.05
            self.out.append(Online(message.id, message.resumed is not None))
            if message.resumed is not None:
                self._confirm(message.resumed)
                self._channel.connect(message.resumed, message.credit)
            else:
                self._begin(message)
        elif isinstance(message, Ack):
            self._confirm(message.received)
            self._channel.acknowledge(message)
        elif isinstance(message, GivenUp):
            self._channel.miss(message.count)
            self._ack_at = min(self._ack_at, now + ACK_SECONDS)
            self.out.append(Gap(message.count, "here"))
        elif isinstance(message, Ping):
            self._say(Pong(message.number), now)
        elif isinstance(message, Goodbye):
            self._effects.append(Abort(line.number, message.reason))
            if message.code == SHUTDOWN:
                self._ended_orderly = True
            self._lost(now)

    def _begin(self, welcome: Welcome) -> None:
        again: list[int] = []
        if self._stream is None or self._ended_orderly:
            again = list(self._in_flight.values())
        else:
            for sequence in self._in_flight.values():
                self.out.append(Unconfirmed(sequence, sequence))
        if self._stream is not None:
            self.out.append(Gap(0, "new broker"))
        before = self._frames_kept
        self._ended_orderly = False
        self._in_flight = {}
        self._channel = Channel(self._limits)
        self._channel.connect(0, welcome.credit)
        self._stream = (welcome.id, welcome.session, welcome.secret)
        for message in self._entries.values():
            self._channel.push_control(CODEC.encode(message))
        for sequence in again:
            self._push(sequence, before[sequence])

    
    def _push(self, sequence: int, frame: bytes) -> None:
        self._channel.push(frame, 1)
        self._in_flight[self._channel.last] = sequence
        self._frames_kept[sequence] = frame

    def _confirm(self, received: int) -> None:
        for number in [one for one in self._in_flight if one <= received]:
            del self._frames_kept[self._in_flight.pop(number)]

    def _told(self, message: Message) -> None:
        if isinstance(message, Missed):
            self.out.append(Gap(message.count, message.link))
        else:
            self.out.append(message)

    @property
    def is_connected(self) -> bool:
        return self._line is not None and self._line.is_open

    def close(self, now: float) -> list[object]:
        self._closing = True
        if self._line is not None:
            self._say(Goodbye(LEAVING), now)
            effects = self._done(now)
            return [*effects, Close(self._line.number)]
        return []

    # What the application does

    def claim(self, message: Message, now: float) -> list[object]:
        if isinstance(message, Subscribe | Advertise):
            self._entries[type(message).__name__, message.id] = message
        elif isinstance(message, Unsubscribe):
            self._entries.pop(("Subscribe", message.id), None)
        elif isinstance(message, Unadvertise):
            self._entries.pop(("Advertise", message.id), None)
        if self._stream is not None:
            self._channel.push_control(CODEC.encode(message))
        return self._done(now)

    def publish(
        self, attributes: Mapping[str, Value], payload: bytes, expires_at: float, now: float
    ) -> tuple[int, list[object]]:
        self._sequence += 1
        self.order += 1
        frame = encode_notification(
            encode_head(self.name, attributes), self._sequence, now, payload, expires_at
        )
        self._push(self._sequence, frame)
        return self._sequence, self._done(now)


class Delivery(NamedTuple):
    """A notification that an application has got."""

    at: float
    publisher: str
    sequence: int


class Report(NamedTuple):
    """An application was told that it missed notifications."""

    at: float
    count: int
    link: str


class Publication(NamedTuple):
    """A notification that an application has published."""

    at: float
    sequence: int
    attributes: Mapping[str, Value]


class Answer(NamedTuple):
    """A request was answered."""

    at: float
    request: int
    is_settled: bool


class Home(NamedTuple):
    """A stream with a broker has begun."""

    at: float
    broker: str


class FaithfulClient:
    """One session of a client: the machine, and what its application did and has seen."""

    host: Host

    def __init__(
        self, session: str, servers: tuple[str, ...], random: Random, **options: Any
    ) -> None:
        self.session = session
        self.machine = PlainSession(session, servers, random, **options)
        self.events: list[Delivery | Publication] = []
        """What it published and got, in its own order."""
        self.reports: list[Report] = []
        self.answers: list[Answer] = []
        """What was answered to requests, in order; a new broker answers again."""
        self.homes: list[Home] = []
        """The brokers it was connected to, in order; a resumed stream is none of its own."""
        self.refused: list[str] = []
        self.unconfirmed: set[int] = set()
        """Sequence numbers of publications that perhaps no broker has got."""
        self._requests = 0

    def next_request(self) -> int:
        """A number for a request to be told."""
        self._requests += 1
        return self._requests

    @property
    def deliveries(self) -> list[Delivery]:
        """What it got, in order."""
        return [event for event in self.events if isinstance(event, Delivery)]

    @property
    def publications(self) -> list[Publication]:
        """What it published, in order."""
        return [event for event in self.events if isinstance(event, Publication)]

    def home(self, at: float) -> str:
        """The broker of its stream at a time; empty before the first one."""
        return next((home.broker for home in reversed(self.homes) if home.at <= at), "")

    def is_settled(self, request: int) -> bool | None:
        """The last answer to a request; None if there is none."""
        answers = (one.is_settled for one in reversed(self.answers) if one.request == request)
        return next(answers, None)

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection that it takes for alive."""
        return self.machine.is_connected

    # What the application does

    def ask(self, message: Message, now: float) -> Sequence[object]:
        """Subscribe, advertise, or the opposite."""
        return self.machine.claim(message, now)

    def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes,
        expires_at: float,
        now: float,
        at: float,
    ) -> Sequence[object]:
        """Publish a notification."""
        sequence, effects = self.machine.publish(attributes, payload, expires_at, now)
        self.events.append(Publication(at, sequence, attributes))
        return effects

    def close(self, now: float) -> Sequence[object]:
        """End the session."""
        return self.machine.close(now)

    # What it hears

    def hear(self, output: object, at: float) -> None:
        """Take what the session tells its application."""
        if isinstance(output, Got):
            self.events.append(Delivery(at, output.publisher, output.sequence))
        elif isinstance(output, Gap):
            self.reports.append(Report(at, output.count, output.link))
        elif isinstance(output, Settled):
            self.answers.append(Answer(at, output.request, output.settled))
        elif isinstance(output, Online):
            if not output.is_resumed:
                self.homes.append(Home(at, output.broker))
        elif isinstance(output, Refused):
            self.refused.append(output.reason)
        elif isinstance(output, Unconfirmed):
            self.unconfirmed.update(range(output.first, output.last + 1))
