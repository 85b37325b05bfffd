"""A session and scripted brokers, joined in memory and in virtual time.

A connection can be made to break after so many bytes in one direction: what is behind them is
lost, and both ends learn that the connection is gone.
"""

from __future__ import annotations

from collections import deque
from math import inf
from random import Random
from typing import Any

from sapwood.protocol.client.config import SessionConfig
from sapwood.protocol.client.delivered import Delivered
from sapwood.protocol.client.deliveries import Gap, Inbox
from sapwood.protocol.client.session import ClientSession
from sapwood.protocol.events import Tick
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import (
    Ack,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Welcome,
)
from sapwood.protocol.link.line import Frames, Line
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import (
    CODEC,
    Message,
    Settled,
    Subscribe,
    Survey,
    Surveyed,
    Unsubscribe,
)
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    Write,
)
from sapwood.wire.frames import (
    CONTROL,
    NOTIFICATION_TYPES,
    decode_envelope,
    encode_head,
    encode_notification,
    frame,
    split,
)


def notification(publisher: str, sequence: int, **attributes: Any) -> bytes:
    """The frame of a notification."""
    return encode_notification(encode_head(publisher, attributes), sequence, 1.0)


class Broker:
    """The broker's end: it admits, resumes with the right secret, accepts and acknowledges."""

    def __init__(self, name: str = "B1", session: int = 1, **welcome: Any) -> None:
        self.name = name
        self.session = session
        self.is_up = True
        self.homes: tuple[tuple[str, int], ...] = ()
        """Brokers and sessions whose streams go on here."""
        self.refusal: Goodbye | None = None
        """What is said to whoever comes, if they are not let in."""
        self.is_deaf = False
        """Whether it reads and says nothing, as if it stood still."""
        self.acknowledges = True
        self.settles = True
        self.resumes = True
        self.hellos: list[Hello] = []
        self.heard: list[LinkMessage] = []
        self.requests: list[Message] = []
        self.published: list[int] = []
        """Sequence numbers, in the order in which they came."""
        self.secret = ""
        self.channel = Channel(ChannelLimits())
        self.line: Line | None = None
        self._has_stream = False
        self._welcome = welcome

    def connect(self, number: int) -> None:
        self.line = Line(number, LineState.GREETING, 0.0)

    def disconnect(self) -> None:
        self.line = None
        self.channel.disconnect()

    def read(self, data: bytes) -> None:
        """Take bytes of the client."""
        line = self.line
        if line is None or self.is_deaf:
            return
        for piece in line.read(data):
            if isinstance(piece, Frames):
                self._take_frames(line, piece)
            else:
                self._hear(line, piece)
        assert not line.problem, line.problem

    def _take_frames(self, line: Line, run: Frames) -> None:
        self.channel.count(run.frames, run.size)
        for kind, head, body in split(run.data):
            if kind in NOTIFICATION_TYPES:
                self.published.append(decode_envelope(body).sequence)
            elif kind == CONTROL:
                self._asked(CODEC.decode(body))
            else:
                raise AssertionError(frame(kind, head, body))
        if self.acknowledges:
            line.out.append(self.channel.ack())
        self.flush()

    def _asked(self, message: Message) -> None:
        self.requests.append(message)
        if isinstance(message, Subscribe | Unsubscribe) and message.request and self.settles:
            self.tell(Settled(message.request, settled=True))
        elif isinstance(message, Survey):
            self.tell(Surveyed(message.request, ()))

    def _hear(self, line: Line, message: LinkMessage) -> None:
        self.heard.append(message)
        if isinstance(message, Hello):
            self.hellos.append(message)
            self._greet(line, message)
        elif isinstance(message, Ack):
            self.channel.acknowledge(message)
            self.flush()
        elif isinstance(message, Ping):
            line.say(Pong(message.number))

    def adopt(self, other: Broker) -> None:
        """Go on with the stream of another broker."""
        self.homes = ((other.name, other.session),)
        self.channel, self.secret, self._has_stream = other.channel, other.secret, True

    def _greet(self, line: Line, hello: Hello) -> None:
        if self.refusal is not None:
            line.say(self.refusal)
            return
        homes = ((self.name, self.session), *self.homes)
        found = [one for one in hello.resume if (one.broker, one.session) in homes]
        resumed = None
        line.state = LineState.OPEN
        if (
            self.resumes
            and found
            and self._has_stream
            and found[0].secret == self.secret
            and self.channel.can_connect(found[0].received)
        ):
            resumed = self.channel.received
        else:
            self.channel = Channel(ChannelLimits())
            self.secret = f"secret {len(self.hellos)} of {self.name}"
        self._has_stream = True
        welcome = {"credit": 2**20, "silence": 30.0, **self._welcome}
        line.say(
            Welcome(
                id=self.name,
                session=self.session,
                version=1,
                resumed=resumed,
                secret=self.secret,
                **welcome,
            )
        )
        self.channel.connect(0 if resumed is None else found[0].received, hello.credit)
        self.flush()

    # What a test lets it do

    def say(self, message: LinkMessage) -> None:
        assert self.line is not None
        self.line.say(message)

    def tell(self, message: Message) -> None:
        self.channel.push_control(CODEC.encode(message))
        self.flush()

    def send(self, *frames: bytes) -> None:
        self.channel.push(b"".join(frames), len(frames))
        self.flush()

    def flush(self) -> None:
        if self.line is not None and self.channel.connected:
            self.line.out += self.channel.take()


class _Connection:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.left = {"up": inf, "down": inf}
        """Bytes that come through in a direction before the connection breaks."""


class Play:
    """A session with its brokers, by address; everything is done at once, in order."""

    def __init__(self, *brokers: Broker, seed: int = 1, **config: Any) -> None:
        self.brokers = {broker.name: broker for broker in brokers}
        given = {"id": "c", "session": 7, "servers": tuple(self.brokers), **config}
        self.session = ClientSession(SessionConfig(**given), Random(seed))
        self.now = 100.0
        self.effects: list[object] = []
        """All that the session has asked for, in order, bytes excepted."""
        self.dials: list[str] = []
        self._connections: dict[int, _Connection] = {}
        self._numbers = 0
        self._events: deque[Any] = deque()
        self._next_cuts: deque[tuple[str, int]] = deque()

    def open(self) -> Play:
        self.session.open(self.now)
        return self.flush()

    def outputs(self, *kinds: type[Any]) -> list[Any]:
        """The effects of some kinds, all of them if none is named; they are forgotten."""
        found = [one for one in self.effects if not kinds or isinstance(one, kinds)]
        self.effects = []
        return found

    def flush(self) -> Play:
        """Let the session send, and everybody answer until nothing moves any more."""
        self._perform(self.session.flush(self.now))
        while self._move():
            while self._events:
                self._perform(self.session.handle(self._events.popleft(), self.now))
        return self

    def wait(self, seconds: float) -> Play:
        """Let time pass."""
        end = self.now + seconds
        tick = self.now
        while self.now < end:
            tick = self.now + TICK_SECONDS
            self.now = min(end, tick, max(self.session.deadline, self.now + 0.001))
            self._perform(self.session.handle(Tick(), self.now))
            self.flush()
        return self

    def cut(self) -> Play:
        """Break the connection that is there, at once."""
        for number in list(self._connections):
            self._break(number, "cut")
        return self.flush()

    def cut_after(self, direction: str, size: int) -> None:
        """Break the next connection after so many bytes in a direction; calls add up."""
        self._next_cuts.append((direction, size))

    # The driver

    def _perform(self, effects: list[object]) -> None:
        for effect in effects:
            if not isinstance(effect, Write):
                self.effects.append(effect)
            if isinstance(effect, Write):
                self._carry(effect.connection, "up", effect.data)
            elif isinstance(effect, Dial):
                self._dial(effect)
            elif isinstance(effect, Close | Abort) and effect.connection in self._connections:
                self._break(effect.connection, effect.reason)

    def _dial(self, effect: Dial) -> None:
        self.dials.append(effect.address)
        broker = self.brokers[effect.address]
        if not broker.is_up:
            self._events.append(DialFailed(effect.dial, f"cannot reach {broker.name}"))
            return
        self._numbers += 1
        connection = self._connections[self._numbers] = _Connection(broker)
        if self._next_cuts:
            direction, size = self._next_cuts.popleft()
            connection.left[direction] = size
        broker.connect(self._numbers)
        self._events.append(Connected(self._numbers, effect.dial, "there"))

    def _carry(self, number: int, direction: str, data: bytes) -> None:
        connection = self._connections.get(number)
        if connection is None:
            return
        whole = len(data) <= connection.left[direction]
        data = data if whole else data[: int(connection.left[direction])]
        connection.left[direction] -= len(data)
        if data and direction == "up":
            connection.broker.read(data)
        elif data:
            self._events.append(Data(number, data))
        if not whole:
            self._break(number, "cut")

    def _break(self, number: int, reason: str) -> None:
        self._connections.pop(number).broker.disconnect()
        self._events.append(Disconnected(number, reason))

    def _move(self) -> bool:
        """Let the brokers write; whether there is something for the session."""
        for number, connection in list(self._connections.items()):
            line = connection.broker.line
            if line is not None and line.out and not connection.broker.is_deaf:
                self._carry(number, "down", line.take())
        return bool(self._events)


def publish(play: Play, number: int = 1) -> None:
    """Publish so many, and let them arrive."""
    for _ in range(number):
        play.session.publish({"x": 1}, published_at=play.now)
    play.flush()


def goodbyes(broker: Broker) -> list[str]:
    """The reasons for which the session has ended connections."""
    return [message.code for message in broker.heard if isinstance(message, Goodbye)]


def got(inbox: Inbox) -> list[tuple[str, int]]:
    """Publisher and number of the notifications in an inbox."""
    found = [item for item in inbox.items if isinstance(item, Delivered)]
    return [(item.id.publisher, item.id.sequence) for item in found]


def gaps(inbox: Inbox) -> list[Gap]:
    """The gaps in an inbox."""
    return [item for item in inbox.items if isinstance(item, Gap)]
