"""The settings of a broker as the formulas want them (``sapwood.analysis.stabilization``)."""

from __future__ import annotations

import math

from sapwood.analysis.stabilization.network import Network, network_of
from sapwood.analysis.stabilization.periods import Periods
from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings


def periods_of(
    stabilization: StabilizationSettings,
    tree: TreeSettings,
    client_refresh_seconds: float,
    *,
    has_advertisements: bool = False,
) -> Periods:
    """The periods as they are set; what a stated time makes of them is not looked at here."""
    return Periods(
        refresh=stabilization.refresh,
        tree=tree.protocol,
        has_advertisements=has_advertisements,
        refresh_period=stabilization.refresh_seconds,
        client_refresh_period=client_refresh_seconds,
        beacon_period=tree.beacon_seconds,
        audit_period=stabilization.audit_seconds,
        tick=TICK_SECONDS,
        seek_period=tree.seek_seconds,
    )


def network_allowed(stabilization: StabilizationSettings, tree: TreeSettings) -> Network:
    """The worst tree that the settings allow, on links as slow as they say: a bound for all."""
    height = tree.depth_max - 1
    return Network(
        brokers=2 * height + 1,
        height=height,
        diameter=2 * height,
        delay_max=stabilization.delay_max,
        depth_max=tree.depth_max,
        ring_max=tree.ring_max,
    )


def network_known(
    settings: TreeSettings, delay: float, delay_tree: float, size: int | None
) -> Network:
    """The network as a broker in it knows it: by the delays of its links, and by the root.

    `size` is how many brokers there are, if that is known: the root knows. Others take as many as
    a beacon may pass. The longest way is counted in links as slow as the slowest of this broker.
    """
    farthest = 2 * (settings.depth_max - 1)
    diameter = min(farthest, math.ceil(round(min(delay_tree / delay, farthest), 6)))
    return network_of(
        max(settings.depth_max if size is None else size, diameter + 1),
        diameter=diameter,
        delay_max=delay,
        depth_max=settings.depth_max,
        ring_max=settings.ring_max,
    )
