"""Coordinated unsubscriptions: a flush tells when it is time to unsubscribe (Jaeger 2007, 4.4.1).

The ends of the new link send each other all they know, and behind it a flush that floods the tree.
An end of the old link unsubscribes when the flush of the other side has come to it by way of the
new link: then all brokers in between have the subscriptions that replace its own, so that none of
its unsubscriptions leaves the ring.

If the old link is cut at once, what would have passed over it until then is lost. If it is kept,
the links are a ring meanwhile, and notifications are repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked, Notification
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.strawman import other_end
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter


class Flush(msgspec.Struct, frozen=True, gc=False):
    """All subscriptions of an end of the new link have been sent."""

    origin: str


class Closed(msgspec.Struct, frozen=True, gc=False):
    """Nothing more comes over the old link."""


class Coordinated(PlainBroker):
    """One broker; the old link is kept until both ends have unsubscribed, or cut at once."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
        is_kept: bool = True,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        self.is_kept = is_kept
        self.awaited: dict[str, str] = {}
        """By the origin of a flush: the other end of the old link that it tells to give up."""
        self.flushed: set[str] = set()
        """Whose flush was passed on."""
        self.lingering: dict[str, None] = {}
        """Old links that notifications may still come over."""
        self._messages |= {Flush: self._flush, Closed: self._closed}

    @property
    def is_busy(self) -> bool:
        """Whether an old link is still there."""
        return bool(self.awaited or self.lingering)

    def _asked(self, event: ChangeAsked) -> None:
        change = event.change
        assert isinstance(change, Exchange)
        old, new = other_end(change.old, self.id), other_end(change.new, self.id)
        if old:
            # The flush of the other side's end comes over the new link.
            is_left = self.id == change.ring[change.k - 1]
            self.awaited[change.ring[-1] if is_left else change.ring[0]] = old
            if not self.is_kept:
                del self.neighbours[old]
        if new:
            self._link_added(new)
            self._flush(self.id, Flush(self.id))

    def _flush(self, source: str, message: Flush) -> None:
        if message.origin in self.flushed:
            return
        self.flushed.add(message.origin)
        old = self.awaited.pop(message.origin, "")
        closing = {old, *self.awaited.values()}
        for neighbour in self.neighbours:
            if neighbour != source and neighbour not in closing:
                self._send(neighbour, message)
        if old:
            self._give_up(old)

    def _give_up(self, old: str) -> None:
        """Unsubscribe; what comes over a link that is kept is still taken."""
        if self.is_kept:
            self._send(old, Closed())
            if old in self.lingering:
                del self.lingering[old]
            else:
                self.lingering[old] = None
        self._link_removed(old)

    def _closed(self, source: str, message: Closed) -> None:
        """The other end has given up; if this one has not yet, it need not wait afterwards."""
        if source in self.lingering:
            del self.lingering[source]
        else:
            self.lingering[source] = None

    def _receive(self, source: str, message: Any) -> None:
        if source in self.lingering and isinstance(message, Notification):
            self._process(source, message)
        else:
            super()._receive(source, message)
