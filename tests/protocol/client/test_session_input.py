"""What comes over a session's connection: more than is read, gaps, and what is no message."""

from __future__ import annotations

import pytest

from protocol.client.scripted import Broker, Play, gaps, goodbyes, notification, publish
from sapwood.filters.filter import Filter
from sapwood.protocol.client.deliveries import Gap
from sapwood.protocol.client.outputs import Answered, Failed, Offline
from sapwood.protocol.link.handshake import COUNT_MAX, LINK_CODEC, PROTOCOL, Ack, GivenUp, Welcome
from sapwood.protocol.messages import CODEC, Settled
from sapwood.protocol.ports import Close, Connected, Data, Dial
from sapwood.wire.frames import LINK, frame

ALL = Filter("true")


# Credit and gaps


def test_a_reader_that_does_not_keep_up_holds_the_broker_back() -> None:
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(ALL, buffer=10)
    play.flush()
    frames = [notification("p.1", n, text="x" * 1000) for n in range(1, 4000)]
    for one in frames:
        broker.send(one)
        play.flush()
    assert play.session.channel.withheld
    assert broker.channel.waiting > 1000
    while broker.channel.waiting or inbox.items:
        inbox.items.clear()
        play.session.make_room()
        play.flush().wait(0.05)
    assert play.session.deliveries.received == 3999


def test_an_answer_does_not_wait_behind_what_nobody_reads() -> None:
    play = Play(broker := Broker()).open()
    play.session.subscribe(Filter("x = 1"), buffer=1)
    play.flush()
    for n in range(1, 3000):
        broker.send(notification("p.1", n, x=1, text="x" * 1000))
        play.flush()
    assert broker.channel.waiting
    play.outputs()
    _, number = play.session.subscribe(Filter("x = 2"))
    play.flush()
    assert play.outputs(Answered) == [Answered(number, settled=True)]


def test_what_the_broker_gave_up_is_a_gap() -> None:
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    before = play.session.channel.received
    broker.say(GivenUp(3))
    play.flush()
    assert gaps(inbox) == [Gap(3, "this client did not keep up")]
    assert play.session.channel.received == before + 3


def test_what_the_broker_gave_up_is_acknowledged_though_nothing_follows() -> None:
    play = Play(broker := Broker()).open().wait(1.0)
    broker.heard.clear()
    broker.say(GivenUp(3))
    play.flush().wait(0.03)
    assert [message.received for message in broker.heard if isinstance(message, Ack)] == [3]


# Bad input


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff" * 7, "a frame's body has"),
        (frame(LINK, b"", b"\xc1"), "does not decode"),
        (LINK_CODEC.encode(GivenUp(COUNT_MAX)), "more than there can be"),
        (LINK_CODEC.encode(Welcome(id="B1", session=1, version=1)), "after the handshake"),
        (CODEC.encode(Settled(1, settled=True))[:-1] + b"\xc1", "does not decode"),
    ],
)
def test_what_is_no_message_ends_the_connection_with_a_reason(data: bytes, words: str) -> None:
    play = Play(broker := Broker()).open()
    play.session.subscribe(ALL)
    play.flush().outputs()
    play._perform(play.session.handle(Data(1, data), play.now))
    (close, offline, dial) = play.outputs()
    assert isinstance(close, Close)
    assert words in close.reason
    assert (offline, dial) == (Offline(close.reason), Dial(2, "B1"))
    play.flush()
    assert goodbyes(broker) == [PROTOCOL]
    assert play.session.is_connected


def test_frames_before_the_welcome_are_not_taken() -> None:
    play = Play(Broker("B1"), connect_seconds=0.01)
    play.session.open(play.now)
    play.session.flush(play.now)
    play.session.handle(Connected(1, 1), play.now)
    effects = play.session.handle(Data(1, notification("p.1", 1)), play.now)
    assert isinstance(effects[-1], Failed)
    assert "before the handshake is done" in effects[-1].reason


def test_an_acknowledgement_of_what_was_never_sent_is_none() -> None:
    play = Play(broker := Broker()).open()
    broker.say(Ack(10**6, 0))
    publish(play, 1)
    assert play.session.is_connected
    assert broker.published == [1]
