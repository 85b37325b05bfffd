"""Control messages: round trips, other releases, garbage, and the exact bytes."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.wire.control import ControlCodec
from sapwood.wire.frames import BODY_BYTES_MAX, CONTROL, split


class Ask(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    id: str
    request: int = 0


class Answer(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    request: int
    is_yes: bool = True


CODEC: ControlCodec[Ask | Answer] = ControlCodec(Ask | Answer)

messages = st.one_of(
    st.builds(Ask, st.text(), st.integers(-(2**63), 2**64 - 1)),
    st.builds(Answer, st.integers(0, 2**64 - 1), st.booleans()),
)


def body_of(data: bytes) -> bytes:
    ((kind, head, body),) = split(data)
    assert (kind, head) == (CONTROL, b"")
    return body


@given(message=messages)
def test_messages_come_back(message: Ask | Answer) -> None:
    assert CODEC.decode(body_of(CODEC.encode(message))) == message


def test_unknown_fields_are_ignored() -> None:
    later = {"type": "Ask", "id": "a", "lease": [1, {"x": None}], "request": 3}
    assert CODEC.decode(msgspec.msgpack.encode(later)) == Ask("a", 3)


def test_missing_optional_fields_have_defaults() -> None:
    assert CODEC.decode(msgspec.msgpack.encode({"type": "Ask", "id": "a"})) == Ask("a")
    earlier = {"type": "Answer", "request": 1}
    assert CODEC.decode(msgspec.msgpack.encode(earlier)) == Answer(1, is_yes=True)


def packed(value: Any) -> bytes:
    return msgspec.msgpack.encode(value)


BAD_BODIES = {
    "empty": b"",
    "no map": packed(["Ask", "a"]),
    "no tag": packed({"id": "a"}),
    "unknown tag": packed({"type": "Order", "id": "a"}),
    "tag of another type": packed({"type": 1, "id": "a"}),
    "missing field": packed({"type": "Ask"}),
    "wrong type": packed({"type": "Ask", "id": 5}),
    "not strict": packed({"type": "Ask", "id": "a", "request": "5"}),
    "behind the end": packed({"type": "Ask", "id": "a"}) + b"\x00",
    "cut off": packed({"type": "Ask", "id": "a"})[:-1],
    "half a character": b"\x82\xa4type\xa3Ask\xa2id\xa1\xc3",
    "huge": b"\xdf\xff\xff\xff\xff",
    "deep": b"\x83\xa4type\xa3Ask\xa2id\xa1a\xa1z" + b"\x91" * 200_000 + b"\x00",
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_what_is_no_message_is_refused(name: str) -> None:
    with pytest.raises(FrameError, match="a control message does not decode: "):
        CODEC.decode(BAD_BODIES[name])


@given(message=messages, data=st.binary(max_size=60), flip=st.integers(0, 2**16))
def test_garbage_is_a_frame_error_or_a_message(
    message: Ask | Answer, data: bytes, flip: int
) -> None:
    changed = bytearray(body_of(CODEC.encode(message)))
    changed[flip % len(changed)] ^= 1 + flip % 255
    for garbage in (data, bytes(changed)):
        with contextlib.suppress(FrameError):
            assert isinstance(CODEC.decode(garbage), Ask | Answer)


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(FrameError, match="a control message Ask cannot be encoded: 'utf-8'"):
        CODEC.encode(Ask("\ud800"))
    with pytest.raises(FrameError, match="a control message Ask cannot be encoded: can't serial"):
        CODEC.encode(Ask("a", 2**64))
    with pytest.raises(FrameError, match=f"at most {BODY_BYTES_MAX} are sent"):
        CODEC.encode(Ask("x" * BODY_BYTES_MAX))


def test_the_bytes_of_a_message_are_these() -> None:
    assert CODEC.encode(Ask("a", 300)) == bytes.fromhex(
        "01"  # a control message
        "1a000000"  # 26 bytes of body
        "0000"  # no head
        "83"  # three fields
        "a474797065 a341736b"  # type: Ask
        "a26964 a161"  # id: a
        "a772657175657374 cd012c"  # request: 300
    )
    assert CODEC.encode(Answer(1)) == bytes.fromhex(
        "01 16000000 0000 82 a474797065 a6416e73776572 a772657175657374 01"
    )
