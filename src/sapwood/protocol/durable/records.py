"""The records of a journal, and how they lie one behind the other in a segment.

A segment begins with a header: a word, the version of the format, the number of the segment and a
checksum. Then come records, each with its length and a checksum. The first record is a `Checkpoint`
with what the records before it came to, so that older segments can be removed; the notifications
themselves are not in it. Each further one is an `Entry`: all that one event of the broker came to.
What came in and where it has to go are in the same record, so that after a crash both are there or
neither is. What is still needed of an old segment is written once more (`Moved`) before that goes.

A crash may leave the end of the last segment unfinished: whatever was not brought to disk was
never acknowledged to anybody, and is cut off (`Segment.end`). A disk may even have written a later
record and not an earlier one. So each record says how far the journal was on disk when it was made:
a damaged record that a later one says was there is damage, and nobody goes on with that in silence.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

import msgspec

from sapwood.errors import FrameError

MAGIC: Final = b"SAPWOODJ"
VERSION: Final = 2
_HEADER: Final = struct.Struct("<8sHQ")
_SUM: Final = struct.Struct("<I")
HEADER_BYTES: Final = _HEADER.size + _SUM.size
_FRAME: Final = struct.Struct("<II")
RECORD_BYTES_MAX: Final = 2**31
"""A longer record there cannot be: its length is damaged."""


class Run(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Notifications, and where they have to go: durable links and mailboxes."""

    destinations: tuple[str, ...]
    count: int
    data: bytes
    """Empty: they were too much to be kept, and have nothing but their places."""


class Received(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How many notifications of a neighbour's journal have come."""

    epoch: str
    """The journal of the neighbour."""
    number: int


class MailboxOpened(msgspec.Struct, frozen=True, tag="opened", gc=False):
    """A durable subscription begins."""

    name: str
    filter: str
    owner: str
    epoch: int
    at: float


class MailboxDropped(msgspec.Struct, frozen=True, tag="dropped", gc=False):
    """A durable subscription has ended."""

    name: str


class MailboxCommitted(msgspec.Struct, frozen=True, tag="committed", gc=False):
    """All before a position was read."""

    name: str
    position: int
    at: float


class LinkNumbered(msgspec.Struct, frozen=True, tag="numbered", gc=False):
    """The last notification of a link has this number, and none before that one is kept."""

    neighbour: str
    pushed: int
    released: int


class LinkForgotten(msgspec.Struct, frozen=True, tag="forgotten", gc=False):
    """Nothing is kept for a neighbour any more."""

    neighbour: str


class Moved(msgspec.Struct, frozen=True, tag="moved", gc=False):
    """Notifications for one destination, written once more since their segment goes."""

    destination: str
    first: int
    at: float
    runs: tuple[tuple[int, bytes], ...]
    """How many, and their frames; no frames: they were never kept."""


Change: TypeAlias = (
    MailboxOpened | MailboxDropped | MailboxCommitted | LinkNumbered | LinkForgotten | Moved
)


class Entry(msgspec.Struct, frozen=True, tag="entry", array_like=True, gc=False):
    """All that one event came to."""

    at: float
    synced: int
    """The position of the last record that was on disk when this one was made."""
    runs: tuple[Run, ...] = ()
    received: dict[str, Received] = {}
    published: dict[str, int] = {}
    """By client: the sequence number of its last publication that is in the journal."""
    changes: tuple[Change, ...] = ()


class KeptMailbox(msgspec.Struct, frozen=True, gc=False):
    """A durable subscription as it was when a segment began."""

    name: str
    filter: str
    owner: str
    epoch: int
    next: int
    """The position of the next notification."""
    committed: int
    used_at: float


class KeptLink(msgspec.Struct, frozen=True, gc=False):
    """A durable link as it was when a segment began."""

    pushed: int
    """The number of the last notification."""
    released: int


class Checkpoint(msgspec.Struct, frozen=True, tag="checkpoint", array_like=True, gc=False):
    """What all records before this one came to, but for the notifications."""

    epoch: str
    position: int
    """Of the next record."""
    received: dict[str, Received] = {}
    published: dict[str, int] = {}
    mailboxes: tuple[KeptMailbox, ...] = ()
    links: dict[str, KeptLink] = {}


Record: TypeAlias = Checkpoint | Entry

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)


class JournalDamageError(FrameError):
    """Bytes of a segment that are no journal of this release; the message says where."""


class Segment(NamedTuple):
    """What a segment holds."""

    number: int
    records: list[Record]
    ends: list[int]
    """Where each record ends."""

    @property
    def end(self) -> int:
        """Where the last whole record ends: what is behind it was never acknowledged."""
        return self.ends[-1] if self.ends else 0


def encode_header(number: int) -> bytes:
    """How a segment begins."""
    head = _HEADER.pack(MAGIC, VERSION, number)
    return head + _SUM.pack(zlib.crc32(head))


def encode(record: Record) -> bytes:
    """A record as bytes, with its length and checksum."""
    body = _encoder.encode(record)
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def decode_segment(data: bytes, *, is_last: bool) -> Segment:
    """The records of a segment. Only in the last one may the end be unfinished."""
    if is_last and len(data) < HEADER_BYTES:
        return Segment(0, [], [])
    number = _decode_header(data)
    records: list[Record] = []
    ends: list[int] = []
    at = HEADER_BYTES
    while at < len(data):
        body = _body_at(data, at)
        if body is None:
            if is_last and not _was_synced(data, at, records):
                break
            raise JournalDamageError(f"the record at byte {at} is damaged")
        records.append(_decoded(body, at))
        at += _FRAME.size + len(body)
        ends.append(at)
    if records and type(records[0]) is not Checkpoint:
        raise JournalDamageError(f"the record at byte {HEADER_BYTES} is no checkpoint")
    return Segment(number, records, ends)


def decode_records(data: bytes) -> Iterator[Record]:
    """The records in some bytes of a segment that was written by this process or one before."""
    at = 0
    while at < len(data):
        body = _body_at(data, at)
        if body is None:
            raise JournalDamageError(f"the record {at} bytes behind is damaged")
        yield _decoded(body, at)
        at += _FRAME.size + len(body)


def _decoded(body: bytes, at: int) -> Record:
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise JournalDamageError(f"the record at byte {at} is none: {problem}") from None


def _decode_header(data: bytes) -> int:
    if len(data) < HEADER_BYTES or not data.startswith(MAGIC):
        raise JournalDamageError("byte 0 does not begin a journal")
    _, version, number = _HEADER.unpack_from(data)
    if version != VERSION:
        raise JournalDamageError(
            f"byte {len(MAGIC)} says format {version}; this release reads {VERSION}"
        )
    if _SUM.unpack_from(data, _HEADER.size)[0] != zlib.crc32(data[: _HEADER.size]):
        raise JournalDamageError("the header at byte 0 is damaged")
    return int(number)


def _body_at(data: bytes, at: int) -> bytes | None:
    """The body of the record at a place, if it is whole."""
    if at + _FRAME.size > len(data):
        return None
    length, checksum = _FRAME.unpack_from(data, at)
    start = at + _FRAME.size
    if length > RECORD_BYTES_MAX or start + length > len(data):
        return None
    body = data[start : start + length]
    return body if zlib.crc32(body) == checksum else None


def _was_synced(data: bytes, at: int, before: list[Record]) -> bool:
    """Whether a record behind a damaged one says that this one was on disk."""
    if not before or type(before[0]) is not Checkpoint:
        return False
    position = before[0].position + len(before) - 1
    while at + _FRAME.size <= len(data):
        length, _ = _FRAME.unpack_from(data, at)
        at += _FRAME.size + length
        body = _body_at(data, at)
        record = None if body is None else _decoded(body, at)
        if type(record) is Entry and record.synced >= position:
            return True
    return False
