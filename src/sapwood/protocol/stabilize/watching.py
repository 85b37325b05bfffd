"""A guard against storms: what comes a second time is dropped while a circle is possible.

A link that carries though no survey has shown that it closes no circle is *watched* for a while:
its child end remembers which notifications came, from whomever, and drops those that neighbours
bring again. Every circle that such a link closes passes this broker, so a notification goes round
at most once. Watching costs a look at every frame, so nobody watches without a reason.

The specification asked for three notifications of a broker's own clients that come back (its rule
C9). That finds only circles through the publisher's broker, and cuts off brokers that hang on a
circle instead of the circle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sapwood.protocol.drops import Drop, Drops
from sapwood.protocol.effects import Effect
from sapwood.wire.frames import ENVELOPE_SIZE, NOTIFICATION_TYPES, walk
from sapwood.wire.heads import publisher_end

Read: TypeAlias = Callable[[str, bytes, float], list[Effect]]
"""Takes frames from a source."""

SEEN_MAX: Final = 100_000
"""Notifications that are remembered; beyond it the oldest are forgotten."""

_HEAD_BYTES_MIN: Final = 3
_SEQUENCE_BYTES: Final = 8


class Watching:
    """Reads frames, and leaves out what came before."""

    def __init__(self, read: Read, is_client: Callable[[str], bool], drops: Drops) -> None:
        self.seen: dict[bytes, None] = {}
        """Publisher and sequence number of what came, as raw bytes."""
        self.has_repeated = False
        """Whether something came again."""
        self._read = read
        self._is_client = is_client
        self._drops = drops

    def read(self, source: str, data: bytes, now: float) -> list[Effect]:
        """Take whole frames; what follows from those that are new, in order."""
        effects: list[Effect] = []
        start = 0
        is_client = self._is_client(source)
        for kind, at, head_at, body_at, end in walk(data):
            if kind not in NOTIFICATION_TYPES or self._is_new(data, head_at, body_at, end):
                continue
            if is_client:
                continue  # a client that was not acknowledged sends again: that is sorted out later
            self.has_repeated = True
            if start < at:
                effects += self._read(source, data[start:at], now)
            effects += self._drops.count(Drop.REPEATED, source)
            start = end
        if start < len(data):
            effects += self._read(source, data[start:] if start else data, now)
        return effects

    def takes_repeated(self) -> bool:
        """Whether something came again since this was last asked."""
        found, self.has_repeated = self.has_repeated, False
        return found

    def _is_new(self, data: bytes, head_at: int, body_at: int, end: int) -> bool:
        """Whether a notification did not come before; it did from now on."""
        if body_at - head_at < _HEAD_BYTES_MIN or end - body_at < ENVELOPE_SIZE:
            return True  # whoever reads it says what is wrong
        publisher = data[head_at : publisher_end(data, head_at)]
        name = publisher + data[body_at : body_at + _SEQUENCE_BYTES]
        if name in self.seen:
            return False
        if len(self.seen) >= SEEN_MAX:
            del self.seen[next(iter(self.seen))]
        self.seen[name] = None
        return True
