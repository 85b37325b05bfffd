"""Nodes joined without a network, in virtual time: what one writes, the other one reads.

Every connection is a wire with two queues of bytes. A wire can be cut, frozen and thawed; an
address can refuse, or never answer. Nothing is carried over by itself: `run` carries over all that
is under way, `advance` lets time pass. After every event the invariants of the broker and of the
node that had it are checked.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, TypeVar

from sapwood.protocol.events import Tick
from sapwood.protocol.hashing import is_right
from sapwood.protocol.link.handshake import (
    BROKER,
    CLIENT,
    LINK_CODEC,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    LinkMessage,
    Ping,
    Pong,
    Welcome,
)
from sapwood.protocol.link.limits import LinkLimits
from sapwood.protocol.messages import CODEC, Message, Subscribe
from sapwood.protocol.neighbours import RESTART
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import (
    TICK_SECONDS,
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    DriverEffect,
    DriverEvent,
    SecretVerified,
    Stop,
    Unsent,
    VerifySecret,
    Write,
)
from sapwood.wire.frames import (
    CONTROL,
    LINK,
    NOTIFICATION,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    split,
)
from sapwood.wire.scan import scan

Told = TypeVar("Told")

STEPS_MAX: Final = 200_000
"""Far more than any test needs between two moments."""

CLOSE_SECONDS: Final = 5.0
"""How long a driver waits until what was written has left."""

CREDIT: Final = 2**40
"""As much as anybody wants."""


class End:
    """One end of a wire: what waits to be read there."""

    def __init__(self, owner: str | RawPeer, number: int, wire: Wire) -> None:
        self.owner = owner
        self.number = number
        self.wire = wire
        self.inbox: deque[bytes | None] = deque()
        """Bytes in the pieces in which they were written; None: the other side has ended it."""
        self.is_ended = False
        """Whether the owner has ended the connection."""
        self.is_gone = False
        """Whether the owner knows that the connection is gone."""

    @property
    def other(self) -> End:
        """The other end."""
        first, second = self.wire.ends
        return second if self is first else first

    @property
    def unread(self) -> int:
        """Bytes that wait here."""
        return sum(len(data) for data in self.inbox if data is not None)


class Wire:
    """A connection."""

    def __init__(self) -> None:
        self.ends: list[End] = []
        self.is_frozen = False
        self.is_cut = False

    def is_between(self, *names: str) -> bool:
        """Whether these are its ends."""
        return {end.owner for end in self.ends} == set(names)


class RawPeer:
    """Somebody who speaks the protocol as a test tells them, and keeps all that they hear."""

    def __init__(self, net: Network, *, acknowledges: bool = True) -> None:
        self.net = net
        self.end: End | None = None
        self.acknowledges = acknowledges
        self.heard: list[LinkMessage] = []
        """Messages about the connection, acknowledgements included."""
        self.told: list[Message] = []
        """Control messages of the stream."""
        self.got: list[tuple[str, int]] = []
        """Publisher and sequence number of each notification."""
        self.frames: list[bytes] = []
        """All frames of the stream."""
        self.missed = 0
        self.raw = b""
        """Everything that came, as bytes."""
        self.is_gone = False
        self._rest = b""
        self._sequence = 0

    @property
    def received(self) -> int:
        """Frames of the stream that came, those given up included."""
        return len(self.frames) + self.missed

    # Speaking

    def send(self, data: bytes) -> RawPeer:
        """Write bytes, and let everything happen that follows."""
        assert self.end is not None
        self.net.write(self.end, data)
        self.net.run()
        return self

    def say(self, message: LinkMessage) -> RawPeer:
        """Say something about the connection."""
        return self.send(LINK_CODEC.encode(message))

    def tell(self, message: Message) -> RawPeer:
        """Send a control message."""
        return self.send(CODEC.encode(message))

    def subscribe(self, filter: str, entry_id: str = "1") -> RawPeer:
        """Send a subscription."""
        return self.tell(Subscribe(entry_id, filter))

    def publish(self, publisher: str, n: int, count: int = 1, payload: bytes = b"") -> RawPeer:
        """Publish notifications with an attribute n, numbered on from the last one."""
        return self.send(b"".join(self.notes(publisher, n, count, payload)))

    def notes(self, publisher: str, n: int, count: int, payload: bytes = b"") -> Iterator[bytes]:
        """The frames of so many new notifications."""
        head = encode_head(publisher, {"n": n})
        for _ in range(count):
            self._sequence += 1
            yield encode_notification(head, self._sequence, 0.0, payload)

    def leave(self) -> None:
        """End the connection without a word."""
        assert self.end is not None
        self.net.end(self.end, "gone")
        self.net.run()

    # Hearing

    def hear(self, data: bytes) -> None:
        """Take bytes that came, and acknowledge them if this one does."""
        self.raw += data
        self._rest += data
        end = scan(self._rest).end
        whole, self._rest = self._rest[:end], self._rest[end:]
        before = self.received
        for kind, head, body in split(whole):
            if kind == LINK:
                self._hear_of(LINK_CODEC.decode(body))
                continue
            self.frames.append(body)
            if kind == CONTROL:
                self.told.append(CODEC.decode(body))
            elif kind == NOTIFICATION:
                self.got.append((decode_head(head)[0], decode_envelope(body).sequence))
        if self.acknowledges and self.received > before:
            self._answer(Ack(self.received, CREDIT))

    def _hear_of(self, message: LinkMessage) -> None:
        self.heard.append(message)
        if isinstance(message, GivenUp):
            self.missed += message.count
        elif isinstance(message, Ping) and self.acknowledges:
            self._answer(Pong(message.number))

    def _answer(self, message: LinkMessage) -> None:
        if self.end is not None and not self.end.is_ended:
            self.net.write(self.end, LINK_CODEC.encode(message))

    def last(self, kind: type[Told]) -> Told:
        """The last message of a kind about the connection."""
        found = [message for message in self.heard if isinstance(message, kind)]
        assert found, f"no {kind.__name__} among {self.heard}"
        return found[-1]

    def count(self, kind: type[LinkMessage]) -> int:
        """How many messages of a kind were heard."""
        return sum(isinstance(message, kind) for message in self.heard)

    @property
    def goodbye(self) -> Goodbye:
        """Why the connection has ended."""
        return self.last(Goodbye)

    @property
    def welcome(self) -> Welcome:
        """The answer to the hello."""
        return self.last(Welcome)

    def again(self, acknowledges: bool = True) -> RawPeer:
        """The same one for another connection: with the stream as it was, and nothing heard."""
        other = RawPeer(self.net, acknowledges=acknowledges)
        other.frames, other.got, other.missed = list(self.frames), list(self.got), self.missed
        other._sequence = self._sequence
        return other


class Network:
    """Nodes and raw peers, the wires between them, and the time."""

    def __init__(self, random: Random | None = None) -> None:
        self.now = 1000.0
        self.nodes: dict[str, Node] = {}
        self.told: dict[str, list[DriverEffect]] = {}
        """What nodes asked for beside writing, ending and dialing."""
        self.refusing: set[str] = set()
        """Addresses at which nobody listens."""
        self.mute: set[str] = set()
        """Addresses that never answer an attempt."""
        self.listening: dict[str, list[RawPeer]] = {}
        """By address: raw peers that have been dialled there."""
        self.wires: list[Wire] = []
        self.ticks: dict[str, int] = {}
        self.dials: list[tuple[float, str, str]] = []
        """When whom dialled which address."""
        self.accepts: dict[str, Callable[[RawPeer], None]] = {}
        """By address: what a raw peer does that has been dialled there."""
        self.certificates: dict[str, tuple[str, ...]] = {}
        """By the name of a node: what its certificate says."""
        self.is_spoilt = False
        """Whether a test has spoilt something: then nodes have problems until they are mended."""
        self.verifies = True  # else those who log in by a password wait
        self._random = random
        self._numbers = itertools.count(1)
        self._events: deque[tuple[str, DriverEvent]] = deque()
        self._tick_at: dict[str, float] = {}
        self._closing: list[tuple[float, End]] = []

    # Nodes

    def add(self, name: str, *joins: str, session: int = 1, **config: Any) -> Node:
        """A node that can be dialled under its name."""
        made = NodeConfig(id=name, session=session, joins=joins, **config)
        secrets = (f"{name}.{session}-secret-{number}" for number in itertools.count(1))
        random = Random(f"{name}.{session}")
        node = self.nodes[name] = Node(made, random, lambda: next(secrets))
        self.told.setdefault(name, [])
        self.ticks[name] = 0
        self._tick_at[name] = self.now + TICK_SECONDS
        self.bring(name, Tick())
        self.run()
        return node

    def crash(self, name: str) -> Node:
        """A node is gone from one moment to the next, with all that it had."""
        node = self.nodes.pop(name)
        self._events = deque(one for one in self._events if one[0] != name)
        for wire in list(self.wires):
            for end in wire.ends:
                if end.owner == name:
                    end.is_ended = end.is_gone = True
                    self._cut(wire)
        return node

    def stop(self, name: str) -> None:
        """Ask a node to end in an orderly way."""
        self.bring(name, Stop())
        self.run()

    def asked(self, name: str, kind: type[Told]) -> list[Told]:
        """What a node asked for, of one kind."""
        return [effect for effect in self.told[name] if isinstance(effect, kind)]

    # Raw peers

    def dial(self, name: str, *, certificate: tuple[str, ...] | None = None) -> RawPeer:
        """A raw peer that has dialled a node, and said nothing yet."""
        return self.connect(RawPeer(self), name, certificate=certificate)

    def connect(
        self, peer: RawPeer, name: str, *, certificate: tuple[str, ...] | None = None
    ) -> RawPeer:
        """Connect a raw peer to a node."""
        wire = Wire()
        peer.end = End(peer, 0, wire)
        wire.ends = [peer.end, End(name, next(self._numbers), wire)]
        self.wires.append(wire)
        self.bring(name, Connected(wire.ends[1].number, address="raw:1", certificate=certificate))
        self.run()
        return peer

    def client(
        self, name: str, at: str, *, acknowledges: bool = True, silence: float = 0.0, **hello: Any
    ) -> RawPeer:
        """A raw client of session 1 that has said its hello; its name at the broker is `name.1`."""
        peer = self.connect(RawPeer(self, acknowledges=acknowledges), at)
        return peer.say(hello_of(name, silence=silence, **hello))

    def attach(self, name: str, other: str, number: int, other_number: int, dial: int = 1) -> None:
        """An attempt of a node succeeds, at an address that did not answer before."""
        wire = Wire()
        wire.ends = [End(name, number, wire), End(other, other_number, wire)]
        self.wires.append(wire)
        self.bring(name, Connected(number, dial, other))
        self.bring(other, Connected(other_number, address=name))

    def listen(
        self, address: str, accept: Callable[[RawPeer], None] = lambda peer: None
    ) -> list[RawPeer]:
        """Raw peers that nodes find at an address, one for each attempt."""
        self.accepts[address] = accept
        return self.listening.setdefault(address, [])

    # Wires

    def wires_between(self, a: str, b: str) -> list[Wire]:
        """The connections between two nodes."""
        return [wire for wire in self.wires if wire.is_between(a, b) and not wire.is_cut]

    def cut(self, a: str, b: str, carried: int = 0) -> None:
        """Cut all wires between two nodes; so many bytes towards the second still arrive."""
        for wire in self.wires_between(a, b):
            for end in wire.ends:
                if end.owner == b and carried:
                    data = b"".join(piece for piece in end.inbox if piece)[:carried]
                    end.inbox.clear()
                    self.bring(b, Data(end.number, data))
            self._cut(wire)

    def freeze(self, a: str, b: str) -> None:
        """Carry nothing between two nodes for the time being; nobody is told."""
        for wire in self.wires_between(a, b):
            wire.is_frozen = True

    def thaw(self, a: str, b: str) -> None:
        """Carry everything over again."""
        for wire in self.wires_between(a, b):
            wire.is_frozen = False
        self.run()

    def _cut(self, wire: Wire) -> None:
        wire.is_cut = True
        for end in wire.ends:
            end.inbox.clear()
            self._lost(end, "cut")
        if wire in self.wires:
            self.wires.remove(wire)

    def _lost(self, end: End, reason: str) -> None:
        if end.is_gone:
            return
        end.is_ended = end.is_gone = True
        if isinstance(end.owner, RawPeer):
            end.owner.is_gone = True
        else:
            self._events.append((end.owner, Disconnected(end.number, reason)))

    def write(self, end: End, data: bytes) -> None:
        """Send bytes from one end to the other."""
        if not end.is_ended and not end.wire.is_cut:
            end.other.inbox.append(data)

    def end(self, end: End, reason: str) -> None:
        """End a connection from one end, at once; what was written arrives."""
        if end.is_ended:
            return
        end.is_ended = True
        end.inbox.clear()
        end.other.inbox.append(None)
        self._lost(end, reason)

    def _close(self, end: End) -> None:
        """End a connection when everything has left."""
        if end.is_ended:
            return
        end.is_ended = True
        end.inbox.clear()
        end.other.inbox.append(None)
        self._closing.append((self.now + CLOSE_SECONDS, end))

    # Driving

    def bring(self, name: str, event: DriverEvent) -> list[DriverEffect]:
        """Bring an event to a node and do what follows; what it asked for."""
        node = self.nodes[name]
        effects = node.handle(event, self.now)
        for effect in effects:
            self._do(name, effect)
        if not self.is_spoilt:
            problems = node_problems(node) + leftovers(node)
            assert problems == [], problems
        return effects

    def _end_of(self, name: str, number: int) -> End | None:
        for wire in self.wires:
            for end in wire.ends:
                if end.number == number and end.owner == name:
                    return end
        return None

    def _do(self, name: str, effect: DriverEffect) -> None:
        if isinstance(effect, Dial):
            self.dials.append((self.now, name, effect.address))
            self._dial(name, effect)
        elif isinstance(effect, VerifySecret) and self.verifies:
            found = is_right(effect.hashes, effect.secret)
            self._events.append((name, SecretVerified(effect.connection, found)))
        elif not isinstance(effect, Write | Close | Abort):
            self.told[name].append(effect)
        if not isinstance(effect, Write | Close | Abort):
            return
        end = self._end_of(name, effect.connection)
        if end is None:
            return
        if isinstance(effect, Write):
            assert effect.data, "an empty write"
            self.write(end, effect.data)
        elif isinstance(effect, Close):
            self._close(end)
        else:
            self.end(end, effect.reason)

    def _dial(self, name: str, effect: Dial) -> None:
        address = effect.address
        if address in self.mute:
            return
        is_raw = address in self.listening
        if address in self.refusing or not (is_raw or address in self.nodes):
            self._events.append((name, DialFailed(effect.dial, f"cannot reach {address}")))
            return
        wire = Wire()
        mine = End(name, next(self._numbers), wire)
        owner = RawPeer(self) if is_raw else address
        theirs = End(owner, next(self._numbers), wire)
        wire.ends = [mine, theirs]
        self.wires.append(wire)
        self._events.append((name, Connected(mine.number, effect.dial, address)))
        if isinstance(owner, RawPeer):
            owner.end = theirs
            self.listening[address].append(owner)
            self.accepts[address](owner)
        else:
            certificate = self.certificates.get(name)
            event = Connected(theirs.number, address=name, certificate=certificate)
            self._events.append((address, event))

    def run(self) -> None:
        """Carry over everything that is under way; no time passes."""
        for _ in range(STEPS_MAX):
            if not self._step():
                return
        raise AssertionError(f"no rest after {STEPS_MAX} steps: something goes round in circles")

    def _step(self) -> bool:
        if self._events:
            name, event = self._events.popleft()
            if name in self.nodes:
                self.bring(name, event)
            return True
        ready = [
            end
            for wire in self.wires
            if not wire.is_frozen
            for end in wire.ends
            if end.inbox and not end.is_gone
        ]
        if not ready:
            return self._forget_dead_wires()
        self._carry(ready[0] if self._random is None else self._random.choice(ready))
        return True

    def _carry(self, end: End) -> None:
        data = end.inbox.popleft()
        if data is None:
            self._lost(end, "closed by the other side")
            self._lost(end.other, "closed")
        elif end.is_ended:
            return
        elif isinstance(end.owner, RawPeer):
            end.owner.hear(data)
        else:
            if self._random is not None and len(data) > 1:
                at = self._random.randint(1, len(data))
                if at < len(data):
                    end.inbox.appendleft(data[at:])
                data = data[:at]
            self.bring(end.owner, Data(end.number, data))

    def _forget_dead_wires(self) -> bool:
        self.wires = [wire for wire in self.wires if not all(end.is_gone for end in wire.ends)]
        return False

    # Time

    def advance(self, seconds: float) -> None:
        """Let time pass: every node gets its ticks when they are due."""
        until = self.now + seconds
        self.run()
        while self.nodes:
            name = min(self.nodes, key=self._due)
            due = max(self._due(name), self.now)
            if due > until:
                break
            self.now = due
            self._tick(name)
            self.run()
        self.now = until

    def advance_until(self, condition: Callable[[], bool], seconds: float = 60.0) -> float:
        """Let time pass until something can be observed; how long it took."""
        start = self.now
        self.run()
        while not condition():
            assert self.now - start < seconds, f"not within {seconds} s"
            self.advance(0.01)
        return self.now - start

    def _due(self, name: str) -> float:
        return min(self.nodes[name].deadline, self._tick_at[name])

    def _tick(self, name: str) -> None:
        node = self.nodes[name]
        for at, end in list(self._closing):
            if self.now >= at or end.is_gone:
                self._closing.remove((at, end))
                self._lost(end, "closed")
        if self.now >= self._tick_at[name]:
            self._tick_at[name] = self.now + TICK_SECONDS
            for wire in list(self.wires):
                for end in wire.ends:
                    if end.owner == name and end.other.unread and not end.is_ended:
                        self.bring(name, Unsent(end.number, end.other.unread))
        self.ticks[name] += 1
        self.bring(name, Tick())
        assert node.deadline > self.now, f"{node} wants another tick at once, for ever"


def leftovers(node: Node) -> list[str]:
    """What should have been written or forgotten when an event was done."""
    unwritten = [f"{line} has something to write" for line in node.lines.values() if line.out]
    waiting = (*node.admission.greeting, *node.admission.applicants)
    return unwritten + [
        f"line {number} is gone, and remembered" for number in waiting if number not in node.lines
    ]


def hello_of(name: str, session: int = 1, role: str = CLIENT, **changes: Any) -> Hello:
    """A hello with as much credit as anybody wants."""
    usual: dict[str, Any] = {"network": "sapwood", "credit": CREDIT, "silence": 0.0}
    if role == BROKER:
        usual |= {"routing": "covering", "features": (RESTART,)}
    return Hello(role=role, id=name, session=session, **{**usual, **changes})


QUICK: Final = LinkLimits(retry_first_seconds=0.1, retry_max_seconds=15.0)


def line_of(count: int, random: Random | None = None, **config: Any) -> Network:
    """B1 - B2 - … - Bn, each joined to the one before it."""
    net = Network(random)
    for number in range(1, count + 1):
        joins = (f"B{number - 1}",) if number > 1 else ()
        net.add(f"B{number}", *joins, **config)
        net.advance(0.2)
    return net
