"""How often a broker looks again at what it holds, and how the tree is kept.

A name says its unit (``_seconds``); a number without one is a count. The descriptions are what
`sapwood config show` and the reference print. Which values go together is said by
``sapwood.analysis.stabilization``; it is checked where settings are read, so that tests and
simulations may run with any.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sapwood.analysis.stabilization.periods import RefreshScheme, TreeProtocol


class StabilizationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Finding and mending what a fault did to tables and streams."""

    refresh: Annotated[
        RefreshScheme,
        Meta(
            description="How neighbours find out that their tables do not agree: digest compares a "
            "digest, batch sends everything again, hop-lease renews every entry, off never looks."
        ),
    ] = "digest"
    refresh_seconds: Annotated[
        float, Meta(gt=0.0, description="Time between two comparisons with a neighbour.")
    ] = 30.0
    audit_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time in which everything that is derived from the entries of the tables "
            "is derived again.",
        ),
    ] = 300.0
    delay_max: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Longest time, in seconds, that a control message takes to a neighbour; "
            "0 to measure it.",
        ),
    ] = 0.0
    seconds: Annotated[
        float,
        Meta(
            ge=0.0,
            description="Time in which every fault is to be healed. refresh_seconds, "
            "audit_seconds, client.refresh_seconds and tree.beacon_seconds follow from it and from "
            "delay_max; where delays are measured, from 0.05 s over a link, and the first three "
            "become shorter where more is measured. 0 to use those as they are set.",
        ),
    ] = 0.0


class TreeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keeping the links of all brokers one tree."""

    protocol: Annotated[
        TreeProtocol,
        Meta(
            description="How brokers agree on the tree: by beacons of the root; or off, where "
            "nobody looks whether it is one."
        ),
    ] = "beacons"
    beacon_seconds: Annotated[
        float, Meta(gt=0.0, description="Time between two beacons of the root.")
    ] = 3.0
    priority: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Who becomes the root: the broker with the smallest number, of several "
            "the one with the smallest id.",
        ),
    ] = 1000
    depth_max: Annotated[
        int,
        Meta(
            ge=2,
            le=4096,
            description="Brokers on the longest way from the root that is accepted, both ends "
            "counted.",
        ),
    ] = 64
    children_max: Annotated[
        int,
        Meta(
            ge=0,
            description="Children a broker wants to have; beyond it others are preferred as "
            "parents. 0 for any number.",
        ),
    ] = 0
    seek_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time between two attempts to reach a broker known by hearsay that is "
            "not part of the tree.",
        ),
    ] = 15.0
    change_seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            description="Time after which a change of the tree that is not decided is undone.",
        ),
    ] = 4.0
    ring_max: Annotated[
        int,
        Meta(
            ge=3,
            description="Brokers on the longest ring that one change of the tree may concern.",
        ),
    ] = 12


NO_REFRESH = StabilizationSettings(refresh="off")
"""For brokers on perfect links whose state nobody spoils."""
NO_PROTOCOL = TreeSettings(protocol="off")
"""For brokers whose links are a tree because whoever drives them says so."""
