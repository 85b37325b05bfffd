"""Frames taken apart in compiled code: the same as one by one in Python, whatever the bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.runtime import tracing_frames
from sapwood.wire.frames import (
    CONTROL,
    HEADER_SIZE,
    NOTIFICATION,
    NOTIFICATION_TYPES,
    decode_envelope,
    decode_head,
    encode_head,
    encode_notification,
    frame,
    split,
)

PUBLISHERS = st.sampled_from(["a.1", "b.22", "x" * 31 + ".1", "y" * 40 + ".7", "ü.3"])
SEQUENCES = st.integers(0, 2**64 - 1) | st.integers(0, 5)
NOTIFICATIONS = st.builds(
    lambda publisher, sequence, value, payload, expiry: encode_notification(
        encode_head(publisher, {"v": value}), sequence, 1.0, payload, expiry
    ),
    PUBLISHERS,
    SEQUENCES,
    st.integers(-5, 5) | st.text(max_size=3),
    st.binary(max_size=9),
    st.sampled_from([0.0, 5.0]),
)
CONTROLS = st.builds(lambda body: frame(CONTROL, b"", body), st.binary(max_size=40))
STRANGE = st.builds(
    frame, st.sampled_from([NOTIFICATION, 0x42]), st.binary(max_size=9), st.binary(max_size=40)
)
RUNS = st.lists(st.lists(NOTIFICATIONS | CONTROLS | STRANGE, max_size=5), max_size=5)


def in_python(run: int, data: bytes) -> list[tuple[int, bytes, bytes, int, int]]:
    """What every notification of a run is, by the functions that brokers use."""
    rows = []
    for kind, head, body in split(data):
        try:
            if kind not in NOTIFICATION_TYPES:
                continue
            publisher, _ = decode_head(head)
            sequence = decode_envelope(body).sequence
        except FrameError:
            continue
        if head[0] != 0x92 or head[1] in {0xDA, 0xDB} or not 0 < sequence < 2**63:
            continue
        name = publisher.encode()
        rest = head[head.index(name) + len(name) :]
        rows.append((run, name, rest, sequence, HEADER_SIZE + len(head) + len(body)))
    return rows


@given(RUNS)
def test_notifications_are_found_as_in_python(runs: list[list[bytes]]) -> None:
    joined = [b"".join(frames) for frames in runs]
    data = np.frombuffer(b"".join(joined), np.uint8)
    found = tracing_frames.find(data, np.cumsum([len(one) for one in joined], dtype=np.int64))
    rows = [
        (run, bytes(data[start:middle]), bytes(data[middle:end]), sequence, size)
        for run, start, middle, end, sequence, size in zip(
            *(column.tolist() for column in found), strict=True
        )
    ]
    expected = [row for run, one in enumerate(joined) for row in in_python(run, one)]
    decodable = [row for row in rows if decodes(row[1], row[2])]
    assert decodable == expected


def decodes(publisher: bytes, attributes: bytes) -> bool:
    """Whether a head of this publisher and these attributes is one; find() does not look so far."""
    try:
        publisher.decode()
        decode_head(b"\x92\xa0" + attributes)
    except (FrameError, UnicodeDecodeError):
        return False
    return True


@given(st.binary(max_size=200), st.integers(0, 200))
def test_garbage_is_no_notification_and_no_crash(data: bytes, end: int) -> None:
    array = np.frombuffer(data, np.uint8)
    found = tracing_frames.find(array, np.array([min(end, len(data)), len(data)]))
    assert all(0 <= place <= len(data) for place in found.end.tolist())


@given(st.lists(st.binary(max_size=5), max_size=6))
def test_pieces_are_gathered(pieces: list[bytes]) -> None:
    data = b"-".join(pieces)
    starts, at = [], 0
    for piece in pieces:
        starts.append(at)
        at += len(piece) + 1
    ends = [start + len(piece) for start, piece in zip(starts, pieces, strict=True)]
    array = np.frombuffer(data, np.uint8)
    joined, offsets = tracing_frames.gather(
        array, np.array(starts, np.int64), np.array(ends, np.int64)
    )
    assert bytes(joined) == b"".join(pieces)
    assert offsets.tolist() == [sum(map(len, pieces[:n])) for n in range(len(pieces) + 1)]


@pytest.mark.parametrize(
    ("which", "numbers"), [([0, 1, 0, -1, 1], [8, 1, 9, 0, 2]), ([], []), ([1], [1])]
)
def test_each_counter_counts_on(which: list[int], numbers: list[int]) -> None:
    counters = np.array([7, 0])
    result = np.empty(len(which), np.int64)
    tracing_frames.number(counters, np.array(which, np.int64), result)
    assert result.tolist() == numbers


def test_warming_up_changes_nothing() -> None:
    tracing_frames.warm()
