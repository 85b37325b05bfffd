"""Leases by the printed rule, which does not keep a correct network correct.

Whether a renewal is passed on depends on the flags of other entries (Jaeger 2007, 3.3.2,
Algorithm 1 with flags): it is, if none of them was renewed since the clock overran. Who comes first
after the clock overran changes from period to period, so the time between two renewals that a
neighbour gets can reach a lease and a refresh period, and what it holds expires (shown by tests).
And entries expire silently. Here so that figures can be made as they were printed.
"""

from __future__ import annotations

from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.leasing import BEGIN, Leasing
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.strategy import Entry


class Printed(Leasing):
    """Passes on what no entry hides that was renewed before."""

    def hides(self, key: Key, other: Entry, entry: Entry) -> bool:
        """Whether an entry need not be passed on because of another one, which has this key."""
        return other.filter.id == entry.filter.id and self.leases.is_flagged(key)

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The id of its filter."""
        return [entry.filter.id]

    def supports(self, line: Line, entry: Entry) -> bool:
        """Whether it has the same filter."""
        return entry.filter.id == line.id

    def _renewed(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        """Algorithm 1, for each neighbour: no destination but it and the source has such a one."""
        return self._passed_on(key, entry, now)

    def _passed_on(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        table, filter = self._tables[key.kind], entry.filter
        hiding = {
            other.destination
            for other in table
            if other.destination != entry.destination
            and self.hides(Key(key.kind, other.destination, other.id), other, entry)
        }
        message = BEGIN[key.kind](filter.id, str(filter), lease=self.leases.period_of(key))
        return [
            Send(neighbour, message)
            for neighbour in self._audience(key.kind, entry)
            if not hiding - {neighbour} and not self._was_told(neighbour, key, filter.id, now)
        ]

    def _was_told(self, neighbour: str, key: Key, told_id: str, now: float) -> bool:
        """Whether the difference has said it just now."""
        telling = self.tellings.get(Line(key.kind, neighbour, told_id))
        return telling is not None and telling.at == now

    def _handed_over(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        """Nobody takes over."""
        return []

    def _ended(self, expired: dict[Key, Entry], now: float) -> list[Effect]:
        """Nobody is told."""
        for table in self._tables.values():
            for ledger in table.ledgers.values():
                ledger.presume()
        return []
