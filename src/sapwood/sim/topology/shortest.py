"""Shortest paths between some nodes of a large network, compiled.

A thousand brokers on ten thousand nodes are a thousand searches; in plain Python, ours or a
library's, that takes more than a minute (docs/decisions/shortest-paths.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.compiled.compiling import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Paths(NamedTuple):
    """What is known of the shortest path between any two of the chosen nodes, as matrices.

    All are symmetric: rounding may make a path and its reverse differ in the last bit, so the
    direction from the earlier to the later of the chosen nodes counts for both.
    """

    length: Floats
    """Sum of the lengths of its links; infinite where there is no path."""

    narrowest: Floats
    """The smallest width of its links; infinite from a node to itself."""

    hops: Integers
    """How many links it has."""


def shortest_paths(
    nodes: int, links: Iterable[tuple[int, int, float, float]], chosen: Sequence[int]
) -> Paths:
    """Search from each chosen node (Dijkstra 1959).

    A link is (one end, other end, length, width), and leads both ways. Where two paths are equally
    long, the one through the smaller node numbers is taken.
    """
    table = np.array([*links], dtype=np.float64).reshape(-1, 4)
    ends = np.concatenate([table[:, :2], table[:, 1::-1]]).astype(np.int64)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    first = np.searchsorted(ends[order, 0], np.arange(nodes + 1)).astype(np.int64)
    lengths, widths = (np.concatenate([table[:, c], table[:, c]])[order] for c in (2, 3))
    found = _search(first, ends[order, 1], lengths, widths, np.array(chosen, np.int64))
    return Paths(*map(_mirrored, found))


def _mirrored(matrix: Any) -> Any:
    """What is above the diagonal, below it too."""
    return np.triu(matrix) + np.triu(matrix, 1).T


def _search_all(  # one loop over the heap; Numba compiles it whole
    first: Integers, target: Integers, length: Floats, width: Floats, chosen: Integers
) -> tuple[Floats, Floats, Integers]:
    count, nodes = chosen.size, first.size - 1
    lengths = np.empty((count, count))
    narrowest = np.empty((count, count))
    hops = np.empty((count, count), np.int64)
    for row in range(count):
        away = np.full(nodes, np.inf)
        narrow = np.full(nodes, np.inf)
        steps = np.zeros(nodes, np.int64)
        away[chosen[row]] = 0.0
        heap = [(0.0, chosen[row])]
        while heap:
            distance, node = heappop(heap)
            if distance > away[node]:
                continue
            for link in range(first[node], first[node + 1]):
                other = target[link]
                through = distance + length[link]
                if through < away[other]:
                    away[other] = through
                    narrow[other] = min(narrow[node], width[link])
                    steps[other] = steps[node] + 1
                    heappush(heap, (through, other))
        lengths[row], narrowest[row], hops[row] = away[chosen], narrow[chosen], steps[chosen]
    return lengths, narrowest, hops


_search: Any = kernel(_search_all)
