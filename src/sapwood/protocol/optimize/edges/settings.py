"""Whether and how brokers choose the routing of their edges.

A name says its unit (``_seconds``); a number without one is a count or a share. The descriptions
are what `sapwood config show` and the reference print.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

EdgeChoice: TypeAlias = Literal["fixed", "observe", "auto"]

Telling: TypeAlias = Literal["simple", "identity", "covering", "merging"]
"""How what is wanted can be told."""


class EdgeRoutingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Choosing the routing of every directed edge by what it costs."""

    choice: Annotated[
        EdgeChoice,
        Meta(
            description="Whether edges stay as they are routed at first (fixed), are switched to "
            "what costs least (auto), or are only looked at: what would be switched is shown and "
            "not done (observe)."
        ),
    ] = "fixed"
    flooding: Annotated[
        bool, Meta(description="Whether edges may flood where that costs less.")
    ] = True
    telling: Annotated[
        tuple[Telling, ...],
        Meta(
            min_length=1,
            description="Ways to tell neighbours what is wanted, among which is chosen.",
        ),
    ] = ("identity", "covering")
    unit: Annotated[
        Literal["messages", "bytes"], Meta(description="In what costs are measured.")
    ] = "bytes"
    period_seconds: Annotated[
        float, Meta(gt=0.0, description="Time between two decisions of a broker.")
    ] = 10.0
    window_seconds: Annotated[
        float, Meta(gt=0.0, description="How far back the traffic of an edge is measured.")
    ] = 30.0
    threshold: Annotated[
        float,
        Meta(
            ge=0.0,
            lt=1.0,
            description="By which share of the present cost of an edge another routing must be "
            "cheaper.",
        ),
    ] = 0.05
    deviations: Annotated[
        float,
        Meta(
            ge=0.0,
            description="By how many standard deviations of what was counted it must be cheaper.",
        ),
    ] = 2.0
    hold_seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Time after a switch of an edge until the next one. It doubles with every "
            "switch that is taken back within four of these times.",
        ),
    ] = 30.0
    hold_max_seconds: Annotated[float, Meta(ge=0.0, description="Longest such time.")] = 960.0
    payback_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time within which a switch must save what it costs to tell the table.",
        ),
    ] = 600.0
    flood_max_share: Annotated[
        float,
        Meta(ge=0.0, le=1.0, description="Share of a broker's edges that may flood at most."),
    ] = 1.0

    @property
    def is_auto(self) -> bool:
        """Whether edges are switched."""
        return self.choice == "auto"

    @property
    def is_looking(self) -> bool:
        """Whether traffic is measured."""
        return self.choice != "fixed"


FIXED = EdgeRoutingSettings()
"""For brokers whose edges stay as they are."""
