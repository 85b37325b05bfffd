"""What self-stabilization costs on a link where nothing else happens: bytes per second."""

from __future__ import annotations

import msgspec

from sapwood.analysis.stabilization.periods import Periods

REFRESH_BYTES = 113
"""One digest of both tables, on the wire: whatever they hold. Only a table that differs is divided
into buckets."""
CHECK_BYTES = 40
"""One check of a stream, with the acknowledgement that goes with it."""
BEACON_BYTES = 140
"""One beacon, with a path of a few brokers."""
ENTRY_BYTES = 94
"""One entry of a table that is told again."""


class IdleTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes per second over one link in one direction."""

    tables: float
    streams: float
    tree: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.tables + self.streams + self.tree


def idle_traffic(periods: Periods, entries: int = 0) -> IdleTraffic:
    """What one direction of a link costs, with so many entries told over it."""
    told = 0.0
    if periods.refresh == "digest":
        told = REFRESH_BYTES
    elif periods.refresh != "off":
        told = ENTRY_BYTES * entries
    return IdleTraffic(
        tables=told / periods.refresh_period,
        streams=CHECK_BYTES / periods.refresh_period,
        tree=0.0 if periods.tree == "off" else BEACON_BYTES / periods.beacon_period,
    )
