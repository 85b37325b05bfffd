"""Tests for one connection: reads that end anywhere, and bytes that are no frames."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.link.handshake import LINK_CODEC, Ack, GivenUp, LinkMessage, Ping
from sapwood.protocol.link.line import HANDSHAKE_BYTES_MAX, Frames, Line
from sapwood.protocol.link.states import LineState
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    LINK,
    NOTIFICATION,
    frame,
    split,
)

NOTE = frame(NOTIFICATION, b"head", bytes(ENVELOPE_SIZE) + b"payload")
ORDER = frame(CONTROL, b"", b"order")
ITEMS: list[object] = [ORDER, Ack(1, 2), NOTE, NOTE, GivenUp(3), Ping(), ORDER, NOTE]
BYTES = b"".join(
    item if isinstance(item, bytes) else LINK_CODEC.encode(item)  # type: ignore[arg-type]
    for item in ITEMS
)


def read(reads: Iterable[bytes], state: LineState = LineState.OPEN) -> tuple[Line, list[object]]:
    """What a line makes of some reads: the frames and the messages of the connection."""
    line = Line(1, state, 0.0)
    heard: list[object] = []
    for data in reads:
        for piece in line.read(data):
            if isinstance(piece, Frames):
                frames = [frame(*parts) for parts in split(piece.data)]
                assert piece.frames == len(frames)
                assert piece.size == sum(len(one) for one in frames if one[0] != CONTROL)
                heard += frames
            else:
                heard.append(piece)
    return line, heard


def test_reads_may_end_at_every_byte() -> None:
    for cut in range(len(BYTES) + 1):
        assert read([BYTES[:cut], BYTES[cut:]])[1] == ITEMS


def test_reads_may_be_single_bytes() -> None:
    assert read(BYTES[at : at + 1] for at in range(len(BYTES)))[1] == ITEMS


@given(st.lists(st.sampled_from([ORDER, NOTE]), max_size=8), st.data())
def test_reads_without_link_frames_end_anywhere_too(run: list[bytes], data: st.DataObject) -> None:
    joined = b"".join(run)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(joined)), max_size=4)))
    reads = [joined[a:b] for a, b in zip([0, *cuts], [*cuts, len(joined)], strict=True) if a < b]
    assert read(reads)[1] == run


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HEADER.pack(NOTIFICATION, BODY_BYTES_MAX + 1, 0), "at most 16777216 are taken"),
        (HEADER.pack(NOTIFICATION, ENVELOPE_SIZE - 1, 0), "a notification's body has"),
        (frame(LINK, b"", b"\xc1"), "does not decode"),
        (frame(LINK, b"", b"\x81\xa4type\xa3Foo"), "Foo"),
    ],
)
def test_what_is_no_frame_is_a_problem_and_nothing_behind_it_is_looked_at(
    data: bytes, words: str
) -> None:
    line, heard = read([ORDER + data + NOTE])
    assert words in line.problem
    assert NOTE not in heard


@pytest.mark.parametrize("state", [LineState.GREETING, LineState.EXAMINING])
def test_a_stranger_may_not_send_long_frames(state: LineState) -> None:
    line, heard = read([HEADER.pack(LINK, HANDSHAKE_BYTES_MAX, 0)], state)
    assert "before the handshake is done" in line.problem
    assert heard == []


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_garbage_never_raises(reads: list[bytes]) -> None:
    for state in LineState:
        line = Line(1, state, 0.0)
        for data in reads:
            if not line.problem:
                line.read(data)


@pytest.mark.parametrize("seed", range(5))
def test_frames_with_flipped_bits_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        data = bytearray(BYTES)
        for _ in range(chance.randint(1, 5)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        Line(1, LineState.OPEN, 0.0).read(bytes(data))


def test_what_is_written_is_collected() -> None:
    line = Line(1, LineState.OPEN, 0.0)
    messages: list[LinkMessage] = [Ping(1), Ack(2, 3)]
    for message in messages:
        line.say(message)
    assert line.take() == b"".join(LINK_CODEC.encode(message) for message in messages)
    assert line.out == []


def test_it_goes_from_state_to_state_as_the_table_says() -> None:
    line = Line(1, LineState.CALLING, 0.0)
    assert not line.advance("Hello")
    assert (line.advance("Welcome"), line.is_open) == (True, True)
    assert (line.advance("end"), line.state) == (True, LineState.CLOSING)
