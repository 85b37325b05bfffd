"""Where a broker is in the tree, its changes, and how long until a fault is healed.

The bounds are those of ``sapwood.analysis.stabilization``, with the settings of this broker and
with what its tree knows of the network: the root knows how many brokers there are, the others take
as many as a beacon may pass by their settings. Delays are those that were measured, unless they
are set; periods that follow from a stated time follow from these delays, and if none would keep
that time, it is said what is wrong.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from sapwood.analysis.stabilization import TERMS, bounds, excess, refresh_within, refreshed
from sapwood.protocol.broker import Broker
from sapwood.protocol.node import Node
from sapwood.protocol.stabilize.periods import network_known
from sapwood.runtime.admin.status import ChangeStatus, HealingStatus, OptimizationStatus, TreeStatus
from sapwood.runtime.config.settings import Settings
from sapwood.runtime.config.stabilization import periods_set, with_periods

OF_REFRESH: Final = ("mismatch", "expired", "strays", "silent")
"""What comparing tables may find."""
OF_BROKER: Final = ("impossible", "rebirth_changed")
"""What a broker may find in its own state."""
OF_STREAMS: Final = ("contradiction",)
"""What the two ends of a stream may find, where streams are checked."""


def tree_status(broker: Broker) -> TreeStatus:
    """The place of a broker in the tree."""
    tree = broker.tree
    candidates = tuple(name for name, one in broker.neighbours.items() if not one.in_tree)
    if not tree.is_on:
        return TreeStatus(
            candidates=candidates, delay_seconds=tree.delay, slowest_seconds=tree.delay
        )
    about = {**tree.report(), "protocol": tree.settings.protocol, "candidates": candidates}
    return msgspec.convert(about, TreeStatus)


def change_status(broker: Broker) -> ChangeStatus:
    """The changes of the tree in which a broker takes and took part."""
    return msgspec.convert(
        {**broker.turning.report(), "plan": broker.conducting.plan}, ChangeStatus
    )


def optimization_status(broker: Broker) -> OptimizationStatus:
    """What a broker has done to make the tree cheaper."""
    if not broker.config.optimization.is_on:
        return OptimizationStatus()
    about = {**broker.surroundings.report(), **broker.swapping.report()}
    return msgspec.convert(about, OptimizationStatus)


def fault_counts(node: Node) -> dict[str, int]:
    """What was found that only a fault brings about: of all kinds, found or not."""
    refresh = node.broker.reports().get("refresh", {})
    counts = {kind: int(refresh.get(kind, 0)) for kind in OF_REFRESH}
    counts |= {kind: node.broker.faults[kind] for kind in OF_BROKER}
    return counts | {kind: node.counts[kind] for kind in OF_STREAMS if kind in node.counts}


def healing_status(tree: TreeStatus, settings: Settings) -> HealingStatus:
    """How long until a fault is healed, as far as a broker at this place in the tree knows.

    Where no tree is kept, nothing is known of the network: it is as large as settings allow.
    """
    settings = with_periods(settings)
    is_known = tree.protocol != "off"
    delay = max(tree.delay_seconds, tree.slowest_seconds)
    network = network_known(
        settings.tree,
        delay,
        tree.delay_tree_seconds if is_known else math.inf,
        tree.size if is_known and not tree.parent else None,
    )
    periods = msgspec.structs.replace(periods_set(settings), away_time=settings.link.away_seconds)
    if (stated := settings.stabilization.seconds) and not settings.stabilization.delay_max:
        periods = refreshed(refresh_within(stated, network, periods), periods)
    found = bounds(network, periods)
    return HealingStatus(
        brokers=network.brokers,
        diameter=network.diameter,
        delay_seconds=delay,
        refresh_seconds=periods.refresh_period,
        stated_seconds=stated,
        problem=excess(stated, network, periods) if stated else "",
        bounds={term.name: _finite(getattr(found, term.name)) for term in TERMS},
    )


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else round(seconds, 6)
