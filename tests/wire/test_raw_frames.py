"""Frames by address: the same as in plain code, whatever the bytes."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.compiled.compiling import kernel
from sapwood.compiled.cpython import BYTES_OFFSET
from sapwood.wire import markers
from sapwood.wire.frames import (
    HEADER,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    encode_head,
)
from sapwood.wire.raw_frames import WITHOUT_FLAGS, header_at, publisher_in


@kernel
def header(address: int) -> tuple[int, int, int]:
    """Type, length of head and length of body."""
    kind, head, body = header_at(address)
    return kind, head, body


@kernel
def publisher(address: int, length: int) -> tuple[int, int]:
    """Where the publisher begins and ends."""
    start, end = publisher_in(address, length)
    return start, end


@given(st.integers(0, 255), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
def test_a_header_is_read_as_it_was_written(kind: int, body: int, head: int) -> None:
    data = HEADER.pack(kind, body, head)
    assert header(id(data) + BYTES_OFFSET) == (kind, head, body)


def in_python(head: bytes) -> tuple[int, int]:
    """Where the publisher begins and ends, by the definition of msgpack."""
    if len(head) < 3 or head[0] != markers.PAIR:
        return 0, 0
    if 0xA0 <= head[1] < 0xC0:
        start, end = 2, 2 + head[1] - 0xA0
    elif head[1] == markers.TEXT_8:
        start, end = 3, 3 + head[2]
    else:
        return 0, 0
    return (start, end) if end < len(head) else (0, 0)


@given(
    st.binary(max_size=60)
    | st.builds(lambda rest: b"\x92" + rest, st.binary(max_size=60))
    | st.builds(
        lambda size, rest: b"\x92\xd9" + bytes([size]) + rest, st.integers(0, 60), st.binary()
    )
)
@example(b"\x92\xa0")
@example(b"\x92\xa0\x80")
@example(b"\x92\xa1p")
@example(b"\x92\xd9\x00")
def test_the_publisher_is_where_msgpack_has_it(head: bytes) -> None:
    assert publisher(id(head) + BYTES_OFFSET, len(head)) == in_python(head)


@given(st.text(max_size=80))
def test_the_publisher_of_an_encoded_head_is_found(name: str) -> None:
    head = encode_head(name, {"price": 1})
    start, end = publisher(id(head) + BYTES_OFFSET, len(head))
    encoded = name.encode()
    assert head[start:end] == (encoded if len(encoded) < 256 else b"")


def test_only_notifications_are_notifications_without_their_flags() -> None:
    found = {kind for kind in range(256) if kind & WITHOUT_FLAGS == NOTIFICATION}
    assert found == NOTIFICATION_TYPES
