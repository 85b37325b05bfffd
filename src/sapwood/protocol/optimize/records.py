"""What a broker remembers of the swaps that it takes part in."""

from __future__ import annotations

import msgspec

from sapwood.protocol.optimize.decision import Decision
from sapwood.protocol.optimize.messages import SwapPropose


class Proposal(msgspec.Struct):
    """A swap of which this broker is the middle."""

    decision: Decision
    request: int
    """Its number as a request for an exchange."""
    until: float
    agreed: list[str] = []
    is_begun: bool = False
    """Whether the exchange was asked for."""
    weight: float = 0.0
    """What it gains, or what the swap does that it makes room for: less gives way to more."""


class Promise(msgspec.Struct):
    """A swap that this broker has agreed to take part in as the mover, or the one it hangs on."""

    proposed: SwapPropose
    middle: str
    until: float
    since: float = 0.0
    """At the mover: from when on the counts hold of the neighbour that it leaves."""
    is_done: bool = False


class Watched(msgspec.Struct):
    """A swap that has been made onto this broker: what has it gained?"""

    proposed: SwapPropose
    middle: str
    since: float


class Backoff(msgspec.Struct):
    """A swap that was refused."""

    until: float
    periods: int
