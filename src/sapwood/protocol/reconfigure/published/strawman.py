"""Strawman: links are exchanged as if subscriptions had been given up and made anew (4.4.1).

The ends of the old link act as if all they had from the other end had been unsubscribed; the ends
of the new link send each other all they know. Nobody coordinates anything: notifications are lost
where an unsubscription comes before the subscription from the other side, repeated and reordered,
and (un)subscriptions leave the ring.

*Deferred unsubscriptions*: the same, but the old link stays for a while after the new one has come.
Less is lost the longer that is, and more repeated: meanwhile the links are a ring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked
from sapwood.protocol.reconfigure.published.plain import PlainBroker
from sapwood.protocol.reconfigure.published.tables import IDENTITY, ParseFilter


class Strawman(PlainBroker):
    """One broker; without a time-out the strawman, with one deferred unsubscriptions."""

    def __init__(
        self,
        id: str,  # noqa: A002 - the word of the domain
        neighbours: Iterable[str],
        parse: ParseFilter,
        algorithm: str = IDENTITY,
        timeout: float = 0.0,
    ) -> None:
        super().__init__(id, neighbours, parse, algorithm)
        self.timeout = timeout
        self.leaving: dict[str, float] = {}
        """When the links are removed that are still there."""

    @property
    def next_at(self) -> float:
        """When the next old link goes."""
        return min(self.leaving.values(), default=math.inf)

    @property
    def is_busy(self) -> bool:
        """Whether an old link still has to go."""
        return bool(self.leaving)

    def _asked(self, event: ChangeAsked) -> None:
        assert isinstance(event.change, Exchange)
        old, new = (other_end(link, self.id) for link in (event.change.old, event.change.new))
        if old:
            self.leaving[old] = self._now + self.timeout
        if new:
            self._new_link(new)
        self._tick()

    def _new_link(self, neighbour: str) -> None:
        self._link_added(neighbour)

    def _tick(self) -> None:
        for neighbour in [name for name, at in self.leaving.items() if at <= self._now]:
            del self.leaving[neighbour]
            self._link_removed(neighbour)


def other_end(link: tuple[str, str], one: str) -> str:
    """The other end of a link, if this is one."""
    return link[1 - link.index(one)] if one in link else ""
