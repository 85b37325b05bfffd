"""Publications from the call to the acknowledgement, across brokers: against a simple model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.protocol.client.publishing import BATCH_BYTES, Publishing
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import Ack
from sapwood.wire.frames import decode_envelope, encode_head, encode_notification, split

CREDIT = 10**9
FRAME_BYTES = len(encode_notification(encode_head("p.1", {"x": 1}), 1, 1.0))


def new_channel(credit: int = CREDIT) -> Channel:
    channel = Channel(ChannelLimits())
    channel.connect(0, credit)
    return channel


def add(publishing: Publishing, payload: bytes = b"") -> int:
    return publishing.add({"x": 1}, payload, 1.0, None)


def sent(publishing: Publishing, channel: Channel) -> list[int]:
    """Flush; the sequence numbers of what went onto the connection."""
    publishing.move_into(channel)
    runs = channel.take()
    publishing.handed_over(channel)
    return [decode_envelope(body).sequence for run in runs for _, _, body in split(run)]


def acknowledge(publishing: Publishing, channel: Channel, frames: int, credit: int = 0) -> bool:
    channel.acknowledge(Ack(frames, credit))
    return publishing.acknowledge(channel.acknowledged)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 5)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("acknowledge"), st.integers(0, 12)),
        st.tuples(st.just("lose the broker"), st.integers(0, 5)),
        st.tuples(st.just("be told of its shutdown"), st.integers(0, 5)),
    ),
    max_size=30,
)


@given(STEPS)
def test_every_publication_has_one_fate(steps: list[tuple[str, int]]) -> None:
    """Accepted, unconfirmed or still waiting; no broker gets what another may have looked at.

    The credit of a broker may end anywhere in a batch.
    """
    publishing, channel = Publishing("p.1", 10**6), new_channel()
    looked_at: list[int] = []
    doubtful: set[int] = set()
    on_stream: list[int] = []
    for step, number in steps:
        if step == "publish":
            for _ in range(number):
                add(publishing)
        elif step == "flush":
            on_stream += sent(publishing, channel)
        elif step == "acknowledge":
            acknowledge(publishing, channel, number, FRAME_BYTES * 2 * number)
        else:
            accepted = on_stream[: channel.acknowledged]
            is_orderly = step != "lose the broker"
            looked_at += accepted if is_orderly else on_stream
            if is_orderly:
                publishing.call_back(channel.acknowledged)
                assert publishing.waiting == publishing.sequence - len(looked_at)
            lost = set() if is_orderly else set(on_stream) - set(accepted)
            doubtful |= lost
            channel, on_stream = new_channel(FRAME_BYTES * number), []
            told = publishing.begin_anew(channel)
            assert {n for first, last in told for n in range(first, last + 1)} == lost
    assert publishing.accepted == len(looked_at) + channel.acknowledged
    looked_at += on_stream
    assert looked_at == list(range(1, len(looked_at) + 1))
    assert publishing.unconfirmed == len(doubtful)
    assert publishing.waiting == publishing.sequence - len(looked_at)


def test_an_acknowledgement_may_end_within_a_batch() -> None:
    publishing, channel = Publishing("p.1", 10**6), new_channel()
    for _ in range(3):
        add(publishing)
    assert sent(publishing, channel) == [1, 2, 3]
    assert acknowledge(publishing, channel, 2)
    assert publishing.accepted == 2
    assert not acknowledge(publishing, channel, 2)


def test_room_is_bounded_and_given_back() -> None:
    publishing, channel = Publishing("p.1", 3 * BATCH_BYTES), new_channel()
    while not publishing.is_full:
        if publishing.is_ample:
            sent(publishing, channel)
        add(publishing, b"x" * 1000)
    assert publishing.sequence * 1000 <= 3 * BATCH_BYTES
    sent(publishing, channel)
    assert publishing.is_full
    acknowledge(publishing, channel, publishing.sequence)
    assert not publishing.is_full


def test_a_full_batch_is_ample_and_a_small_one_is_not() -> None:
    publishing = Publishing("p.1", 10**9)
    add(publishing)
    assert not publishing.is_ample
    add(publishing, b"x" * BATCH_BYTES)
    assert publishing.is_ample


def test_what_has_no_credit_was_not_handed_over() -> None:
    """Also if a part of the same batch had."""
    publishing, channel = Publishing("p.1", 10**6), new_channel(credit=1)
    for _ in range(3):
        add(publishing)
    assert sent(publishing, channel) == [1]
    assert publishing.waiting == 2
    following = new_channel()
    assert publishing.begin_anew(following) == [(1, 1)]
    assert publishing.unconfirmed == 1
    assert sent(publishing, following) == [2, 3]


def test_a_broker_that_shuts_down_has_not_looked_at_what_it_did_not_acknowledge() -> None:
    publishing, channel = Publishing("p.1", 10**6), new_channel()
    for _ in range(3):
        add(publishing)
    sent(publishing, channel)
    acknowledge(publishing, channel, 1)
    publishing.call_back(channel.acknowledged)
    assert publishing.waiting == 2
    following = new_channel()
    assert publishing.begin_anew(following) == []
    assert publishing.unconfirmed == 0
    assert sent(publishing, following) == [2, 3]
    assert acknowledge(publishing, following, 2)
    assert publishing.accepted == 3


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf")])
def test_an_impossible_expiry_is_refused(seconds: float) -> None:
    publishing = Publishing("p.1", 10**6)
    with pytest.raises(ParameterError, match="expires_in: is"):
        publishing.add({}, b"", 1.0, seconds)
    assert publishing.sequence == 0
