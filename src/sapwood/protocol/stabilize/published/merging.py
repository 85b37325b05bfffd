"""Merging-based routing with leases, in two variants (Jaeger 2007, 3.3.2).

A perfect merger travels in place of its constituents. One of these renews it, and another takes
over when that is gone, as with filters that are the same: a merger is owed as long as all its
constituents are there, and each of them has a lease of its own here. Printed is that a merger is
renewed when the last constituent has been; but the last of one period and the last of the next can
be almost two periods apart, so mergers expire though nothing is wrong.

The first variant passes constituents on by themselves too while the merger was not renewed since
the clock overran (Eq. 3.8), the second does not (Eq. 3.9).
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.protocol.effects import Effect
from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.leasing import Leasing
from sapwood.protocol.stabilize.published.printed import Printed
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.covering import covers
from sapwood.routing.strategy import Entry


class _Mergers(Leasing):
    """Neighbours know an entry within whatever covers it of what they are owed.

    What another entry covers is no constituent: perhaps it is there only because the first variant
    has passed it on, and then nobody renews it in time.
    """

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The ids of mergers it is part of; its own, if it is told alone."""
        ledger = self._tables[kind].ledgers[neighbour]
        if entry.filter.id not in ledger.standing():
            return []
        return self._around(kind, neighbour, entry)

    def _around(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The ids of what covers it, of all that a neighbour is owed."""
        owed = self._tables[kind].ledgers[neighbour].owed()
        if entry.filter.id in owed:
            return [entry.filter.id]
        return [told_id for told_id, filter in owed.items() if covers(filter, entry.filter)]

    def supports(self, line: Line, entry: Entry) -> bool:
        """Whether it is part of the merger."""
        filter = self._owed(line)
        if filter is None or entry.filter.id == line.id:
            return entry.filter.id == line.id
        ledger = self._tables[line.kind].ledgers[line.neighbour]
        return entry.filter.id in ledger.standing() and covers(filter, entry.filter)

    def supporters(self, line: Line) -> Iterable[Key]:
        """The constituents."""
        return [
            Key(line.kind, entry.destination, entry.id)
            for entry in self._tables[line.kind]
            if entry.destination != line.neighbour and self.supports(line, entry)
        ]

    def concerned(self, kind: str, neighbour: str, entry: Entry) -> Iterable[str]:
        """Any merger may have had it, and it may have been told by itself."""
        return dict.fromkeys([*self._tables[kind].ledgers[neighbour].owed(), entry.filter.id])


class LeasedMerging2(_Mergers):
    """Constituents are not passed on."""


class LeasedMerging1(_Mergers):
    """Constituents are passed on by themselves while the merger was not renewed."""

    def is_told_aside(self, kind: str, neighbour: str, entry: Entry) -> bool:
        """Whether nothing that it is within was told since the clock overran."""
        return not any(
            self.tellings.is_renewed(Line(kind, neighbour, told_id))
            for told_id in self._around(kind, neighbour, entry)
        )


class PrintedMerging2(_Mergers, Printed):
    """A merger is renewed when all its constituents were; they are not passed on."""

    passes_constituents = False

    def _passed_on(self, key: Key, entry: Entry, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for neighbour in self._audience(key.kind, entry):
            for told_id in self.lines(key.kind, neighbour, entry):
                line = Line(key.kind, neighbour, told_id)
                if self.tellings.is_renewed(line):
                    continue
                if all(map(self.leases.is_flagged, self.supporters(line))):
                    effects += self._tell(line, key, now)
                elif self.passes_constituents:
                    effects += self._tell(Line(key.kind, neighbour, entry.filter.id), key, now)
        return effects


class PrintedMerging1(PrintedMerging2):
    """Constituents are passed on by themselves while the merger was not renewed."""

    passes_constituents = True
