"""The routing algorithms by name, and which mixes of them on the edges of a tree are correct.

An edge has two directions. ``edge_routing`` of (i, j) says how j lets i know what to send to j:
with flooding j says nothing and i sends everything. A broker can only pass on what it is told, so
an edge that does not flood must not have a successor that does: the condition of the papers for
simple routing (Schröter et al., Eq. 1), which holds for any mix of algorithms alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sapwood.errors import RoutingError
from sapwood.routing.covering import Covering
from sapwood.routing.flooding import Flooding
from sapwood.routing.identity import Identity
from sapwood.routing.merging import Merging
from sapwood.routing.simple import Simple
from sapwood.routing.strategy import Strategy

FLOODING = "flooding"

PEER_TO_PEER, HIERARCHICAL = "peer-to-peer", "hierarchical"
"""The variants of routing: the same algorithm on all edges; or flooding towards the root."""

ALGORITHMS: dict[str, type[Strategy]] = {
    FLOODING: Flooding,
    "simple": Simple,
    "identity": Identity,
    "covering": Covering,
    "merging": Merging,
}

Edge = tuple[str, str]
"""A directed edge: from which broker notifications go to which."""


def strategy(name: str) -> Strategy:
    """A new strategy of an algorithm."""
    return ALGORITHMS[check_algorithm(name)]()


def check_algorithm(name: str) -> str:
    """Refuse the name of an algorithm that does not exist; give it back otherwise."""
    if name not in ALGORITHMS:
        raise RoutingError(f"no routing algorithm {name!r}; there are {', '.join(ALGORITHMS)}")
    return name


def peer_to_peer(links: Iterable[tuple[str, str]], algorithm: str) -> dict[Edge, str]:
    """The same algorithm in both directions of every link."""
    check_algorithm(algorithm)
    return {edge: algorithm for a, b in links for edge in ((a, b), (b, a))}


def hierarchical(links: Iterable[tuple[str, str]], algorithm: str, root: str) -> dict[Edge, str]:
    """Flooding towards a root, the algorithm away from it (Jaeger 2007, 2.2.3).

    So subscriptions travel only towards the root, and every notification reaches it.
    """
    check_algorithm(algorithm)
    routing = {}
    for parent, child in _away_from(root, list(links)):
        routing[parent, child] = algorithm
        routing[child, parent] = FLOODING
    return routing


def check_edge_routing(routing: Mapping[Edge, str]) -> None:
    """Refuse a mix in which some edge filters by what nobody tells."""
    flooded: dict[str, list[str]] = {}
    for (source, target), algorithm in routing.items():
        if check_algorithm(algorithm) == FLOODING:
            flooded.setdefault(source, []).append(target)
    for (source, target), algorithm in routing.items():
        if algorithm == FLOODING:
            continue
        for following in flooded.get(target, ()):
            if following != source:
                raise RoutingError(
                    f"edge {source} -> {target} uses {algorithm}, but behind it {target} -> "
                    f"{following} floods, so {target} does not learn what to ask for: let "
                    f"{source} -> {target} flood too, or {target} -> {following} not"
                )


def _away_from(root: str, links: list[tuple[str, str]]) -> list[Edge]:
    """The links of a tree, each from the end nearer to the root."""
    neighbours: dict[str, list[str]] = {}
    for a, b in links:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    if links and root not in neighbours:
        raise RoutingError(
            f"the root {root!r} is not a broker of the tree; there are {', '.join(neighbours)}"
        )
    edges: list[Edge] = []
    ahead, seen = [root], {root}
    while ahead:
        parent = ahead.pop()
        for child in neighbours.get(parent, ()):
            if child not in seen:
                seen.add(child)
                edges.append((parent, child))
                ahead.append(child)
    if len(edges) != len(links) or len(seen) != len(links) + 1:
        raise RoutingError(
            f"{len(links)} links reach {len(seen)} brokers from {root!r}: that is no tree, so no "
            "direction leads to the root; leave out links that close a cycle, add missing ones"
        )
    return edges
