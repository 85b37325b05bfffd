"""Reconfiguration path: one message each way round the ring carries all changes of tables.

(Cugola, Frey, Murphy, Picco 2004; Jaeger 2007, 4.4.1.) The old link is gone at once. Each of its
ends sends a message along its side, over the new link and along the other side to the other end. On
the way every broker takes out what came from over the old link and puts in what comes over the new
one, and tells the next what that means for it: the difference to what it was told. Nothing leaves
the ring. What is published while the messages are under way may be lost, and order is not looked
after.

A broker takes part in one change at a time; what others ask meanwhile waits, and so do
(un)subscriptions. Changes with overlapping rings are not supported: each may wait for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked, Subscribe, Unsubscribe
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter


class Reconfigure(msgspec.Struct, frozen=True, gc=False):
    """What changes for the next broker on the ring."""

    change: Exchange
    from_left: bool
    """Which end of the old link it comes from."""
    added: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]


class ReconfigurationPath(PlainBroker):
    """One broker."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        self.change: Exchange | None = None
        self.passed: set[bool] = set()
        """From which ends the message has come by."""
        self.later: list[tuple[str, Any]] = []
        """What waits until this change is over."""
        self._messages[Reconfigure] = self._reconfigure

    @property
    def is_busy(self) -> bool:
        """Whether it takes part in a change."""
        return self.change is not None

    @staticmethod
    def initiators(change: Exchange) -> tuple[str, ...]:
        """The ends of the old link are asked."""
        return change.old

    def _asked(self, event: ChangeAsked) -> None:
        change = event.change
        assert isinstance(change, Exchange)
        if self.change is not None:
            return
        left, right = change.old
        self.change = change
        old = right if self.id == left else left
        del self.neighbours[old]
        self.tables.forget(old)
        self._pass_on(change, self.id == left)

    def _reconfigure(self, source: str, message: Reconfigure) -> None:
        if self.change is not None and self.change != message.change:
            self.later.append((source, message))
            return
        self.change = message.change
        self.neighbours[source] = None
        for key in message.removed:
            self.tables.remove(source, key)
        for key, filter in message.added:
            self.tables.add(source, key, filter)
        self._pass_on(message.change, message.from_left)

    def _pass_on(self, change: Exchange, from_left: bool) -> None:
        """Tell the next broker on the way, unless the message ends here."""
        way = self._way(change, from_left)
        place = way.index(self.id)
        if place + 1 < len(way):
            following = way[place + 1]
            self.neighbours[following] = None
            difference = self.tables.difference(following)
            onward = Reconfigure(
                change, from_left, tuple(difference.added), tuple(difference.removed)
            )
            self._send(following, onward)
        self.passed.add(from_left)
        if len(self.passed) == 2:
            self._done()

    @staticmethod
    def _way(change: Exchange, from_left: bool) -> tuple[str, ...]:
        """From one end of the old link to the other, over the new one."""
        way = (*change.ring[change.k - 1 :: -1], *change.ring[: change.k - 1 : -1])
        return way if from_left else way[::-1]

    def _done(self) -> None:
        self.change, self.passed = None, set()
        self._tell()
        later, self.later = self.later, []
        for source, message in later:
            self._receive(source, message)

    def _receive(self, source: str, message: Any) -> None:
        if self.change is not None and isinstance(message, Subscribe | Unsubscribe):
            self.later.append((source, message))
        else:
            super()._receive(source, message)
