"""Frames: they round-trip, cut where the data is cut, and refuse what is none."""

from __future__ import annotations

import struct
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    EXPIRES,
    HEADER_SIZE,
    KNOWN_TYPES,
    NOTIFICATION,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    expiry_of,
    frame,
    split,
    whole_frames,
)

values = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
names = st.text("abcdefghijklmnopqrstuvwxyz_.äß ", min_size=1, max_size=10)
attributes = st.dictionaries(names, values, max_size=6)
pieces = st.tuples(
    st.sampled_from(sorted(KNOWN_TYPES)),
    st.binary(max_size=20),
    st.binary(min_size=ENVELOPE_SIZE, max_size=60),
)


@given(st.lists(pieces, max_size=5))
def test_frames_come_back_as_they_went(frames: list[tuple[int, bytes, bytes]]) -> None:
    data = b"".join(frame(*one) for one in frames)
    assert list(split(data)) == frames
    assert whole_frames(data) == len(data)


@given(st.lists(pieces, min_size=1, max_size=4), st.data())
def test_data_cut_anywhere_has_only_its_whole_frames(
    frames: list[tuple[int, bytes, bytes]], data: st.DataObject
) -> None:
    encoded = [frame(*one) for one in frames]
    whole = b"".join(encoded)
    cut = data.draw(st.integers(0, len(whole) - 1))
    ends = [len(b"".join(encoded[:count])) for count in range(len(encoded))]
    assert whole_frames(whole[:cut]) == max(end for end in ends if end <= cut)
    if cut not in ends:
        with pytest.raises(FrameError, match="cut off"):
            list(split(whole[:cut]))


@given(st.binary(max_size=60))
def test_garbage_is_frames_or_a_frame_error(data: bytes) -> None:
    with suppress(FrameError):
        sizes = [HEADER_SIZE + len(head) + len(body) for _, head, body in split(data)]
        assert sum(sizes) == len(data)
    with suppress(FrameError):
        assert 0 <= whole_frames(data) <= len(data)


def test_a_body_that_is_too_long_is_refused_at_its_header() -> None:
    header = struct.pack("<BIH", NOTIFICATION, BODY_BYTES_MAX + 1, 0)
    with pytest.raises(FrameError, match=str(BODY_BYTES_MAX)):
        whole_frames(header)
    assert whole_frames(struct.pack("<BIH", NOTIFICATION, BODY_BYTES_MAX, 0)) == 0


@given(st.text(min_size=1, max_size=10), attributes)
def test_a_head_round_trips_and_equal_attributes_give_equal_bytes(
    publisher: str, given_attributes: dict[str, bool | int | float | str]
) -> None:
    head = encode_head(publisher, given_attributes)
    assert decode_head(head) == (publisher, given_attributes)
    assert {name: type(value) for name, value in decode_head(head)[1].items()} == {
        name: type(value) for name, value in given_attributes.items()
    }
    assert encode_head(publisher, dict(reversed(given_attributes.items()))) == head


def test_a_head_that_does_not_fit_is_refused() -> None:
    with pytest.raises(FrameError, match="payload"):
        encode_head("alice.1", {"text": "x" * 70_000})


@given(st.binary(max_size=30))
def test_a_bad_head_is_a_frame_error(data: bytes) -> None:
    with suppress(FrameError):
        decode_head(data)


@given(
    st.integers(0, 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=30),
    st.floats(0, 1e12),
)
def test_a_notification_round_trips(
    sequence: int, at: float, payload: bytes, expires_at: float
) -> None:
    head = encode_head("alice.1", {"a": 1})
    data = encode_notification(head, sequence, at, payload, expires_at)
    ((kind, found, body),) = split(data)
    assert kind == (NOTIFICATION | EXPIRES if expires_at else NOTIFICATION)
    assert found == head
    envelope = decode_envelope(body)
    assert envelope == (sequence, at, expires_at, 0, payload)
    assert expiry_of(data, HEADER_SIZE + len(head)) == expires_at


def test_a_body_without_its_envelope_is_refused() -> None:
    with pytest.raises(FrameError, match=str(ENVELOPE_SIZE)):
        decode_envelope(b"short")
    with pytest.raises(FrameError, match=str(ENVELOPE_SIZE)):
        whole_frames(frame(NOTIFICATION, b"", b"short"))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_times_that_are_none_are_refused(wrong: float) -> None:
    with pytest.raises(FrameError, match="not a time"):
        encode_notification(b"", 1, wrong)
    with pytest.raises(FrameError, match="not a time"):
        decode_envelope(struct.pack("<QddB", 1, 0.0, wrong, 0))


@pytest.mark.parametrize("wrong", [{"": 1}, {"a\x00": 1}, {"a": None}, {"a": [1]}, {"a": 2**63}])
def test_attributes_that_no_notification_has_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(FrameError, match="head of a notification"):
        decode_head(msgspec.msgpack.encode(("alice.1", wrong)))


def test_the_bytes_of_version_one_stay_as_they_are() -> None:
    head = encode_head("alice.1", {"symbol": "IBM", "price": 120.5, "urgent": True})
    notification = encode_notification(head, 17, 2.5, b"pay", 9.0)
    assert head.hex() == (
        "92a7616c6963652e3183a57072696365cb405e200000000000a673796d626f6ca349424da6757267656e74c3"
    )
    envelope = "1100000000000000" + "0000000000000440" + "0000000000002240" + "00"
    assert notification.hex() == "221c0000002c00" + head.hex() + envelope + "706179"
    assert frame(CONTROL, b"", b"x").hex() == "0101000000000078"
