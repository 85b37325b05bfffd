"""Publications from the call to the acknowledgement, across brokers: against a simple model."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError, RefusedError, UnconfirmedError
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import Ack
from sapwood.runtime.publishing import BATCH_BYTES, Publishing
from sapwood.wire.frames import decode_envelope, split

CREDIT = 10**9


def new_channel(credit: int = CREDIT) -> Channel:
    channel = Channel(ChannelLimits())
    channel.connect(0, credit)
    return channel


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def sent(publishing: Publishing, channel: Channel) -> list[int]:
    """Flush; the sequence numbers of what went onto the connection."""
    publishing.move_into(channel)
    runs = channel.take()
    publishing.handed_over(channel)
    return [decode_envelope(body).sequence for run in runs for _, _, body in split(run)]


def acknowledge(publishing: Publishing, channel: Channel, frames: int) -> None:
    channel.acknowledge(Ack(frames, CREDIT))
    publishing.acknowledged(channel.acknowledged)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 5)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("acknowledge"), st.integers(0, 12)),
        st.tuples(st.just("lose the broker"), st.just(0)),
    ),
    max_size=30,
)


@given(STEPS)
def test_every_publication_has_one_fate(steps: list[tuple[str, int]]) -> None:
    """Accepted, unconfirmed or still waiting; handed over once; confirmed exactly when accepted."""
    run(_follow(steps))


async def _follow(steps: list[tuple[str, int]]) -> None:
    publishing = Publishing("p.1", 10**6)
    channel = new_channel()
    waiters: dict[int, asyncio.Future[None]] = {}
    handed: list[int] = []
    accepted: set[int] = set()
    doubtful: set[int] = set()
    on_stream: list[int] = []
    for step, number in steps:
        if step == "publish":
            for _ in range(number):
                sequence = publishing.add({"x": 1}, b"", None)
                waiters[sequence] = publishing.accepted_later(sequence)
        elif step == "flush":
            new = sent(publishing, channel)
            handed += new
            on_stream += new
        elif step == "acknowledge":
            acknowledge(publishing, channel, number)
            if channel.acknowledged == number:
                accepted |= set(on_stream[:number])
        else:
            doubtful |= set(on_stream) - accepted
            channel, on_stream = new_channel(), []
            publishing.begin_anew(channel)
    assert handed == list(range(1, len(handed) + 1))
    assert publishing.unconfirmed == len(doubtful)
    assert publishing.waiting == publishing.sequence - len(handed)
    for sequence, waiter in waiters.items():
        is_unconfirmed = waiter.done() and isinstance(waiter.exception(), UnconfirmedError)
        assert is_unconfirmed == (sequence in doubtful)
        assert (waiter.done() and not is_unconfirmed) == (sequence in accepted)


def test_a_confirmation_is_of_one_publication() -> None:
    async def scenario() -> None:
        publishing, channel = Publishing("p.1", 10**6), new_channel()
        first = publishing.accepted_later(publishing.add({}, b"", None))
        sent(publishing, channel)
        second = publishing.accepted_later(publishing.add({}, b"", None))
        sent(publishing, channel)
        acknowledge(publishing, channel, 1)
        assert (first.done(), second.done()) == (True, False)
        assert publishing.accepted_later(1).done()

    run(scenario())


def test_one_who_no_longer_waits_disturbs_no_other() -> None:
    async def scenario() -> None:
        publishing, channel = Publishing("p.1", 10**6), new_channel()
        sequence = publishing.add({}, b"", None)
        one, other = (publishing.accepted_later(sequence) for _ in range(2))
        one.cancel()
        sent(publishing, channel)
        acknowledge(publishing, channel, 1)
        assert other.done()
        assert not other.cancelled()

    run(scenario())


def test_a_refusal_is_of_one_publication() -> None:
    async def scenario() -> None:
        publishing, channel = Publishing("p.1", 10**6), new_channel()
        waiters = [publishing.accepted_later(publishing.add({}, b"", None)) for _ in range(3)]
        sent(publishing, channel)
        publishing.refuse(2, "no")
        acknowledge(publishing, channel, 3)
        assert publishing.refused == 1
        assert [waiter.exception() is None for waiter in waiters] == [True, False, True]
        assert isinstance(waiters[1].exception(), RefusedError)

    run(scenario())


def test_room_is_bounded_and_given_back() -> None:
    async def scenario() -> None:
        publishing, channel = Publishing("p.1", 3 * BATCH_BYTES), new_channel()
        while not publishing.is_full:
            if publishing.is_ample:
                sent(publishing, channel)
            publishing.add({}, b"x" * 1000, None)
        assert publishing.sequence * 1000 <= 3 * BATCH_BYTES
        sent(publishing, channel)
        assert publishing.is_full
        acknowledge(publishing, channel, publishing.sequence)
        assert not publishing.is_full

    run(scenario())


def test_a_full_batch_is_ample_and_a_small_one_is_not() -> None:
    publishing = Publishing("p.1", 10**9)
    publishing.add({}, b"", None)
    assert not publishing.is_ample
    publishing.add({}, b"x" * BATCH_BYTES, None)
    assert publishing.is_ample


def test_what_has_no_credit_was_not_handed_over() -> None:
    async def scenario() -> None:
        publishing, channel = Publishing("p.1", 10**6), new_channel(credit=1)
        publishing.add({}, b"", None)
        assert sent(publishing, channel) == [1]
        publishing.add({}, b"", None)
        assert sent(publishing, channel) == []
        assert publishing.waiting == 1
        following = new_channel()
        publishing.begin_anew(following)
        assert publishing.unconfirmed == 1
        assert sent(publishing, following) == [2]

    run(scenario())


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf")])
def test_an_impossible_expiry_is_refused(seconds: float) -> None:
    publishing = Publishing("p.1", 10**6)
    with pytest.raises(ParameterError, match="expires_in: is"):
        publishing.add({}, b"", seconds)
    assert publishing.sequence == 0
