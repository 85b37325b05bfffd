"""A new session of a peer takes over what its old one left, against a plain list of frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import LINK_CODEC, Ack, GivenUp
from sapwood.protocol.link.spool import FrameRun, MemorySpool
from sapwood.wire.frames import (
    CONTROL,
    ENVELOPE_SIZE,
    LINK,
    NOTIFICATION,
    frame,
    split,
)


def note(number: int) -> bytes:
    return frame(NOTIFICATION, b"", number.to_bytes(ENVELOPE_SIZE, "big"))


def number_of(body: bytes) -> int:
    return int.from_bytes(body[:ENVELOPE_SIZE], "big")


ORDER = frame(CONTROL, b"", b"!")
SIZE = len(note(0))

steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(1, 5)),
        st.tuples(st.just("control"), st.just(0)),
        st.tuples(st.just("credit"), st.integers(1, 6)),
        st.tuples(st.just("acknowledge"), st.integers(1, 8)),
    ),
    max_size=30,
)


class Story:
    """A stream to a session that ends, and what was asked of it."""

    def __init__(self, buffer_notes: int) -> None:
        limits = ChannelLimits(buffer_bytes=buffer_notes * SIZE)
        self.channel = Channel(limits, MemorySpool())
        self.channel.connect(0, 0)
        self.limits = limits
        self.pushed = 0
        self.sent: list[int | None] = []
        """Frames on the connection: the number of a notification, or None."""
        self.given_up: set[int] = set()
        self._credit = 0

    def do(self, what: str, count: int) -> None:
        if what == "push":
            numbers = range(self.pushed, self.pushed + count)
            self.pushed += count
            runs = self.channel.push(b"".join(map(note, numbers)), count)
            for run in runs:
                assert run.data is not None
                self.given_up.update(number_of(body) for _, _, body in split(run.data))
        elif what == "control":
            self.channel.push_control(ORDER)
        elif what == "credit":
            self._credit += count * SIZE
            self.channel.acknowledge(Ack(self.channel.acknowledged, self._credit))
        else:
            received = min(self.channel.acknowledged + count, self.channel.sent)
            self.channel.acknowledge(Ack(received, self._credit))
        self.sent += numbers_of(self.channel.take())


def numbers_of(pieces: list[bytes]) -> list[int | None]:
    """What is on a connection: given up frames are as many Nones as there are."""
    found: list[int | None] = []
    for kind, _, body in split(b"".join(pieces)):
        if kind == LINK:
            message = LINK_CODEC.decode(body)
            assert isinstance(message, GivenUp)
            found += [None] * message.count
        else:
            found.append(number_of(body) if kind == NOTIFICATION else None)
    return found


@given(steps, st.booleans(), st.integers(4, 40))
def test_what_is_kept_lost_and_acknowledged_is_all_that_was_pushed(
    steps: list[tuple[str, int]], is_certain: bool, buffer_notes: int
) -> None:
    story = Story(buffer_notes)
    for step in steps:
        story.do(*step)
    acknowledged = [one for one in story.sent[: story.channel.acknowledged] if one is not None]
    in_flight = [one for one in story.sent[story.channel.acknowledged :] if one is not None]
    given_up_before = story.channel.given_up
    after = Channel(story.limits)
    lost = after.inherit(story.channel, lambda _: False, is_certain=is_certain)
    after.connect(0, 2**40)
    kept = [one for one in numbers_of(after.take()) if one is not None]
    lost_numbers = [
        number_of(body) for run in lost if run.data is not None for _, _, body in split(run.data)
    ]
    assert kept == sorted(kept)
    assert acknowledged + lost_numbers == sorted(acknowledged + lost_numbers)
    everything = [*acknowledged, *lost_numbers, *kept, *story.given_up]
    assert sorted(everything) == list(range(story.pushed))
    assert lost_numbers == ([] if is_certain else in_flight)
    assert (after.given_up, given_up_before) == (len(lost_numbers), len(story.given_up))
    assert (story.channel.is_idle, list(after.problems())) == (True, [])


@given(st.lists(st.integers(1, 4), max_size=10), st.integers(0, 30), st.integers(0, 30))
def test_a_spool_hands_over_each_notification_once(
    sizes: list[int], credit: int, released: int
) -> None:
    spool = MemorySpool()
    pushed = 0
    for size in sizes:
        data = b"".join(note(number) for number in range(pushed, pushed + size))
        spool.append(FrameRun(data, size, len(data)))
        pushed += size
    sent = sum(run.frames for run in spool.take(credit * SIZE))
    released = min(released, sent)
    spool.release(released)
    kept, lost = spool.hand_over(lambda _: False, sent_too=False)
    assert sum(run.frames for run in lost) == sent - released
    assert sum(run.frames for run in kept) == pushed - released
    assert sum(run.frames for run in kept if run.data is None) == sent - released
    assert all(run.in_doubt for run in lost)
    assert (spool.is_empty, spool.size, spool.control_size) == (True, 0, 0)
    assert list(spool.problems(0)) == []


@pytest.mark.parametrize("sent", [0, 4], ids=["kept", "sent"])
def test_control_messages_that_outlive_a_stream_keep_their_places(sent: int) -> None:
    """Also if they were said anew: what was kept before them is older than they are."""
    moved, anew = frame(CONTROL, b"", b"moved"), frame(CONTROL, b"", b"anew")
    before, after = Channel(ChannelLimits()), Channel(ChannelLimits())
    before.connect(0, sent * SIZE)
    before.push(note(0), 1)
    before.push_control(ORDER)
    before.push_control(moved)
    before.push(note(1), 1)
    before.take()
    after.push_control(moved)
    after.push_control(anew)
    assert after.inherit(before, moved.__eq__, is_certain=True) == []
    after.connect(0, 2**40)
    assert b"".join(after.take()) == b"".join([anew, note(0), moved, note(1)])
    assert list(after.problems()) == []
