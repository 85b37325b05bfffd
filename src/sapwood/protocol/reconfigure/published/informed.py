"""Informed link activation: only what came over the old link is moved (Jaeger 2007, 4.4.1).

The ends of the old link send what came over it to the end of the new link on their side, which
takes it as if it had come over the new link. So the ends of the new link do not send each other all
they know, of which the greater part would be given up again. When to unsubscribe is left to a
time-out, as in deferred unsubscriptions; so notifications may still be lost, repeated and
reordered.

The text has the ends of the old link choose "subscriptions for which only brokers are subscribed
that belong to the other side". Read to the letter, a filter with subscribers on both sides would
not move at all and its far subscribers would get nothing for ever; taken here is what came over the
old link.
"""

from __future__ import annotations

from typing import Any

from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.reconfigure.published.messages import ChangeAsked, Subscribe
from sapwood.protocol.reconfigure.published.strawman import Strawman, other_end


class Informed(Strawman):
    """One broker."""

    def _asked(self, event: ChangeAsked) -> None:
        change = event.change
        assert isinstance(change, Exchange)
        super()._asked(event)
        old = other_end(change.old, self.id)
        if old:
            is_left = self.id == change.ring[change.k - 1]
            relay = change.ring[0] if is_left else change.ring[-1]
            for key, filter in self.tables.of(old).items():
                self._inform(relay, Subscribe(key, filter, relayed=True), change.new)

    def _inform(self, relay: str, message: Subscribe, new: tuple[str, str]) -> None:
        if relay == self.id:
            self._moved(other_end(new, self.id), message)
        else:
            self._send_past(relay, message)

    def _new_link(self, neighbour: str) -> None:
        """The other end learns from its own side what it has to know."""
        self.neighbours[neighbour] = None
        self.tables.told[neighbour] = self.tables.owed(neighbour)
        self.joined = neighbour

    def _receive(self, source: str, message: Any) -> None:
        if isinstance(message, Subscribe) and message.relayed:
            self._moved(self.joined, message)
        else:
            super()._receive(source, message)

    def _moved(self, neighbour: str, message: Subscribe) -> None:
        """Take a subscription as if it had come over the new link."""
        self._subscribed(neighbour, Subscribe(message.key, message.filter))
