"""Costs instead of counts: what a message costs on a link and at a broker.

A notification costs the processing at the publisher's broker, and for every link the cost of the
link and the processing at its far end: that is Eq. 5.2 of the thesis, added up edge by edge. A
control message costs the same way, along its own direction. Sizes are factors: with bytes per
message as weights and costs of 1, the result is bytes per second (Eq. 2 of 004).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Floats, Given, number_of, rates_of
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.predicting import Traffic
from sapwood.analysis.traffic.tree import RootedTree


@dataclass(frozen=True, eq=False)
class Costs:
    """What messages cost; made by ``costs``, which checks it."""

    tree: RootedTree
    links: Floats = field(repr=False)
    """By direction and link (that above the second broker, the third, ...)."""
    processing: Floats = field(repr=False)
    """By broker."""
    notification: float = 1.0
    """The weight of a notification."""
    control: float = 1.0
    """The weight of a control message."""

    def along(self) -> Floats:
        """The cost of one message over each edge: its link, and the broker that it reaches."""
        above = self.processing[np.array(self.tree.parents[1:], dtype=np.intp)]
        reached = np.stack([self.processing[1:], above])
        return self.links + reached


def costs(
    tree: RootedTree,
    *,
    links: Given = 1.0,
    processing: Given = 0.0,
    notification: float = 1.0,
    control: float = 1.0,
) -> Costs:
    """Costs by link, the same in both directions unless given for each, and by broker."""
    return Costs(
        tree,
        rates_of("links", links, (2, tree.links)),
        rates_of("processing", processing, (len(tree.brokers),)),
        number_of("notification", notification),
        number_of("control", control),
    )


def cost_of(traffic: Traffic, costs: Costs) -> float:
    """What a network's traffic costs per second."""
    published = float(traffic.published @ costs.processing) * costs.notification
    return published + float(cost_by_edge(traffic, costs).sum())


def cost_by_edge(traffic: Traffic, costs: Costs) -> Floats:
    """What each edge costs per second: its notifications, and the control messages against it."""
    along = costs.along()
    against = along[[UP, DOWN]]
    control = traffic.edges.changes + traffic.leasing_by_edge
    carried = traffic.edges.notifications * along * costs.notification
    return carried + control * against * costs.control
