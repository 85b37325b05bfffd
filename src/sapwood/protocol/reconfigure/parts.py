"""Tables that are too large for one frame: they go in parts before the message that brings them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.protocol.reconfigure.messages import EdgeChange, EdgeTables

PART_BYTES: Final = 4 * 2**20
"""Of one part: a frame holds four times as much."""

PARTS_MAX: Final = 256
"""Parts that are kept of one neighbour: a gigabyte of tables."""

LINE_BYTES: Final = 16
"""What an entry takes beside its texts, at most."""


def divided(tables: EdgeTables) -> list[EdgeTables]:
    """Tables as parts, each small enough; the last one goes with the message itself."""
    parts = [EdgeTables(advertisements=one) for one in _divided(tables.advertisements)]
    parts += [EdgeTables(subscriptions=one) for one in _divided(tables.subscriptions)]
    return [tables] if len(parts) <= 2 else parts


def _divided(change: EdgeChange) -> list[EdgeChange]:
    """The same for one table."""
    parts: list[EdgeChange] = []
    added: list[tuple[str, str]] = []
    removed: list[str] = []
    size = 0
    for entry_id, text in (*change.added, *((one, None) for one in change.removed)):
        length = LINE_BYTES + len(entry_id.encode()) + len((text or "").encode())
        if size and size + length > PART_BYTES:
            parts.append(EdgeChange(tuple(added), tuple(removed)))
            added, removed, size = [], [], 0
        size += length
        if text is None:
            removed.append(entry_id)
        else:
            added.append((entry_id, text))
    return [*parts, EdgeChange(tuple(added), tuple(removed))]


def joined(parts: Sequence[EdgeTables]) -> EdgeTables:
    """The tables that parts make together."""
    advertisements = _joined([one.advertisements for one in parts])
    return EdgeTables(advertisements, _joined([one.subscriptions for one in parts]))


def _joined(parts: Sequence[EdgeChange]) -> EdgeChange:
    added = tuple(line for one in parts for line in one.added)
    return EdgeChange(added, tuple(line for one in parts for line in one.removed))
