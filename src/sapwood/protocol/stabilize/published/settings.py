"""What is set for a broker that runs a published scheme."""

from __future__ import annotations

import msgspec


class SchemeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A scheme, its periods, and the broker's part in it. None of it can be spoilt by a fault."""

    scheme: str
    lease_period: float
    """Time in which an entry has to be renewed; with rebuild: time between two switches."""
    phase: float = 0.0
    """Where the broker's clock stands at the beginning, as a share of the period: from 0 to 1."""
    root: str = ""
    """The broker that begins every switch."""
    ends: bool = True
    """Whether neighbours are told that a client has unsubscribed. If not, their entries are left
    to expire (Jaeger 2007, 3.5.4)."""
