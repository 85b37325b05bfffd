"""A simulated network that knows what its links and brokers cost, and adds up what it has cost.

The cost of a notification is that of the brokers that handle it and of the links that it passes
(thesis 5.2.1). What passed over a link is counted anyway, so nothing has to be done for a hop: cost
is read off these counts now and then, and before a link goes or a cost changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from sapwood.analysis.delivery.cost import Prices
from sapwood.protocol.broker import Broker
from sapwood.protocol.effects import OpenLink
from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import Edge
from sapwood.sim.network import Delay, Direction, Network, Station
from sapwood.sim.optimizing.setup import TICK_SECONDS


class CostedNetwork(Network):
    """Brokers whose links cost, and take, what the brokers at their ends make of it."""

    def __init__(
        self,
        prices: Prices,
        random: Random,
        config: Mapping[str, Any],
        make_broker: Callable[..., Broker] = Broker,
        jitter: float = 0.0,
    ) -> None:
        super().__init__(random, config, make_broker=make_broker)
        self.jitter = jitter
        """By which share of it messages take longer than a link costs, in the mean."""
        self.prices = prices
        self._delays = _delays_of(prices)
        self.cost = 0.0
        """Of all notifications so far, up to the last `settle_up`."""
        self.told_of_prices: list[Callable[[], None]] = []
        """Are called when everything costs something else."""
        self.hops_counted = 0
        """Links that notifications passed, up to then."""
        self._counted: dict[Direction, int] = {}
        self._published: dict[str, int] = {}
        self._place = {name: place for place, name in enumerate(prices.brokers)}

    def build(self, tree: Topology, routing: str) -> None:
        """All brokers, and the links of a tree."""
        for name in tree.brokers:
            self.add_broker(name)
        for a, b in tree.links:
            self.add_link(a, b, self.delay_between(a, b), {(a, b): routing, (b, a): routing})

    def link_cost(self, left: str, right: str) -> float:
        """What a notification costs between two brokers, linked or not."""
        return float(self.prices.links[self._place[left], self._place[right]])

    def processing_cost(self, name: str) -> float:
        """What a notification costs at a broker."""
        return float(self.prices.processing[self._place[name]])

    def delay_between(self, left: str, right: str) -> Delay:
        """A link takes as many ticks as it costs, whatever it costs then; or longer by chance."""
        here, there, jitter = self._place[left], self._place[right], self.jitter
        if not jitter:
            return lambda random: self._delays[here][there]
        return lambda random: self._delays[here][there] * (1 + random.expovariate(1 / jitter))

    def _open(self, station: Station, effect: OpenLink) -> None:
        here, there = station.name, effect.broker
        if there not in self.brokers or (here, there) in self.directions:
            return
        routing: dict[Edge, str] = {
            (there, here): self._usual(here),
            (here, there): self._usual(there),
        }
        self.add_link(here, there, self.delay_between(here, there), routing, in_tree=False)

    def cut_link(self, a: str, b: str) -> None:
        """A link is gone: what passed over it is paid first."""
        for here, there in ((a, b), (b, a)):
            direction = self.directions.get((here, there))
            if direction is not None:
                self._settle_up(here, there, direction)
                self._counted.pop(direction, None)
        super().cut_link(a, b)

    # Costs

    def publishes(self, broker: str, count: int) -> None:
        """Notifications are published at a broker, which handles them as well."""
        self._published[broker] = self._published.get(broker, 0) + count

    def settle_up(self) -> None:
        """Add up what has been sent and published since the last time, at the prices of now."""
        for (here, there), direction in self.directions.items():
            self._settle_up(here, there, direction)
        for broker, count in self._published.items():
            self.cost += count * self.processing_cost(broker)
        self._published.clear()

    def _settle_up(self, here: str, there: str, direction: Direction) -> None:
        fresh = direction.notifications - self._counted.get(direction, 0)
        if fresh:
            self._counted[direction] = direction.notifications
            self.hops_counted += fresh
            self.cost += fresh * (self.link_cost(here, there) + self.processing_cost(there))

    def change_prices(self, prices: Prices) -> None:
        """Everything costs something else from now on."""
        self.settle_up()
        self.prices, self._delays = prices, _delays_of(prices)
        for tell in self.told_of_prices:
            tell()

    # Looking

    def tree_links(self) -> list[tuple[str, str]]:
        """The links that carry notifications now, each once."""
        return [
            (here, there)
            for here, there in self.directions
            if here < there and self.brokers[here].neighbours.is_in_tree(there)
        ]


def _delays_of(prices: Prices) -> list[list[float]]:
    """Plain numbers: one is looked up for every hop."""
    delays: list[list[float]] = (TICK_SECONDS * prices.links).tolist()
    return delays
