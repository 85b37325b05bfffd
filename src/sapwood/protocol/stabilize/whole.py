"""Tables that are told as a whole: in buckets, and these in parts.

Nothing is remembered of who asked for it, or whether: a part that does not follow on the one before
throws away what has come so far, and the next comparison asks again if that was wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from sapwood.protocol.messages import Repeat, TableName, Whole
from sapwood.protocol.stabilize.digest import (
    BUCKETS_MAX,
    Line,
    digest,
    divided,
    is_bucket,
    is_digest,
    parts,
)

PARTS_MAX: Final = 1024
"""Parts of one bucket that are accepted: nobody may fill the memory with what never ends."""


class Partial(msgspec.Struct):
    """The parts of a bucket that have come."""

    table: TableName
    bucket: int
    buckets: int
    parts: int
    next: int = 0
    lines: list[Line] = []

    def is_followed_by(self, message: Whole) -> bool:
        """Whether a part is the next one of this bucket."""
        return (self.table, self.bucket, self.buckets, self.parts, self.next) == (
            message.table,
            message.bucket,
            message.buckets,
            message.parts,
            message.part,
        )


def is_possible(message: Whole) -> bool:
    """Whether a part can be of any use."""
    is_part = 0 <= message.part < message.parts <= PARTS_MAX
    return is_part and is_bucket(message.bucket, message.buckets) and is_digest(message.digest)


def following(partial: Partial | None, message: Whole) -> Partial | None:
    """What there is after a part has come; nothing if it does not follow."""
    if message.part == 0:
        partial = Partial(message.table, message.bucket, message.buckets, message.parts)
    elif partial is None or not partial.is_followed_by(message):
        return None
    partial.lines.extend(message.entries)
    partial.next += 1
    return partial


def can_answer(repeat: Repeat) -> bool:
    """Whether a question makes sense."""
    return len(repeat.digests) <= BUCKETS_MAX and all(map(is_digest, repeat.digests))


def answer(repeat: Repeat, texts: Mapping[str, str]) -> list[Whole]:
    """The messages that tell what was asked for: the buckets that differ, or everything."""
    buckets = max(1, len(repeat.digests))
    found: list[Whole] = []
    for bucket, part in enumerate(divided(texts, buckets)):
        said = digest(part.items())
        if not repeat.digests or said != repeat.digests[bucket]:
            found += _in_parts(repeat.table, bucket, buckets, part, said)
    return found


def whole(table: TableName, texts: Mapping[str, str]) -> list[Whole]:
    """The messages that tell a whole table."""
    return answer(Repeat(table), texts)


def _in_parts(
    table: TableName, bucket: int, buckets: int, texts: Mapping[str, str], said: bytes
) -> list[Whole]:
    found = parts(texts.items())
    return [
        Whole(table, part, said, bucket, buckets, number, len(found))
        for number, part in enumerate(found)
    ]
