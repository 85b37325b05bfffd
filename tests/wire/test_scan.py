"""Tests for what of a read can be handed on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.wire.frames import (
    BODY_BYTES_MAX,
    CONTROL,
    ENVELOPE_SIZE,
    HEADER,
    HEADER_SIZE,
    LINK,
    NOTIFICATION,
    frame,
)
from sapwood.wire.scan import Scan, only_kind, scan, size_of_next, skip

frames = st.builds(
    frame,
    st.sampled_from([CONTROL, NOTIFICATION, LINK, 0x7F]),
    st.binary(max_size=9),
    st.binary(min_size=ENVELOPE_SIZE, max_size=ENVELOPE_SIZE + 9),
)


@given(st.lists(frames), st.data())
def test_a_read_that_ends_anywhere_is_whole_frames_and_a_rest(
    run: list[bytes], data: st.DataObject
) -> None:
    """What is whole, and how much of it counts, wherever the read ends."""
    joined = b"".join(run)
    cut = data.draw(st.integers(0, len(joined)))
    whole: list[bytes] = []
    for one in run:
        if len(b"".join([*whole, one])) > cut:
            break
        whole.append(one)
    links = sum(one[0] == LINK for one in whole)
    control = sum(len(one) for one in whole if one[0] == CONTROL)
    expected = Scan(len(b"".join(whole)), len(whole) - links, links > 0, control)
    assert scan(joined[:cut]) == expected


@given(frames, st.binary(max_size=20))
def test_the_size_of_the_next_frame_is_known_from_its_header(one: bytes, rest: bytes) -> None:
    """As soon as the header is there; before, the header's own size is asked for."""
    data = one + rest
    for cut in range(HEADER_SIZE):
        assert size_of_next(data[:cut]) == HEADER_SIZE
    for cut in range(HEADER_SIZE, len(data)):
        assert size_of_next(data[:cut]) == len(one)


@given(st.lists(frames), st.data())
def test_skipping_leaves_the_frames_behind(run: list[bytes], data: st.DataObject) -> None:
    """As many as asked are gone, the others are as they were."""
    count = data.draw(st.integers(0, len(run)))
    assert skip(b"".join(run), count) == b"".join(run[count:])


@given(st.one_of(frames, st.binary(max_size=60), st.tuples(frames, frames).map(b"".join)))
def test_a_single_frame_is_known_at_once(data: bytes) -> None:
    """As by looking through: one whole frame and nothing else."""
    try:
        found = scan(data)
    except FrameError:
        assert only_kind(data) == -1
        return
    is_one = len(data) > 0 and found.end == len(data) == size_of_next(data)
    assert only_kind(data) == (data[0] if is_one else -1)


@pytest.mark.parametrize("size", [0, ENVELOPE_SIZE - 1, BODY_BYTES_MAX + 1])
def test_a_body_of_a_wrong_length_is_no_notification(size: int) -> None:
    assert only_kind(HEADER.pack(NOTIFICATION, size, 0) + bytes(size)) == -1
