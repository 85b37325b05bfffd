"""Bytes of any kind on lines of every state: nothing raises, and nobody else notices.

The witnesses are two clients; what they have in the tables stays, and what one publishes reaches
the other one. A line that got garbage is ended with a goodbye, or goes on, or waits for the rest of
a frame; and those that wait before their handshake is done are ended by time.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.joined import hello_of
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import (
    BROKER,
    FEATURES,
    LEAVING,
    LINK_CODEC,
    Ack,
    GivenUp,
    Goodbye,
    Ping,
    Pong,
    Resume,
    Welcome,
)
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.link.line import HANDSHAKE_SECONDS
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import (
    CODEC,
    Advertise,
    BrokerReport,
    Echo,
    Missed,
    Probe,
    Settled,
    Subscribe,
    Survey,
    Unsubscribe,
)
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.node_invariants import node_problems
from sapwood.protocol.ports import (
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    Disconnected,
    DriverEffect,
    DriverEvent,
    Write,
)
from sapwood.wire.frames import (
    CONTROL,
    LINK,
    NOTIFICATION,
    encode_head,
    encode_notification,
    frame,
    split,
)

KINDS = ("greeting", "examining", "calling", "client", "neighbour", "closing")

WITNESS, PUBLISHER = 1, 2
"""Their lines."""

PATIENT = 1e9


class Fuzzed:
    """A node with two witnesses, and lines in any state for garbage."""

    def __init__(self) -> None:
        config = NodeConfig(
            id="B1",
            joins=("there",),
            link=LinkLimits(silence_seconds=PATIENT),
            client=ClientLimits(silence_seconds=PATIENT, grace_seconds=0.0),
        )
        self.node = Node(config, Random(1), lambda: "secret")
        self.now = 0.0
        self.sequence = 0
        self.session = 0
        self._number = 10
        self._dial: Dial | None = None
        self.bring(Tick())
        for number, name in ((WITNESS, "witness"), (PUBLISHER, "publisher")):
            self.bring(Connected(number))
            self.send(number, LINK_CODEC.encode(hello_of(name)))
        self.send(WITNESS, CODEC.encode(Subscribe("1", "good = true")))
        self.table = self.witnessed()

    def bring(self, event: DriverEvent) -> list[DriverEffect]:
        effects = self.node.handle(event, self.now)
        for effect in effects:
            if isinstance(effect, Dial):
                self._dial = effect
        return effects

    def send(self, number: int, data: bytes) -> list[DriverEffect]:
        return self.bring(Data(number, data))

    def witnessed(self) -> list[tuple[str, str]]:
        """What the witness has in the tables."""
        entries = self.node.broker.subscriptions
        return [(one.id, str(one.filter)) for one in entries.of("witness.1")]

    # Lines

    def line(self, kind: str) -> int:
        """A line in a state."""
        self.clear()  # so that nobody else has the name, or is asked about it
        if kind == "calling":
            return self._calling()
        self._number += 1
        number = self._number
        self.bring(Connected(number))
        if kind == "client":
            self.send(number, LINK_CODEC.encode(hello_of("fuzz")))
        elif kind == "neighbour":
            self._neighbour(number)
        elif kind == "examining":
            self._neighbour(number)
            self._number += 1
            self.bring(Connected(self._number))
            self._hello(self._number)
        elif kind == "closing":
            self.send(number, LINK_CODEC.encode(Pong()))
        return self._number

    def _hello(self, number: int) -> None:
        self.session += 1
        self.send(number, LINK_CODEC.encode(hello_of("F", self.session, role=BROKER)))

    def _neighbour(self, number: int) -> None:
        self._hello(number)
        self.now += 0.1  # surveys are not made more often than that
        self.bring(Tick())
        assert self.node.lines[number].state is LineState.OPEN

    def _calling(self) -> int:
        for _ in range(100):
            self.now += 0.5
            self.bring(Tick())
            if self._dial is not None:
                break
        dial, self._dial = self._dial, None
        assert dial is not None
        self._number += 1
        self.bring(Connected(self._number, dial.dial))
        return self._number

    def clear(self) -> None:
        """End everything but the witnesses."""
        for peer in list(self.node.peers.values()):
            if peer.name not in {"witness.1", "publisher.1"}:
                self.node.membership.remove(peer, Goodbye(LEAVING), self.now)
        for number in list(self.node.lines):
            if number not in {WITNESS, PUBLISHER}:
                self.bring(Disconnected(number))

    # Checks

    def throw(self, kind: str, pieces: list[bytes]) -> None:
        """Bring bytes on a line of a state, and check what came of it."""
        number = self.line(kind)
        state = self.node.lines[number].state
        assert state == {"client": "open", "neighbour": "open"}.get(kind, kind)
        ended = state is LineState.CLOSING
        for data in pieces:
            effects = self.send(number, data)
            mine = [
                one
                for one in effects
                if isinstance(one, Write | Close | Abort) and one.connection == number
            ]
            if ended:
                assert mine == []
            if any(isinstance(one, Close) for one in mine):
                (said,) = [one.data for one in mine if isinstance(one, Write)][-1:]
                last_message(said)
            ended = ended or any(isinstance(one, Close | Abort) for one in mine)
            assert ended == (self.node.lines[number].state is LineState.CLOSING)
        assert self.witnessed() == self.table

    def check(self) -> None:
        """The network goes on as before."""
        assert node_problems(self.node) == []
        self.sequence += 1
        head = encode_head("publisher.1", {"good": True})
        note = encode_notification(head, self.sequence, 0.0)
        assert Write(WITNESS, note) in self.send(PUBLISHER, note)
        received = self.node.peers["witness.1"].channel.sent
        self.send(WITNESS, LINK_CODEC.encode(Ack(received, 2**40)))


def last_message(data: bytes) -> Goodbye:
    """What was said last."""
    *_, (kind, _, body) = split(data)
    assert kind == LINK
    goodbye = LINK_CODEC.decode(body)
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code
    assert goodbye.reason
    return goodbye


NOTE = encode_notification(encode_head("fuzz.1", {"n": 1}), 1, 0.0)
WELCOME = Welcome(id="B2", session=1, version=1, features=FEATURES, credit=100)
GOOD = [
    NOTE,
    CODEC.encode(Subscribe("1", "n > 1")),
    CODEC.encode(Subscribe("1", "this is ( no filter")),
    CODEC.encode(Advertise("1", "n > 1")),
    CODEC.encode(Unsubscribe("1")),
    CODEC.encode(Survey(7)),
    CODEC.encode(Probe("F", 1)),
    CODEC.encode(Echo("B1", 1, reports=(BrokerReport("F", 1),))),
    CODEC.encode(Settled(1, True)),
    CODEC.encode(Missed(1, "B7-B1")),
    LINK_CODEC.encode(hello_of("fuzz", resume=(Resume("B1", 1, 0, "secret"),))),
    LINK_CODEC.encode(hello_of("F", 99, role=BROKER)),
    LINK_CODEC.encode(WELCOME),
    LINK_CODEC.encode(Welcome(id="F", session=1, version=1, resumed=3)),
    LINK_CODEC.encode(Ack(10**6, 10**6)),
    LINK_CODEC.encode(GivenUp(2**62)) * 3,
    LINK_CODEC.encode(Ping(2**62)),
    LINK_CODEC.encode(Goodbye("shutdown", lost=3)),
    LINK_CODEC.encode(Goodbye("already-linked", broker="F")),
    b"\x02\xff\xff\xff\xff\x00\x00",
]
"""What somebody might say at the wrong time."""


def mutated(chance: Random, data: bytes) -> bytes:
    """The same with some bytes changed, left out, or repeated."""
    changed = bytearray(data)
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(changed))
        how = chance.randrange(4)
        if how == 0:
            changed[at] = chance.randrange(256)
        elif how == 1:
            changed[at] ^= 1 << chance.randrange(8)
        elif how == 2 and len(changed) > 1:
            del changed[at]
        else:
            changed[at:at] = changed[at : at + chance.randint(1, 4)]
    return bytes(changed)


def garbage(chance: Random) -> bytes:
    """Something that a broken or hostile peer might send."""
    draw = chance.random()
    if draw < 0.6:
        return mutated(chance, chance.choice(GOOD))
    if draw < 0.7:
        return chance.randbytes(chance.randint(1, 60))
    kinds = (CONTROL, LINK, NOTIFICATION, chance.randrange(256))
    head = chance.randbytes(chance.randint(0, 20))
    return frame(chance.choice(kinds), head, chance.randbytes(40))


bodies = st.binary(max_size=60)
seeds = st.integers(0, 2**32)
pieces = st.one_of(
    bodies,
    st.sampled_from(GOOD),
    seeds.map(lambda seed: garbage(Random(seed))),
    bodies.map(lambda body: frame(LINK, b"", body)),
    bodies.map(lambda body: frame(CONTROL, b"", body)),
    st.tuples(bodies, bodies).map(lambda both: frame(NOTIFICATION, *both)),
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.lists(pieces, max_size=4)), max_size=6))
def test_no_bytes_on_any_line_disturb_anybody(throws: list[tuple[str, list[bytes]]]) -> None:
    fuzzed = Fuzzed()
    for kind, data in throws:
        fuzzed.throw(kind, data)
        fuzzed.check()
        fuzzed.clear()
    fuzzed.check()


def storm(seed: int, frames: int) -> None:
    """So many frames of garbage on lines of one node, which is checked now and then."""
    print(f"replay: storm({seed}, {frames})")
    chance = Random(seed)
    fuzzed = Fuzzed()
    thrown = turn = 0
    while thrown < frames:
        data = [garbage(chance) for _ in range(chance.randint(1, 8))]
        fuzzed.throw(chance.choice(KINDS), data)
        thrown += len(data)
        turn += 1
        if turn % 100 == 0:
            fuzzed.check()
    fuzzed.check()
    assert set(fuzzed.node.peers) <= {"witness.1", "publisher.1", "fuzz.1", "F", "B2"}


@pytest.mark.slow
def test_a_storm_of_garbage_disturbs_nobody() -> None:
    storm(seed=1, frames=5_000)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_million_frames_of_garbage_disturb_nobody(seed: int) -> None:
    storm(seed, frames=100_000)


def test_garbage_that_waits_for_its_rest_costs_little_and_not_for_ever() -> None:
    """Lines that never become whole are ended by time, and keep no more than they may."""
    fuzzed = Fuzzed()
    for number in range(1000, 1200):
        fuzzed.bring(Connected(number))
        fuzzed.send(number, b"\x03\xff\xf0\x00\x00\x00\x00"[: 1 + number % 7])
        for _ in range(3):
            fuzzed.send(number, bytes(10_000))
    node = fuzzed.node
    waiting = [line for line in node.lines.values() if line.state is LineState.GREETING]
    assert sum(line.rest_size for line in waiting) < len(waiting) * 2**16
    fuzzed.now += HANDSHAKE_SECONDS
    fuzzed.bring(Tick())
    greeting = [one for one in node.lines.values() if one.state is LineState.GREETING]
    assert (greeting, node.admission.greeting) == ([], {})
    fuzzed.clear()
    assert set(node.lines) == {WITNESS, PUBLISHER}
    fuzzed.check()
