"""What a tree is judged by: what links and brokers cost, and which brokers notifications concern.

The cost of a tree is that of all notifications of a unit of time (thesis, Eq. 5.2 and 5.3), as in
`sapwood.analysis.delivery`, but compiled: a search asks for it a hundred thousand times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sapwood.analysis.delivery.cost import Delivery, Prices
from sapwood.analysis.overlay.kernels import cost_of
from sapwood.analysis.traffic.arrays import Floats
from sapwood.errors import ParameterError

Tree: TypeAlias = tuple[tuple[int, int], ...]
"""Links between brokers given by their places; a spanning tree."""


class Situation(NamedTuple):
    """Prices, and kinds of notifications."""

    prices: Prices
    concerned: NDArray[np.bool_]
    """By kind of notification and broker: whether it concerns the broker."""
    numbers: Floats
    """Of each kind, in a unit of time."""
    publishers: NDArray[np.int64]
    """Of each kind: the place of the broker where it is published."""


def situation(prices: Prices, deliveries: Iterable[Delivery]) -> Situation:
    """What is to be delivered, as arrays; the publisher's broker is the first concerned."""
    given = list(deliveries)
    concerned = np.zeros((len(given), len(prices.brokers)), dtype=np.bool_)
    publishers = np.zeros(len(given), dtype=np.int64)
    for kind, one in enumerate(given):
        if not one.concerned:
            raise ParameterError("concerns no broker; wanted the publisher's at least", "delivery")
        publishers[kind] = prices.at(one.concerned[0])
        for broker in one.concerned:
            concerned[kind, prices.at(broker)] = True
    numbers = np.array([one.number for one in given], dtype=np.float64)
    return Situation(prices, concerned, numbers, publishers)


def places_of(prices: Prices, links: Iterable[tuple[str, str]]) -> Tree:
    """A tree given by names."""
    return tuple((prices.at(left), prices.at(right)) for left, right in links)


def tree_cost(around: Situation, tree: Sequence[tuple[int, int]]) -> float:
    """What all notifications of a unit of time cost on a tree (Eq. 5.3)."""
    count = len(around.prices.brokers)
    if len(tree) != count - 1:
        raise ParameterError(f"has {len(tree)} links; {count - 1} join {count} brokers", "tree")
    neighbours, degrees = as_arrays(tree, count)
    found = cost_of(neighbours, degrees, *arrays_of(around))
    if found < 0:
        raise ParameterError("does not join all brokers", "tree")
    return float(found)


def as_arrays(
    tree: Iterable[tuple[int, int]], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The neighbours of each broker, and how many it has."""
    neighbours = np.zeros((count, count), dtype=np.int64)
    degrees = np.zeros(count, dtype=np.int64)
    for left, right in tree:
        for here, there in ((left, right), (right, left)):
            neighbours[here, degrees[here]] = there
            degrees[here] += 1
    return neighbours, degrees


def as_tree(neighbours: NDArray[np.int64], degrees: NDArray[np.int64]) -> Tree:
    """The links of a tree given by arrays, in order."""
    return tuple(
        sorted(
            (here, int(there))
            for here in range(len(degrees))
            for there in neighbours[here, : degrees[here]]
            if here < there
        )
    )


def arrays_of(
    around: Situation,
) -> tuple[Floats, Floats, NDArray[np.int16], Floats]:
    """What the kernels take: links, processing, who is concerned by broker and kind, numbers."""
    return (
        np.ascontiguousarray(around.prices.links),
        np.ascontiguousarray(around.prices.processing),
        np.ascontiguousarray(around.concerned.T.astype(np.int16)),
        np.ascontiguousarray(around.numbers),
    )
