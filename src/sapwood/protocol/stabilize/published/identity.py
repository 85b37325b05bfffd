"""Identity-based routing with leases (Jaeger 2007, 3.3.2; Eq. 3.5).

A filter travels once, however many want it; so one of them renews it for all (``telling``). The
printed rule counts the entries that were renewed since the clock overran, and passes a renewal on
if there is none (``printed``): it lets entries expire though nothing is wrong.
"""

from __future__ import annotations

from sapwood.protocol.stabilize.published.leasing import Leasing
from sapwood.protocol.stabilize.published.printed import Printed
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.strategy import Entry


class LeasedIdentity(Leasing):
    """Neighbours know every filter under its own id."""

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """The id of its filter."""
        return [entry.filter.id]

    def supports(self, line: Line, entry: Entry) -> bool:
        """Whether it has the same filter."""
        return entry.filter.id == line.id


class PrintedIdentity(Printed):
    """A renewal is passed on if no other entry with the same filter was renewed before."""
