"""Flooding with leases: only the entries of local clients are leased (Jaeger 2007, 3.3.2).

Nothing is told to anybody, so a lease may be as long as the refresh period, and everything is right
again after the longer of two leases and the time a notification takes through the network
(Eq. 3.2).
"""

from __future__ import annotations

from sapwood.protocol.stabilize.published.leasing import Leasing
from sapwood.protocol.stabilize.published.telling import Line
from sapwood.routing.strategy import Entry


class LeasedFlooding(Leasing):
    """Nobody is told of anything."""

    def lines(self, kind: str, neighbour: str, entry: Entry) -> list[str]:
        """Nobody knows an entry of somebody else."""
        return []

    def supports(self, line: Line, entry: Entry) -> bool:
        """Nothing is known because of an entry."""
        return False
