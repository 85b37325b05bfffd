"""Records of a journal: what is whole is read, a torn end is cut off, and damage is said."""

from __future__ import annotations

import pytest

from sapwood.protocol.durable.records import (
    HEADER_BYTES,
    Checkpoint,
    Entry,
    JournalDamageError,
    Run,
    decode_segment,
    encode,
    encode_header,
)

START = encode_header(7) + encode(Checkpoint("e", 1))
RECORDS = [
    encode(Entry(1.0, 0, (Run(("B2",), 1, b"data"),), {}, {"c.1": 3})),
    encode(Entry(2.0, 0)),
    encode(Entry(3.0, 2)),
]


def test_what_was_written_is_read() -> None:
    segment = decode_segment(START + b"".join(RECORDS), is_last=True)
    assert (segment.number, len(segment.records)) == (7, 4)
    first = segment.records[1]
    assert isinstance(first, Entry)
    assert first.runs == (Run(("B2",), 1, b"data"),)
    assert first.published == {"c.1": 3}


def test_a_torn_end_is_cut_off_at_every_byte() -> None:
    whole = START + RECORDS[0]
    data = whole + RECORDS[1]
    for end in range(len(whole), len(data)):
        segment = decode_segment(data[:end], is_last=True)
        assert segment.end == len(whole)
        assert len(segment.records) == 2
    for end in range(len(START)):
        assert decode_segment(data[:end], is_last=True).records == []


def test_what_was_on_disk_and_is_damaged_is_no_torn_end() -> None:
    spoilt = bytearray(START + b"".join(RECORDS))
    spoilt[len(START) + 12] ^= 1
    with pytest.raises(JournalDamageError, match=f"record at byte {len(START)} is damaged"):
        decode_segment(bytes(spoilt), is_last=True)


def test_what_was_never_on_disk_may_be_damaged_before_something_whole() -> None:
    spoilt = bytearray(START + RECORDS[0] + RECORDS[1])
    spoilt[len(START) + 12] ^= 1
    assert len(decode_segment(bytes(spoilt), is_last=True).records) == 1


def test_a_torn_end_of_another_segment_than_the_last_is_damage() -> None:
    with pytest.raises(JournalDamageError, match="damaged"):
        decode_segment(START + RECORDS[0][:-1], is_last=False)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x" * 100, "byte 0 does not begin a journal"),
        (START[:8] + b"\x63" + START[9:], "byte 8 says format 99; this release reads 2"),
        (START[:12] + b"\x63" + START[13:], "header at byte 0 is damaged"),
        (encode_header(1) + RECORDS[0], f"byte {HEADER_BYTES} is no checkpoint"),
    ],
)
def test_a_foreign_file_is_refused_with_the_place(data: bytes, said: str) -> None:
    with pytest.raises(JournalDamageError, match=said):
        decode_segment(data, is_last=True)
