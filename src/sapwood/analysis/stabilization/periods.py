"""How often brokers look again, and how long they wait: all in seconds."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

RefreshScheme: TypeAlias = Literal["digest", "batch", "hop-lease", "off"]
"""How neighbours find out that their tables do not agree."""
TreeProtocol: TypeAlias = Literal["beacons", "off"]
"""How brokers agree on a tree."""


class Periods(msgspec.Struct, frozen=True, kw_only=True):
    """All times that are chosen. Nothing is checked here: ``refusals`` says what is impossible."""

    refresh: RefreshScheme = "digest"
    tree: TreeProtocol = "beacons"
    has_advertisements: bool = False
    """Whether subscriptions spread only where advertisements have spread before."""
    refresh_period: float = 30.0
    """ρ: between two comparisons with a neighbour, and between two checks of a stream."""
    client_refresh_period: float = 30.0
    """The same between a client and its broker."""
    beacon_period: float = 3.0
    """ξ: between two beacons of the root."""
    audit_period: float = 300.0
    """α: in which everything derived is derived again."""
    tick: float = 0.5
    """τ: how often a driver lets a broker look at its times."""
    lock_time: float = 0.0
    """L: after which a broker that is locked for a change of the tree gives it up. 0 for the
    shortest that is allowed."""
    seek_period: float = 15.0
    """Between two attempts to reach a broker that is known by hearsay."""
    away_time: float = 86_400.0
    """How long a place is kept for a neighbour that is out of reach, with the entries it had."""
    reconnect_time: float = 5.0
    """How long it takes to connect again, with the pauses between attempts."""

    @property
    def table_period(self) -> float:
        """Between two comparisons of tables on any edge, be it to a neighbour or to a client."""
        return max(self.refresh_period, self.client_refresh_period)
