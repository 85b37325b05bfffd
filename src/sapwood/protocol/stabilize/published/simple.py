"""Simple routing with leases: every subscription is renewed by itself (Jaeger 2007, 3.3.2).

The lease must be longer than the refresh period by as much as delays along the longest path can
differ (Eq. 3.3); everything is right again after two leases and a message's way through the network
(Eq. 3.4). Other than in print, only the same id *of the same destination* is replaced (1118).
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.protocol.stabilize.published.leases import Key
from sapwood.protocol.stabilize.published.leasing import Leasing
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.strategy import Entry


class LeasedSimple(Leasing):
    """Neighbours know every entry under its own id."""

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """Its id; or a longer one, where a fault has left two filters under the same id."""
        owed = self._tables[kind].ledgers[neighbour].owed()
        return [one for one in _names(entry) if owed.get(one) == entry.filter]

    def supports(self, line: Line, entry: Entry) -> bool:
        """Whether it is told under this id."""
        return line.id in _names(entry)

    def supporters(self, line: Line) -> Iterable[Key]:
        """The entry with this id; several only if somebody has taken an id of somebody else."""
        filter = self._owed(line)
        if filter is None:
            return []
        same = self._by_filter.get((line.kind, filter.id), {})
        return [
            key
            for key in same
            if key.destination != line.neighbour and line.id in _names_of(key.id, filter.id)
        ]

    def concerned(self, kind: str, neighbour: str, entry: Entry) -> Iterable[str]:
        """Under which ids it may have been told."""
        return _names(entry)


def _names(entry: Entry) -> tuple[str, str]:
    return _names_of(entry.id, entry.filter.id)


def _names_of(entry_id: str, filter_id: str) -> tuple[str, str]:
    return entry_id, f"{entry_id}/{filter_id}"
