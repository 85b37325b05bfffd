"""Frames taken apart in compiled code: the same as one by one in Python, whatever the bytes."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sapwood.compiled.table import ByteTable
from sapwood.errors import FrameError
from sapwood.trace.columns import frames
from sapwood.trace.columns.frames import (
    ATTRIBUTES,
    COUNT,
    PUBLISHER,
    RUN,
    SEQUENCE,
    SIZE,
    Frames,
)
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
from tracing.finding import find

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


def rows_of(spans: Any, names: list[bytes], heads: list[bytes]) -> list[Any]:
    """Spans taken apart again: run, publisher, attributes, sequence, size."""
    return [
        (
            int(span[RUN]),
            names[span[PUBLISHER]],
            heads[span[ATTRIBUTES]] if span[ATTRIBUTES] >= 0 else None,
            int(span[SEQUENCE]) + index,
            int(span[SIZE]),
        )
        for span in spans
        for index in range(span[COUNT])
    ]


@given(RUNS, st.lists(st.booleans(), min_size=5, max_size=5))
def test_notifications_are_found_as_in_python(runs: list[list[bytes]], wanted: list[bool]) -> None:
    joined = [b"".join(frames) for frames in runs if frames]
    publishers, attributes = ByteTable(), ByteTable()
    found = find([Frames(run) for run in joined], wanted, publishers, attributes)
    names = publishers.keys(0, publishers.count)
    heads = attributes.keys(0, attributes.count)
    rows = rows_of(found, names, heads)
    expected = [
        (run, name, head if wanted[run] else None, sequence, size)
        for number, one in enumerate(joined)
        for run, name, head, sequence, size in in_python(number, one)
    ]
    # What does not decode is found too: nobody has looked so far into it.
    assert [row for row in rows if row in expected or decodes(row[1], row[2])] == expected
    assert len(set(names)) == len(names)
    assert len(set(heads)) == len(heads)


ALIKE = st.lists(
    st.tuples(
        st.sampled_from(["a.1", "a.2"]),
        st.integers(0, 1),
        st.sampled_from([0, 0, 0, 1, 5]),
        st.sampled_from([b"p", b"p", b"p", b"longer"]),
    ),
    max_size=30,
)


@given(ALIKE, st.booleans(), st.integers(0, 30), st.integers(0, 30))
def test_spans_are_as_long_as_they_can_be(
    made: list[tuple[str, int, int, bytes]], wanted: bool, first: int, end: int
) -> None:
    """They end where something changes that the rows show, and nowhere else."""
    sequence, frames, rows = 1, [], []
    for publisher, value, skipped, payload in made:
        sequence += 1 + skipped
        head = encode_head(publisher, {"v": value})
        frames.append(encode_notification(head, sequence, 1.0, payload))
        name, attributes = publisher.encode(), encode_head("", {"v": value})[2:]
        rows.append((0, name, attributes if wanted else None, sequence, len(frames[-1])))
    data = Frames(b"".join(frames), first, end)
    publishers, heads = ByteTable(), ByteTable()
    found = find([data] if frames else [], [wanted], publishers, heads)
    part = rows[first:end]
    pieces = publishers.keys(0, publishers.count), heads.keys(0, heads.count)
    assert rows_of(found, *pieces) == part
    changes = sum(
        (*one[:3], one[3] + 1, one[4]) != other for one, other in itertools.pairwise(part)
    )
    assert len(found) == (changes + 1 if part else 0)


def test_a_part_of_a_run_begins_and_ends_where_it_says() -> None:
    head = encode_head("a.1", {})
    data = b"".join(encode_notification(head, sequence, 1.0) for sequence in range(1, 11))
    for first, end in ((0, 10), (0, 3), (4, 7), (9, 50), (10, 20), (5, 5)):
        found = find([Frames(data, first, end)], [True], ByteTable(), ByteTable())
        expected = [[first + 1, min(end, 10) - first]] if first < min(end, 10) else []
        assert found[:, [SEQUENCE, COUNT]].tolist() == expected


def test_a_run_without_bytes_has_a_span_to_itself() -> None:
    one = Frames(encode_notification(encode_head("a.1", {}), 1, 1.0))
    found = find([Frames(b""), one, Frames(b"")], [True] * 3, ByteTable(), ByteTable())
    assert found.tolist() == [
        [0, -1, -1, 0, 0, 1, 0],
        [1, 0, 0, 1, len(one.data), 1, 0],
        [2, -1, -1, 0, 0, 1, 0],
    ]


def test_there_may_be_any_number_of_runs() -> None:
    found = find([Frames(b"")] * 5000, [False] * 5000, ByteTable(), ByteTable())
    assert found[:, RUN].tolist() == list(range(5000))
    assert len(find([], [], ByteTable(), ByteTable())) == 0


def test_the_last_sequence_number_is_followed_by_none() -> None:
    head = encode_head("a.1", {})
    data = b"".join(encode_notification(head, 2**63 - 1 + more, 1.0) for more in range(3))
    found = find([Frames(data)], [True], ByteTable(), ByteTable())
    assert found[:, [SEQUENCE, COUNT]].tolist() == [[2**63 - 1, 1]]


def decodes(publisher: bytes, attributes: bytes | None) -> bool:
    """Whether a head of this publisher and these attributes is one, as far as it is known."""
    try:
        publisher.decode()
        decode_head(b"\x92\xa0" + (b"\x80" if attributes is None else attributes))
    except (FrameError, UnicodeDecodeError):
        return False
    return attributes is not None


@given(st.binary(min_size=1, max_size=200), st.integers(0, 5), st.integers(0, 5))
def test_garbage_is_no_notification_and_no_crash(data: bytes, first: int, end: int) -> None:
    heads = ByteTable()
    runs = [Frames(data), Frames(data, first, end)]
    found = find(runs, [True, True], ByteTable(), heads)
    assert all(piece in data for piece in heads.keys(0, heads.count))
    assert all(0 <= number < heads.count for number in found[:, ATTRIBUTES].tolist())


@given(st.lists(st.lists(st.integers(0, 2000), min_size=1, max_size=60), max_size=6))
def test_pieces_get_one_number_each_however_many_there_are(batches: list[list[int]]) -> None:
    heads = ByteTable()
    seen: list[bytes] = []
    for batch in batches:
        data = b"".join(
            encode_notification(encode_head("a.1", {"n": "x" * (n % 40), "v": n}), 1, 1.0)
            for n in batch
        )
        found = find([Frames(data)], [True], ByteTable(), heads)
        pieces = heads.keys(0, heads.count)
        seen += [encode_head("", {"n": "x" * (n % 40), "v": n})[2:] for n in batch]
        latest = seen[len(seen) - len(batch) :]
        assert [pieces[number] for number in found[:, ATTRIBUTES].tolist()] == latest
    assert heads.keys(0, heads.count) == list(dict.fromkeys(seen))


def test_a_full_table_makes_room_and_keeps_what_it_has() -> None:
    heads = ByteTable()
    frames = [
        encode_notification(encode_head("a.1", {"v": n, "w": "x" * (n % 90)}), 1, 1.0)
        for n in range(5000)
    ]
    for start in range(0, 3000, 100):
        data = b"".join(frames[start : start + 100])
        find([Frames(data)], [True], ByteTable(), heads)
    whole = Frames(b"".join(frames))  # the rest is new
    again = find([whole], [True], ByteTable(), heads)
    assert again[:, ATTRIBUTES].tolist() == list(range(5000))


def test_a_head_may_be_as_long_as_heads_are() -> None:
    heads = ByteTable()
    for number in range(20):
        head = encode_head("a.1", {"v": "x" * 65000, "w": number})
        find([Frames(encode_notification(head, 1, 1.0))], [True], ByteTable(), heads)
    assert [len(piece) for piece in heads.keys(0, 20)] == [65009] * 20


def test_warming_up_changes_nothing() -> None:
    frames.warm()
