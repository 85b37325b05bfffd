"""Digests of tables: what two ends of an edge compare instead of the tables themselves.

A table told over an edge is a set of lines, each an id and a text. Its digest is that of the
sorted lines, encoded so that no line can be mistaken for two; the digest of nothing is empty. A
large table is divided into *buckets* when it is found to differ: an id is always in the same one,
so a small difference costs a bucket or two. A bucket travels in parts, none of them large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from operator import itemgetter
from typing import Final, TypeAlias
from zlib import crc32

import msgspec

Line: TypeAlias = tuple[str, str]
"""An id, and what was told under it."""

DIGEST_BYTES: Final = 16

BUCKET_ENTRIES: Final = 2048
"""Entries in a bucket, on average, at most."""

BUCKETS_MAX: Final = 4096
"""Buckets that are accepted: more than any table needs."""

PART_BYTES: Final = 64 * 1024
"""Size of a part beyond which another one begins."""

_LINE_BYTES: Final = 10
"""What a line takes beside its id and its text, at most."""

_ID = itemgetter(0)

_encode = msgspec.msgpack.Encoder().encode


def digest(lines: Iterable[Line]) -> bytes:
    """The digest of lines with different ids, in whatever order; empty if there are none."""
    ordered = sorted(lines, key=_ID)
    return blake2b(_encode(ordered), digest_size=DIGEST_BYTES).digest() if ordered else b""


def is_digest(value: bytes) -> bool:
    """Whether bytes can be a digest."""
    return len(value) in (0, DIGEST_BYTES)


def buckets_for(entries: int) -> int:
    """Into how many buckets a table of so many entries is divided."""
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


def divided(texts: Mapping[str, str], buckets: int) -> list[dict[str, str]]:
    """The lines of a table, bucket by bucket."""
    if buckets == 1:
        return [dict(texts)]
    found: list[dict[str, str]] = [{} for _ in range(buckets)]
    for entry_id, text in texts.items():
        found[bucket_of(entry_id, buckets)][entry_id] = text
    return found


def digests(texts: Mapping[str, str]) -> tuple[bytes, ...]:
    """The digests of the buckets of a table that differs; none if it is a single bucket."""
    buckets = buckets_for(len(texts))
    if buckets == 1:
        return ()
    return tuple(digest(bucket.items()) for bucket in divided(texts, buckets))


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
