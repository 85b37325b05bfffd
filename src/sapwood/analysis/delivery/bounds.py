"""How little notifications must cost, whatever the tree.

The thesis takes for each notification the cheapest tree over the brokers concerned (5.6.1). That is
no bound: a tree may reach them more cheaply through a broker that is not concerned. But going round
such a tree once visits all of them and passes every link twice, so a path through t brokers costs
at most twice the tree, and without the dearest of the t steps round it at most (t - 1)/t of that.
Hence the cheapest tree over them alone costs at most 2(t - 1)/t times any tree that joins them,
where the costs are those of the shortest paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sapwood.analysis.delivery.cost import Delivery, Prices
from sapwood.analysis.traffic.arrays import Floats


def printed_lower_bound(prices: Prices, deliveries: Iterable[Delivery]) -> float:
    """The figure that the thesis draws as lower bound; a network may cost less."""
    return math.fsum(
        one.number * (_handled(prices, one) + spanning_cost(prices.links, _places(prices, one)))
        for one in deliveries
    )


def lower_bound(prices: Prices, deliveries: Iterable[Delivery]) -> float:
    """What all notifications cost at least, on any tree.

    Every broker concerned handles a notification; joining t of them costs at least t/(2(t - 1))
    times the cheapest tree over them, by shortest paths.
    """
    shortest = shortest_costs(prices.links)
    total = []
    for one in deliveries:
        places = _places(prices, one)
        t = len(places)
        share = t / (2 * (t - 1)) if t > 1 else 0.0
        joined = share * spanning_cost(shortest, places)
        total.append(one.number * (_handled(prices, one) + joined))
    return math.fsum(total)


def shortest_costs(links: Floats) -> Floats:
    """The cost of the cheapest path between any two brokers."""
    shortest = np.array(links, dtype=np.float64)
    np.fill_diagonal(shortest, 0.0)
    for through in range(len(shortest)):
        shortest = np.minimum(shortest, shortest[:, through, None] + shortest[None, through, :])
    return shortest


def spanning_cost(links: Floats, places: Sequence[int]) -> float:
    """The cost of the cheapest tree over some brokers, with links between these only (Prim)."""
    among = np.asarray(links, dtype=np.float64)[np.ix_(places, places)]
    outside = np.ones(len(places), dtype=bool)
    outside[0] = False
    nearest = among[0].copy()
    total = []
    while outside.any():
        closest = int(np.argmin(np.where(outside, nearest, np.inf)))
        total.append(float(nearest[closest]))
        outside[closest] = False
        nearest = np.minimum(nearest, among[closest])
    return math.fsum(total)


def _places(prices: Prices, delivery: Delivery) -> list[int]:
    return [prices.at(broker) for broker in dict.fromkeys(delivery.concerned)]


def _handled(prices: Prices, delivery: Delivery) -> float:
    return prices.handling(dict.fromkeys(delivery.concerned))
