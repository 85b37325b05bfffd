"""The control codec: tagged maps that tolerate the release before and the one after."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.wire.control import ControlCodec
from sapwood.wire.frames import CONTROL, split


class Ping(msgspec.Struct, tag=True, frozen=True):
    """A message."""

    number: int
    note: str = ""


class Pong(msgspec.Struct, tag=True, frozen=True):
    """Another."""

    number: int


CODEC: ControlCodec[Ping | Pong] = ControlCodec(Ping | Pong)


def body_of(data: bytes) -> bytes:
    ((kind, head, body),) = split(data)
    assert (kind, head) == (CONTROL, b"")
    return body


@given(st.integers(-(2**63), 2**63 - 1), st.text(max_size=10))
def test_messages_round_trip(number: int, note: str) -> None:
    for message in (Ping(number, note), Pong(number)):
        assert CODEC.decode(body_of(CODEC.encode(message))) == message


def test_an_unknown_field_is_ignored_and_a_missing_one_has_its_default() -> None:
    body = msgspec.msgpack.encode({"type": "Ping", "number": 3, "later": [1, 2]})
    assert CODEC.decode(body) == Ping(3, "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"type": "Other", "number": 1}),
        msgspec.msgpack.encode({"type": "Ping"}),
        msgspec.msgpack.encode({"type": "Ping", "number": "one"}),
        msgspec.msgpack.encode([1, 2]),
    ],
)
def test_what_is_no_message_is_a_frame_error(body: bytes) -> None:
    with pytest.raises(FrameError, match="control message"):
        CODEC.decode(body)


@given(st.binary(max_size=30))
def test_garbage_is_a_message_or_a_frame_error(body: bytes) -> None:
    with suppress(FrameError):
        CODEC.decode(body)
