"""How long until a fault is healed, and which periods give a wanted time.

`Network` says what is known of the tree and its links, `Periods` how often brokers look again.
`bounds` gives every part of the time by name, `refusals` what cannot work and why, and
`periods_within` the periods for a time that is stated. What the papers print is in
``sapwood.analysis.stabilization.published``.
"""

from __future__ import annotations

from sapwood.analysis.stabilization.bounds import TERMS, Bounds, Term, bounds
from sapwood.analysis.stabilization.network import Network, network_of
from sapwood.analysis.stabilization.periods import Periods
from sapwood.analysis.stabilization.refusals import Refusal, check, refusals
from sapwood.analysis.stabilization.solving import (
    excess,
    periods_following,
    periods_within,
    refresh_within,
    refreshed,
    shortest_refresh,
)
from sapwood.analysis.stabilization.traffic import IdleTraffic, idle_traffic

__all__ = [
    "TERMS",
    "Bounds",
    "IdleTraffic",
    "Network",
    "Periods",
    "Refusal",
    "Term",
    "bounds",
    "check",
    "excess",
    "idle_traffic",
    "network_of",
    "periods_following",
    "periods_within",
    "refresh_within",
    "refreshed",
    "refusals",
    "shortest_refresh",
]
