"""What the frame of the published heuristics is run with (Table 5.2)."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import msgspec

from sapwood.errors import ParameterError

HeuristicName: TypeAlias = Literal["ci", "lmst", "lmit"]
SummaryName: TypeAlias = Literal["bloom", "sketch"]


class HeuristicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times are in seconds."""

    heuristic: HeuristicName = "ci"
    start_at: float = 0.0
    """When the first broadcasts begin; each broker has a phase of its own within the interval."""
    broadcast_interval: float = 2.5
    """250 ticks of 10 ms."""
    update_interval: float = 2.81
    """How long what was heard is believed: longer than the interval and the way (281 ticks)."""
    horizon: int = 3
    """How many hops a broadcast goes (environmentSize)."""
    cache_size: int = 4608
    """Notifications that are remembered."""
    filter_bits: int = 55_296
    hashes: int = 7
    summary: SummaryName = "bloom"
    sketch_size: int = 256
    """Notifications of a sketch, at most."""
    hysteresis: float = 0.0
    """By which share the new ring has to be cheaper; 0 as printed."""
    handled: bool = False
    """Whether what a broker only forwards is remembered, too (CI-stable); printed: it is not."""
    broadcast_after: int = 0
    """Broadcast when so many more notifications were remembered; 0: by time only."""
    broadcast_interval_min: float = 0.5
    """Where traffic triggers broadcasts: the shortest time between two."""
    broadcast_interval_max: float = 10.0
    """Where traffic triggers broadcasts: the longest time between two, so that costs are told."""

    def __post_init__(self) -> None:
        positive = (
            "broadcast_interval",
            "update_interval",
            "broadcast_interval_min",
            "broadcast_interval_max",
        )
        for name in positive:
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ParameterError(f"is {value}; wanted finite seconds above 0", name)
        for name in ("horizon", "cache_size", "filter_bits", "hashes", "sketch_size"):
            if getattr(self, name) < 1:
                raise ParameterError(f"is {getattr(self, name)}; wanted 1 or more", name)
        if not 0 <= self.hysteresis < 1:
            raise ParameterError(f"is {self.hysteresis}; wanted 0 or more, below 1", "hysteresis")
        if self.broadcast_after < 0:
            raise ParameterError(f"is {self.broadcast_after}; wanted 0 or more", "broadcast_after")

    @property
    def interval_max(self) -> float:
        """The longest time between two broadcasts."""
        return self.broadcast_interval_max if self.broadcast_after else self.broadcast_interval
