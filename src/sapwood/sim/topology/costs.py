"""What it costs to send a notification over a link and to process it at a broker.

The cost of a notification is the sum of the processing costs of the brokers and the communication
costs of the links of its delivery tree (thesis 5.2.1, 5.3.1). Costs are abstract, and independent
of delays: a scenario may take both from the same underlay, or neither. Table 5.1 draws processing
costs from 0 to 10 and scales communication costs to the same range, so that both weigh alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol

from sapwood.protocol.tree import Topology
from sapwood.sim.parameters import check_at_least, check_order
from sapwood.sim.topology.underlay import Overlay


class LinkCosts(Protocol):
    """What a message costs on any link there is or may come to be."""

    def cost(self, left: str, right: str) -> float:
        """The cost between two brokers, the same in both directions."""


class ConstantCosts:
    """Every link costs the same."""

    def __init__(self, value: float = 1.0) -> None:
        check_at_least("cost", value, 0)
        self.value = value

    def cost(self, left: str, right: str) -> float:
        """The same for all links."""
        return self.value


class UnderlayCosts:
    """A link costs in proportion to its delay on the underlay.

    The longest possible link costs `cost_max`; one without any delay would cost `cost_min`. Since
    every broker has a node of its own, no link comes at exactly `cost_min`, and with the default
    of 0 the weights 1/cost² of Eq. 5.15 stay finite.
    """

    def __init__(self, overlay: Overlay, cost_min: float = 0.0, cost_max: float = 10.0) -> None:
        check_at_least("cost_min", cost_min, 0)
        check_at_least("cost_max", cost_max, 0)
        check_order("cost_min", cost_min, "cost_max", cost_max)
        self.overlay = overlay
        self.cost_min = cost_min
        self.cost_max = cost_max

    def cost(self, left: str, right: str) -> float:
        """The scaled delay between two brokers."""
        longest = self.overlay.delay_max
        share = self.overlay.delay(left, right) / longest if longest else 0.0
        return self.cost_min + (self.cost_max - self.cost_min) * share


def draw_processing_costs(
    brokers: Iterable[str], random: Random, cost_min: float = 0.0, cost_max: float = 10.0
) -> dict[str, float]:
    """What a message costs at each broker, all between two bounds equally likely."""
    check_at_least("cost_min", cost_min, 0)
    check_at_least("cost_max", cost_max, 0)
    check_order("cost_min", cost_min, "cost_max", cost_max)
    return {broker: random.uniform(cost_min, cost_max) for broker in brokers}


def tree_cost(topology: Topology, costs: LinkCosts) -> float:
    """The sum of the costs of all links of a tree."""
    return sum(costs.cost(left, right) for left, right in topology.links)
