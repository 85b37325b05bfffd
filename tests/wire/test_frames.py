"""Frames: round trips, the exact bytes, and nothing but FrameError for what is none."""

from __future__ import annotations

import contextlib
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.filters.values import Value
from sapwood.wire import frames
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    EXPIRES,
    GRAY,
    HEAD_BYTES_MAX,
    HEADER,
    HEADER_SIZE,
    KNOWN_TYPES,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    SEQUENCE_MAX,
    Envelope,
    decode_attributes,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    expiry_of,
    frame,
    split,
    walk,
)
from sapwood.wire.scan import scan

texts = st.text(max_size=20)
names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20)
values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
attributes = st.dictionaries(names, values, max_size=6)
times = st.floats(allow_nan=False, allow_infinity=False)
kinds = st.integers(0, 255)
any_frames = st.lists(st.tuples(kinds, st.binary(max_size=40), st.binary(max_size=60)), max_size=5)


def typed(attributes: dict[str, Value]) -> dict[str, tuple[type, Value]]:
    """True equals 1 and 1.0 equals 1; here they do not."""
    return {name: (type(value), value) for name, value in attributes.items()}


# --- round trips --------------------------------------------------------------------------


@given(publisher=texts, attributes=attributes)
def test_heads_come_back(publisher: str, attributes: dict[str, Value]) -> None:
    decoded, back = decode_head(encode_head(publisher, attributes))
    assert decoded == publisher
    assert typed(back) == typed(attributes)


@given(attributes=attributes, data=st.data())
def test_equal_attributes_give_equal_heads(
    attributes: dict[str, Value], data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(attributes.items()))))
    assert encode_head("p", shuffled) == encode_head("p", attributes)
    other = {**attributes, "another": 1}
    if "another" not in attributes:
        assert encode_head("p", other) != encode_head("p", attributes)
    assert encode_head("q", attributes) != encode_head("p", attributes)


@given(
    sequence=st.integers(0, SEQUENCE_MAX),
    published_at=times,
    expires_at=times,
    payload=st.binary(max_size=50),
    attributes=attributes,
)
def test_notifications_come_back(
    sequence: int,
    published_at: float,
    expires_at: float,
    payload: bytes,
    attributes: dict[str, Value],
) -> None:
    head = encode_head("p", attributes)
    data = encode_notification(head, sequence, published_at, payload, expires_at)
    ((kind, got_head, body),) = split(data)
    assert kind == (NOTIFICATION | EXPIRES if expires_at else NOTIFICATION)
    assert got_head == head
    assert decode_envelope(body) == Envelope(sequence, published_at, expires_at, 0, payload)
    assert expiry_of(data, HEADER_SIZE + len(head)) == expires_at
    assert scan(data).end == len(data)


@given(parts=any_frames)
def test_frames_come_back_from_one_stream(parts: list[tuple[int, bytes, bytes]]) -> None:
    assert list(split(b"".join(frame(*part) for part in parts))) == parts


# --- cut anywhere -------------------------------------------------------------------------


def test_data_cut_at_every_byte() -> None:
    """Whole frames are counted, and what is cut off is refused or waited for."""
    pieces = [
        encode_notification(encode_head("p", {"a": 1}), 1, 2.0, b"payload"),
        frame(CONTROL, b"", b"body"),
        encode_notification(encode_head("p", {"a": 2}), 2, 2.5, expires_at=9.0),
        frame(0x7F, b"", b""),
    ]
    data = b"".join(pieces)
    ends = [sum(map(len, pieces[:count])) for count in range(len(pieces) + 1)]
    for cut in range(len(data) + 1):
        whole = max(end for end in ends if end <= cut)
        assert scan(data[:cut]).end == whole
        assert len(list(split(data[:whole]))) == ends.index(whole)
        if cut != whole:
            with pytest.raises(FrameError, match="cut off"):
                list(split(data[:cut]))


@given(parts=any_frames, cut=st.integers(0, 400))
def test_what_is_counted_as_whole_can_be_split(
    parts: list[tuple[int, bytes, bytes]], cut: int
) -> None:
    parts = [part for part in parts if part[0] not in NOTIFICATION_TYPES]
    data = b"".join(frame(*part) for part in parts)[:cut]
    whole = scan(data).end
    assert list(split(data[:whole])) == parts[: len(list(split(data[:whole])))]
    assert scan(data[whole:]).end == 0


# --- what is refused ----------------------------------------------------------------------


def test_a_body_that_is_too_long_is_refused_by_its_header() -> None:
    whole = frame(CONTROL, b"", b"x")
    for size in (BODY_BYTES_MAX + 1, 2**32 - 1):
        with pytest.raises(FrameError, match=f"body has {size} bytes; at most {BODY_BYTES_MAX}"):
            scan(whole + HEADER.pack(CONTROL, size, 0))
    assert scan(whole + HEADER.pack(CONTROL, BODY_BYTES_MAX, 0)).end == len(whole)


@pytest.mark.parametrize("kind", sorted(NOTIFICATION_TYPES))
def test_a_notification_without_envelope_is_refused_by_its_header(kind: int) -> None:
    with pytest.raises(FrameError, match=f"has {ENVELOPE_SIZE - 1} bytes; it has at least 25"):
        scan(HEADER.pack(kind, ENVELOPE_SIZE - 1, 0))
    assert scan(HEADER.pack(kind, ENVELOPE_SIZE, 0)).end == 0


def test_what_cannot_be_framed_is_refused() -> None:
    with pytest.raises(FrameError, match=f"a body of {BODY_BYTES_MAX + 1} bytes"):
        frame(CONTROL, b"", bytes(BODY_BYTES_MAX + 1))
    with pytest.raises(FrameError, match="a head of 65536 bytes; at most 65535 fit"):
        frame(NOTIFICATION, bytes(HEAD_BYTES_MAX + 1), b"")
    assert len(frame(NOTIFICATION, bytes(HEAD_BYTES_MAX), b"")) == HEADER_SIZE + HEAD_BYTES_MAX


def test_attributes_that_do_not_fit_are_refused_with_the_remedy() -> None:
    fits = {"a": "x" * 65_000}
    assert len(encode_head("p", fits)) <= HEAD_BYTES_MAX
    with pytest.raises(FrameError, match=r"take 65\d+ bytes; at most 65535 fit .*payload"):
        encode_head("p", {"a": "x" * 65_535})


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800", object()])
def test_values_that_no_head_can_carry_are_refused(value: Value) -> None:
    with pytest.raises(FrameError, match="cannot be encoded"):
        encode_head("p", {"a": value})


@pytest.mark.parametrize("sequence", [-1, SEQUENCE_MAX + 1])
def test_a_sequence_out_of_range_is_refused(sequence: int) -> None:
    with pytest.raises(FrameError, match=f"the sequence {sequence} is not within 0 and"):
        encode_notification(b"", sequence, 0.0)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), float("-inf")])
def test_a_time_that_is_none_is_refused(time: float) -> None:
    with pytest.raises(FrameError, match="not a time"):
        encode_notification(b"", 1, time)
    with pytest.raises(FrameError, match="not a time"):
        encode_notification(b"", 1, 0.0, expires_at=time)
    for packed in ((1, time, 0.0, 0), (1, 0.0, time, 0)):
        with pytest.raises(FrameError, match="not a time"):
            decode_envelope(struct.pack("<QddB", *packed))


def test_an_envelope_cut_off_is_refused() -> None:
    with pytest.raises(FrameError, match="has 24 bytes; it has at least 25"):
        decode_envelope(bytes(ENVELOPE_SIZE - 1))
    with pytest.raises(FrameError, match="ends before the expiry at byte 3"):
        expiry_of(bytes(ENVELOPE_SIZE), 3)


BAD_HEADS = {
    "empty": b"",
    "no array": b"\xa1p",
    "too short": b"\x91\xa1p",
    "publisher is a number": b"\x92\x01\x80",
    "behind the end": b"\x92\xa1p\x80\x00",
    "huge map": b"\x92\xa1p\xdf\xff\xff\xff\xff",
    "nested": b"\x92\xa1p\x81\xa1a\x90",
    "null": b"\x92\xa1p\x81\xa1a\xc0",
    "bytes": b"\x92\xa1p\x81\xa1a\xc4\x01x",
    "half a character": b"\x92\xa1p\x81\xa1a\xa1\xc3",
    "a surrogate": b"\x92\xa1p\x81\xa1a\xa3\xed\xa0\x80",
    "not a number": b"\x92\xa1p\x81\xa1a\xcb" + struct.pack(">d", float("nan")),
    "infinite": b"\x92\xa1p\x81\xa1a\xcb" + struct.pack(">d", float("-inf")),
    "beyond 64 bits": b"\x92\xa1p\x81\xa1a\xcf" + struct.pack(">Q", 2**63),
    "empty name": b"\x92\xa1p\x81\xa0\x01",
    "name with a control character": b"\x92\xa1p\x81\xa2a\n\x01",
    "long name": msgspec.msgpack.encode(("p", {"n" * 256: 1})),
    "many attributes": msgspec.msgpack.encode(("p", {f"n{at}": 1 for at in range(1025)})),
    "deep": b"\x93\xa1p\x80" + b"\x91" * 60_000 + b"\x00",
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_heads_that_no_notification_has_are_refused(name: str) -> None:
    with pytest.raises(FrameError, match="the head of a notification"):
        decode_head(BAD_HEADS[name])


def test_what_a_later_release_appends_to_a_head_is_ignored() -> None:
    later = msgspec.msgpack.encode(("p", {"a": 1}, {"region": [1, 2]}, None))
    assert decode_head(later) == ("p", {"a": 1})


@given(data=st.binary(max_size=200), seed=attributes, flip=st.integers(0, 2**16))
def test_garbage_is_a_frame_error_or_a_frame(
    data: bytes, seed: dict[str, Value], flip: int
) -> None:
    """Random bytes, and frames with one byte changed."""
    good = bytearray(encode_notification(encode_head("p", seed), 1, 2.0, b"x", 3.0))
    good[flip % len(good)] ^= 1 + flip % 255
    for garbage in (data, bytes(good)):
        for read in (scan, decode_head, decode_envelope, lambda one: expiry_of(one, 5)):
            with contextlib.suppress(FrameError):
                read(garbage)
        with contextlib.suppress(FrameError):
            for _, head, body in split(garbage):
                decode_head(head)
                decode_envelope(body)


# --- the bytes ----------------------------------------------------------------------------


def test_types() -> None:
    assert (CONTROL, NOTIFICATION, GRAY, EXPIRES) == (0x01, 0x02, 0x10, 0x20)
    assert sorted(NOTIFICATION_TYPES) == [0x02, 0x12, 0x22, 0x32]
    assert sorted(KNOWN_TYPES) == [0x01, 0x02, 0x03, 0x12, 0x22, 0x32]
    assert (HEADER_SIZE, ENVELOPE_SIZE) == (7, 25)


def test_the_bytes_of_a_notification_are_these() -> None:
    """A change here is a change of the format: brokers of different releases would not talk."""
    head = encode_head("c.1", {"price": 120.5, "ok": True, "n": -7, "big": 2**40, "symbol": "IBM"})
    assert head == bytes.fromhex(
        "92"  # two parts
        "a3632e31"  # "c.1"
        "85"  # five attributes, by name
        "a3626967 cf0000010000000000"  # big
        "a16e f9"  # n
        "a26f6b c3"  # ok
        "a57072696365 cb405e200000000000"  # price
        "a673796d626f6c a349424d"  # symbol
    )
    data = encode_notification(head, 258, 1.5, b"\xff\x00", expires_at=2.5)
    opening = "22 1b000000 3400"  # a notification that expires, 27 bytes of body, 52 of head
    sequence, published_at, expires_at = "0201000000000000", "000000000000f83f", "0000000000000440"
    envelope = sequence + published_at + expires_at + "00"  # and no flags
    assert data == bytes.fromhex(opening) + head + bytes.fromhex(envelope) + b"\xff\x00"
    plain = encode_notification(b"", 1, 0.0)
    assert plain == bytes.fromhex("02 19000000 0000" + "01" + "00" * 24)


def test_frames_know_nothing_of_messages() -> None:
    assert frames.frame(0x01, b"h", b"bd") == bytes.fromhex("01 02000000 0100 68 6264")


ATTRIBUTES = st.dictionaries(
    st.sampled_from(["a", "b.c", "ü"]), st.integers(-9, 9) | st.text(max_size=4) | st.booleans()
)


@given(st.lists(ATTRIBUTES, max_size=6))
def test_many_attributes_decode_as_one_by_one(found: list[dict[str, Value]]) -> None:
    maps = [encode_head("", one)[2:] for one in found]
    assert decode_attributes(maps, b"12345678") == found


@pytest.mark.parametrize(
    "maps",
    [
        [b"\x81\xa1x\x01\x80", b"\x80"],  # more than a map
        [b"\x81\xa1x\xc4\x0b", b"\x80"],  # it would take the separator for its own
        [b"\x81\xa1x\x93\x01\x02\x03"],
        [b"\xc4\x0812345678"],
        [b"\x81\xa1\x00\x01"],
        [b""],
    ],
)
def test_attributes_that_are_not_fit_are_refused_among_others(maps: list[bytes]) -> None:
    with pytest.raises(FrameError, match=r"^attributes"):
        decode_attributes(maps, b"12345678")


def test_no_map_ends_in_the_next() -> None:
    """Two that together look like two others, if nothing stood between them."""
    one, two = b"\x81\xa1x\xa2a", b"b\x81\xa1y\x01"
    with pytest.raises(FrameError):
        decode_attributes([one, two], b"12345678")


@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=9), st.binary(max_size=9))))
def test_a_walk_stops_at_the_first_frame_that_is_not_whole(
    frames: list[tuple[int, bytes, bytes]],
) -> None:
    data = b"".join(frame(*one) for one in frames)
    places = list(walk(data))
    found = [(kind, data[head:body], data[body:end]) for kind, _, head, body, end in places]
    assert found == frames
    ends = [0, *(end for *_, end in places)]
    assert [start for _, start, *_ in places] == ends[:-1]
    for number, cut in enumerate(ends[1:]):
        assert list(walk(data[: cut - 1])) == places[:number]
    assert list(walk(data, ends[len(ends) // 2])) == places[len(ends) // 2 :]
