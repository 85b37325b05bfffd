"""Covering-based routing with leases, in two variants (Jaeger 2007, 3.3.2).

What another filter covers does not travel. The first variant believes only in covers that were
renewed since the clock overran: a filter below another is passed on too, by itself. It is right
again as soon as identity-based routing is (Eq. 3.6), for more messages. The second believes in all
covers, also in one that a fault has left and that nobody renews; printed, where entries expire
silently, what it hid comes back only with its next renewal (Eq. 3.7).

Filters that are the same have one representative, as in identity-based routing.
"""

from __future__ import annotations

from sapwood.protocol.stabilize.published.identity import LeasedIdentity
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.printed import Printed
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.covering import covers
from sapwood.routing.strategy import Entry


class LeasedCovering2(LeasedIdentity):
    """What an entry covers is not passed on."""

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The id of its filter, unless that is hidden below another one."""
        own = entry.filter.id
        return [own] if own in self._tables[kind].ledgers[neighbour].owed() else []


class LeasedCovering1(LeasedCovering2):
    """What an entry covers is passed on while that entry was not renewed."""

    def is_told_aside(self, kind: str, neighbour: str, entry: Entry) -> bool:
        """Whether no cover of its filter was told since the clock overran."""
        owed = self._tables[kind].ledgers[neighbour].owed()
        return not any(
            self.tellings.is_renewed(Line(kind, neighbour, told_id))
            for told_id, filter in owed.items()
            if covers(filter, entry.filter)
        )


class PrintedCovering1(Printed):
    """Covers count only where they were renewed since the clock overran."""

    def hides(self, key: Key, other: Entry, entry: Entry) -> bool:
        """Whether another entry was renewed that is the same or covers it."""
        return self.leases.is_flagged(key) and (
            other.filter.id == entry.filter.id or covers(other.filter, entry.filter)
        )


class PrintedCovering2(Printed):
    """Covers count whether they were renewed or not; filters that are the same only if so."""

    def hides(self, key: Key, other: Entry, entry: Entry) -> bool:
        """Whether another entry covers it, or was renewed and is the same."""
        if other.filter.id == entry.filter.id:
            return self.leases.is_flagged(key)
        return covers(other.filter, entry.filter)
