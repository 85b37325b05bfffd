"""Tests for one connection: however a read is cut, the same frames come out of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.protocol.link.handshake import LINK_CODEC, Ack, GivenUp, LinkMessage, Ping, Pong
from sapwood.protocol.link.line import FORGOTTEN, HANDSHAKE_BYTES_MAX, Frames, Line, lone_ack
from sapwood.protocol.link.states import LineState
from sapwood.protocol.messages import CODEC, Unsubscribe
from sapwood.wire.frames import (
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    HEADER_SIZE,
    LINK,
    NOTIFICATION,
    frame,
    split,
)

NOTE = frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE))
ORDER = CODEC.encode(Unsubscribe("1"))

Single = tuple[int, bytes, bytes] | LinkMessage


def line(state: LineState = LineState.OPEN) -> Line:
    return Line(1, state, 0.0)


def singles(line: Line, data: bytes) -> list[Single]:
    """The frames of a read, one by one."""
    found: list[Single] = []
    for piece in line.read(data):
        if isinstance(piece, Frames):
            frames = list(split(piece.data))
            assert len(frames) == piece.frames
            notes = sum(len(frame(*one)) for one in frames if one[0] != CONTROL)
            assert piece.size == notes
            found += frames
        else:
            found.append(piece)
    return found


messages: st.SearchStrategy[LinkMessage] = st.sampled_from(
    [Ack(1, 2), Ack(2**40, 2**60), Ping(1), Pong(2), GivenUp(3)]
)
good = st.sampled_from([NOTE, ORDER]) | messages.map(LINK_CODEC.encode)
bad = (
    st.binary(max_size=40)
    | st.builds(frame, st.integers(0, 255), st.binary(max_size=4), st.binary(max_size=30))
    | st.binary(max_size=20).map(lambda body: frame(LINK, b"", body))
    | st.just(HEADER.pack(NOTIFICATION, 2**32 - 1, 0))
)
cuts = st.lists(st.integers(1, 30), min_size=1, max_size=20)


def pieces_of(data: bytes, sizes: list[int]) -> list[bytes]:
    found: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(found) % len(sizes)]
        found.append(data[at : at + size])
        at += size
    return found


@given(st.lists(good, max_size=20), cuts)
def test_frames_do_not_depend_on_how_a_read_is_cut(frames: list[bytes], sizes: list[int]) -> None:
    data = b"".join(frames)
    whole, cut = line(), line()
    expected = singles(whole, data)
    found = [one for piece in pieces_of(data, sizes) for one in singles(cut, piece)]
    assert found == expected
    assert len(found) == len(frames)
    assert (whole.problem, cut.problem, whole.rest, cut.rest) == ("", "", [], [])


@given(st.lists(good | bad, max_size=12), cuts)
@example([NOTE, b"\xff" * 8], [1])
def test_no_bytes_raise_and_a_problem_is_found_however_they_are_cut(
    frames: list[bytes], sizes: list[int]
) -> None:
    """What was whole before the problem may come out if it was read before."""
    data = b"".join(frames)
    whole, cut = line(), line()
    expected = singles(whole, data)
    found: list[Single] = []
    for piece in pieces_of(data, sizes):
        found += singles(cut, piece)
        if cut.problem:
            break
    assert found[: len(expected)] == expected
    assert bool(cut.problem) == bool(whole.problem)
    if not whole.problem:
        assert found == expected


def test_whole_frames_of_a_read_stay_together_and_messages_come_one_by_one() -> None:
    data = NOTE + ORDER + LINK_CODEC.encode(Ping(7)) + NOTE + NOTE[:5]
    one = line()
    assert one.read(data) == [
        Frames(NOTE + ORDER, 2, len(NOTE)),
        Ping(7),
        Frames(NOTE, 1, len(NOTE)),
    ]
    assert (one.rest, one.rest_size, one.needed) == ([NOTE[:5]], 5, 7)
    assert one.read(NOTE[5:]) == [Frames(NOTE, 1, len(NOTE))]


@pytest.mark.parametrize(("field", "value"), [("rest", []), ("needed", 0), ("rest_size", 0)])
def test_a_frame_whose_beginning_was_forgotten_is_not_read_on(field: str, value: object) -> None:
    one = line()
    one.read(NOTE[:5])
    setattr(one, field, value)
    assert not one.is_sound(0.0)
    assert one.read(NOTE[5:] + NOTE) == []
    assert one.problem == FORGOTTEN


def test_what_comes_before_a_message_that_does_not_decode_is_not_lost() -> None:
    one = line()
    assert one.read(NOTE + frame(LINK, b"", b"\x00") + NOTE) == [Frames(NOTE, 1, len(NOTE))]
    assert "does not decode" in one.problem


def test_nobody_makes_a_broker_wait_for_a_long_frame_before_the_handshake() -> None:
    header = HEADER.pack(LINK, HANDSHAKE_BYTES_MAX, 0)
    for state in (LineState.GREETING, LineState.EXAMINING):
        one = line(state)
        assert one.read(header) == []
        assert "before the handshake is done; at most 65536 are taken" in one.problem
    for state in (LineState.CALLING, LineState.OPEN):  # the other side is known
        one = line(state)
        assert (one.read(header), one.problem) == ([], "")


def test_all_that_is_said_leaves_at_once() -> None:
    one = line()
    one.say(Ping(1))
    one.out.append(NOTE)
    one.say(Pong(2))
    assert one.take() == LINK_CODEC.encode(Ping(1)) + NOTE + LINK_CODEC.encode(Pong(2))
    assert one.out == []
    one.out.append(NOTE)
    assert one.take() is NOTE  # not copied


def test_it_goes_through_its_states_and_no_others() -> None:
    one = line(LineState.GREETING)
    assert not one.advance("Welcome")
    assert one.state is LineState.GREETING
    assert one.advance("Hello")
    assert one.advance("admit")
    assert one.is_open
    assert one.advance("end")
    assert not one.advance("end")
    assert repr(Line(3, LineState.OPEN, 0.0, address="there:1")) == "<line 3 open there:1>"


def test_an_acknowledgement_by_itself_is_known_at_once() -> None:
    assert lone_ack(LINK_CODEC.encode(Ack(3, 4))) == Ack(3, 4)
    assert lone_ack(frame(LINK, b"head", LINK_CODEC.encode(Ack(3, 4))[HEADER_SIZE:])) == Ack(3, 4)


@pytest.mark.parametrize("other", [LINK_CODEC.encode(Ping()), frame(LINK, b"", b"\xff\x00")])
def test_anything_else_is_no_acknowledgement(other: bytes) -> None:
    assert lone_ack(other) is None
