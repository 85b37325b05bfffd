"""What a whole network carries, under an algorithm, hierarchical, peer-to-peer or any correct mix.

What an edge carries depends on what is behind it and on whether it floods; on nothing that other
edges do, as long as no edge that filters has a successor that floods (004, Eq. 1). For if an edge
filters, whatever is wanted behind it is wanted behind every edge before it, so it arrives; and if
it floods, so do all before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.analysis.traffic.arrays import Flags, Floats, number_of
from sapwood.analysis.traffic.flows import DOWN, UP, flows
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.routing import EdgeTraffic, edge_traffic
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.errors import ParameterError, RoutingError

HIERARCHICAL, PEER_TO_PEER = "hierarchical", "peer-to-peer"


@dataclass(frozen=True, eq=False)
class Traffic:
    """Messages per second over links, and entries in tables, in the mean."""

    tree: RootedTree
    edges: EdgeTraffic = field(repr=False)
    leasing_by_edge: Floats = field(repr=False)
    """Renewals per second, against the direction of each edge."""
    published: Floats = field(repr=False)
    """Notifications per second at each broker."""

    @property
    def notifications(self) -> float:
        """Notifications over all links."""
        return float(self.edges.notifications.sum())

    @property
    def changes(self) -> float:
        """Subscriptions and unsubscriptions over all links: toggle messages (bo)."""
        return float(self.edges.changes.sum())

    @property
    def leasing(self) -> float:
        """Renewals over all links (bl)."""
        return float(self.leasing_by_edge.sum())

    @property
    def entries(self) -> float:
        """Entries for neighbours in all tables (x)."""
        return float(self.edges.entries.sum())

    @property
    def control(self) -> float:
        """All but notifications (bc)."""
        return self.changes + self.leasing

    @property
    def total(self) -> float:
        """All messages over all links."""
        return self.notifications + self.control


def predict(
    rates: Rates,
    routing: str,
    variant: str = PEER_TO_PEER,
    *,
    refresh_period: float | None = None,
    floods: Flags | None = None,
) -> Traffic:
    """What a network carries: `floods` says which edges do, where the variant does not.

    With a refresh period every entry is renewed once in it (Eq. 3.26, 3.50).
    """
    if floods is None:
        floods = flooded_edges(rates.tree, variant)
    check_edges(rates.tree, floods)
    sums = flows(rates)
    filtered, flooded = edge_traffic(sums, routing), edge_traffic(sums, "flooding")
    edges = EdgeTraffic(
        np.where(floods, flooded.notifications, filtered.notifications),
        np.where(floods, 0.0, filtered.changes),
        np.where(floods, 0.0, filtered.entries),
    )
    if refresh_period is None:
        leasing = np.zeros_like(edges.entries)
    else:
        leasing = edges.entries / number_of("refresh_period", refresh_period, positive=True)
    return Traffic(rates.tree, edges, leasing, rates.publication_rate.sum(axis=-1) * rates.copies)


def flooded_edges(tree: RootedTree, variant: str) -> Flags:
    """Which edges flood whatever the algorithm: none, or all towards the root."""
    if variant not in {HIERARCHICAL, PEER_TO_PEER}:
        raise ParameterError(f"is {variant!r}; there are {HIERARCHICAL}, {PEER_TO_PEER}", "variant")
    floods = np.zeros((2, tree.links), dtype=np.bool_)
    floods[UP] = variant == HIERARCHICAL
    return floods


def check_edges(tree: RootedTree, floods: Flags) -> None:
    """Refuse a mix in which an edge filters by what nobody tells (004, Eq. 1).

    At each broker, an edge out of it that floods needs all edges into it from elsewhere to flood.
    """
    if floods.shape != (2, tree.links):
        raise ParameterError(
            f"has the shape {floods.shape}; wanted (2, {tree.links}): down and up, by link",
            "floods",
        )
    for broker, kids in enumerate(tree.children):
        filters_in = [(UP, kid) for kid in kids if not floods[UP, kid - 1]]
        floods_out = [(DOWN, kid) for kid in kids if floods[DOWN, kid - 1]]
        if broker and not floods[DOWN, broker - 1]:
            filters_in.append((DOWN, broker))
        if broker and floods[UP, broker - 1]:
            floods_out.append((UP, broker))
        for out in floods_out[:2]:
            for into in filters_in[:2]:
                if into[1] != out[1]:
                    first, then = (tree.name_edge(up == UP, at) for up, at in (into, out))
                    raise RoutingError(
                        f"edge {first} filters, but behind it {then} floods, so nobody learns "
                        "what to ask for"
                    )
