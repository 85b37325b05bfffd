"""A session over connections that break at any byte, and bytes that are no messages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.client.scripted import Broker, Play, gaps, got, notification
from sapwood.filters.filter import Filter
from sapwood.protocol.client.outputs import Failed, Unconfirmed
from sapwood.protocol.events import Tick
from sapwood.protocol.link.handshake import LINK_CODEC, Ack, GivenUp, Ping, Welcome
from sapwood.protocol.messages import CODEC, Missed, Refused, Settled
from sapwood.protocol.ports import Connected, Data

CUTS = st.lists(st.tuples(st.sampled_from(["up", "down"]), st.integers(0, 900)), max_size=12)
STEPS = st.lists(
    st.tuples(st.sampled_from(["publish", "deliver", "wait", "cut"]), st.integers(1, 12)),
    min_size=1,
    max_size=25,
)


def act(play: Play, broker: Broker, step: str, number: int, sent: int) -> int:
    """Do one step; how many notifications the broker has sent by then."""
    if step == "publish":
        for _ in range(number):
            play.session.publish({"x": number}, b"x" * 20, published_at=play.now)
        play.flush()
    elif step == "deliver":
        broker.send(*(notification("p.1", n) for n in range(sent + 1, sent + number + 1)))
        play.flush()
        return sent + number
    elif step == "wait":
        play.wait(number / 10)
    else:
        play.cut()
    return sent


@given(CUTS, STEPS)
def test_over_cut_connections_nothing_is_lost_or_repeated(
    cuts: list[tuple[str, int]], steps: list[tuple[str, int]]
) -> None:
    play = Play(broker := Broker(), connect_seconds=3600.0)
    for direction, size in cuts:
        play.cut_after(direction, size)
    play.open()
    inbox, _ = play.session.subscribe(Filter("true"))
    play.flush()
    while not play.session.is_connected or inbox.settled is None:
        play.wait(0.5)
    sent = 0
    for step, number in steps:
        sent = act(play, broker, step, number, sent)
    play.wait(60.0)
    published = play.session.publishing.sequence
    assert got(inbox) == [("p.1", n) for n in range(1, sent + 1)]
    assert broker.published == list(range(1, published + 1))
    assert play.session.publishing.accepted == published
    assert (gaps(inbox), play.session.publishing.unconfirmed) == ([], 0)
    assert play.session.order == published + sent
    assert (broker.channel.is_idle, play.session.channel.is_idle) == (True, True)
    assert play.outputs(Failed, Unconfirmed) == []


@given(CUTS, STEPS, st.integers(0, 2**32))
def test_over_two_brokers_every_publication_has_one_fate(
    cuts: list[tuple[str, int]], steps: list[tuple[str, int]], seed: int
) -> None:
    """Each is looked at by at most one broker; each that is not unconfirmed, by one."""
    chance = random.Random(seed)
    brokers = [Broker("B1"), Broker("B2")]
    play = Play(*brokers, seed=seed, connect_seconds=3600.0)
    for direction, size in cuts:
        play.cut_after(direction, size)
    play.open()
    for step, number in steps:
        brokers[0].is_up = chance.random() < 0.6
        brokers[1].is_up = not brokers[0].is_up or chance.random() < 0.5
        act(play, brokers[0], "wait" if step == "deliver" else step, number, 0)
    brokers[0].is_up = True
    play.wait(60.0)
    publishing = play.session.publishing
    looked_at = sorted(brokers[0].published + brokers[1].published)
    assert looked_at == sorted(set(looked_at))
    doubtful = {n for one in play.outputs(Unconfirmed) for n in range(one.first, one.last + 1)}
    assert publishing.unconfirmed == len(doubtful)
    assert set(looked_at) | doubtful == set(range(1, publishing.sequence + 1))
    assert publishing.accepted == publishing.sequence


# Bytes

MESSAGES = [
    LINK_CODEC.encode(Welcome(id="B1", session=1, version=1, credit=1000)),
    LINK_CODEC.encode(Ack(3, 1000)),
    LINK_CODEC.encode(GivenUp(3)),
    LINK_CODEC.encode(Ping(3)),
    CODEC.encode(Settled(1, settled=True)),
    CODEC.encode(Refused("no", request=1)),
    CODEC.encode(Refused("no", sequence=1)),
    CODEC.encode(Missed(3, "B1-B2", ("x = 1", "what?"))),
    notification("p.1", 1, x=1),
    notification("q.1", 1, y="a"),
]


def connected() -> Play:
    play = Play(Broker("B1"), connect_seconds=3600.0).open()
    play.session.subscribe(Filter("x = 1"))
    play.session.subscribe(Filter("y = 'a'"))
    play.session.publish({"x": 1}, published_at=1.0)
    return play.flush()


def feed(play: Play, data: bytes, rng: random.Random) -> None:
    """Bring bytes in reads of any size over whichever connection the session has."""
    session = play.session
    at = 0
    while at < len(data):
        size = rng.randint(1, len(data))
        line = session._line
        number = 1 if line is None else line.number
        session.handle(Data(number, data[at : at + size]), play.now)
        at += size
        if session._line is None:
            play.now += 10.0
            session.handle(Tick(), play.now)
            session.handle(Connected(number + 1, session._search.dial), play.now)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(MESSAGES)), max_size=10),
    st.integers(),
)
def test_arbitrary_bytes_never_raise(parts: list[bytes], seed: int) -> None:
    feed(connected(), b"".join(parts), random.Random(seed))


@pytest.mark.parametrize("seed", range(10))
def test_messages_with_flipped_bits_never_raise(seed: int) -> None:
    rng = random.Random(seed)
    play = connected()
    for _ in range(200):
        data = bytearray(b"".join(rng.choices(MESSAGES, k=4)))
        for _ in range(rng.randint(0, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        feed(play, bytes(data), rng)
