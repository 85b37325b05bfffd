"""Scanning in compiled code: the same as in Python, wherever a read ends and whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.fastpath.scanning import scan_long
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    EXPIRES,
    GRAY,
    HEADER,
    LINK,
    NOTIFICATION,
    frame,
)
from sapwood.wire.scan import LONG_READ_BYTES, Scan, scan, use_for_long_reads

kinds = st.sampled_from(
    [CONTROL, NOTIFICATION, LINK, 0x00, 0x7F, NOTIFICATION | GRAY, NOTIFICATION | GRAY | EXPIRES]
)
bodies = st.sampled_from([ENVELOPE_SIZE, ENVELOPE_SIZE + 1, 300]) | st.integers(0, 40)
frames = st.builds(frame, kinds, st.binary(max_size=9), bodies.map(bytes))


def scanned(data: bytes) -> Scan | None:
    """As in Python; None if that refuses it."""
    try:
        return scan(data)
    except FrameError:
        return None


@given(st.lists(frames), st.data())
def test_it_finds_what_python_finds(run: list[bytes], data: st.DataObject) -> None:
    joined = b"".join(run)
    read = joined[: data.draw(st.integers(0, len(joined)))]
    assert scan_long(read) == scanned(read)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_longest_body(extra: int) -> None:
    data = HEADER.pack(NOTIFICATION, BODY_BYTES_MAX + extra, 0)
    assert scan_long(data) == scanned(data) == (None if extra else Scan(0, 0, False, 0))


def test_long_reads_are_scanned_by_what_is_given_for_them() -> None:
    seen: list[int] = []

    def spy(data: bytes) -> Scan | None:
        seen.append(len(data))
        return scan_long(data)

    one = frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE))
    many = one * (LONG_READ_BYTES // len(one) + 1)
    bad = many + frame(NOTIFICATION, b"", b"")
    use_for_long_reads(spy)
    try:
        assert scan(one) == Scan(len(one), 1, False, 0)
        assert scan(many) == Scan(len(many), len(many) // len(one), False, 0)
        with pytest.raises(FrameError, match="a notification's body has 0 bytes"):
            scan(bad)
    finally:
        use_for_long_reads(None)
    assert seen == [len(many), len(bad)]
    assert scan(many).frames == len(many) // len(one)
