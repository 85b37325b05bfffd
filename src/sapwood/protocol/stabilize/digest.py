"""Digests of tables: what two ends of an edge compare instead of the tables themselves.

A table told over an edge is a set of lines, each an id and a text. Its digest is that of the
sorted lines, encoded so that no line can be mistaken for two; the digest of nothing is empty. A
large table is compared in *buckets*, each by itself: an id is always in the same one, so a
difference costs one bucket. A bucket travels in parts, none of them large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final, TypeAlias
from zlib import crc32

import msgspec

Line: TypeAlias = tuple[str, str]
"""An id, and what was told under it."""

DIGEST_BYTES: Final = 16

BUCKET_ENTRIES: Final = 2048
"""Entries in a bucket, on average, at most."""

BUCKETS_MAX: Final = 65_536
"""Buckets that are accepted: far more than any table needs."""

PART_BYTES: Final = 64 * 1024
"""Size of a part beyond which another one begins."""

_LINE_BYTES: Final = 10
"""What a line takes beside its id and its text, at most."""

_encode = msgspec.msgpack.Encoder().encode


def digest(lines: Iterable[Line]) -> bytes:
    """The digest of lines, in whatever order they are; empty if there are none."""
    ordered = sorted(lines)
    return blake2b(_encode(ordered), digest_size=DIGEST_BYTES).digest() if ordered else b""


def is_digest(value: bytes) -> bool:
    """Whether bytes can be a digest."""
    return len(value) in (0, DIGEST_BYTES)


def buckets_for(entries: int) -> int:
    """In how many buckets a table of so many entries is compared."""
    return min(BUCKETS_MAX, max(1, -(-entries // BUCKET_ENTRIES)))


def is_bucket(bucket: int, buckets: int) -> bool:
    """Whether there can be such a bucket."""
    return 0 <= bucket < buckets <= BUCKETS_MAX


def bucket_of(entry_id: str, buckets: int) -> int:
    """The bucket of an id.

    A checksum spreads ids as evenly as a digest does, in a sixth of the time. Whoever chooses ids
    that fall into one bucket makes his own comparisons slower, and nothing else.
    """
    return crc32(entry_id.encode()) % buckets


def in_bucket(texts: Mapping[str, str], bucket: int, buckets: int) -> dict[str, str]:
    """Those lines of a table that fall into a bucket."""
    if buckets == 1:
        return dict(texts)
    return {one: text for one, text in texts.items() if bucket_of(one, buckets) == bucket}


def parts(lines: Iterable[Line]) -> list[tuple[Line, ...]]:
    """Lines in the parts in which they travel, sorted; one empty part if there are none."""
    found: list[tuple[Line, ...]] = []
    part: list[Line] = []
    size = 0
    for line in sorted(lines):
        length = sum(len(text.encode()) for text in line) + _LINE_BYTES
        if part and size + length > PART_BYTES:
            found.append(tuple(part))
            part, size = [], 0
        part.append(line)
        size += length
    return [*found, tuple(part)]
