"""Networks to simulate: shapes of trees, the physical network below, delays and costs of links."""

from __future__ import annotations

from sapwood.sim.topology.shapes import (
    SHAPES,
    Link,
    Topology,
    binary_tree,
    broker_names,
    chain,
    complete_tree,
    make_topology,
    random_tree,
    random_tree_of_degree,
    star,
)

__all__ = [
    "SHAPES",
    "Link",
    "Topology",
    "binary_tree",
    "broker_names",
    "chain",
    "complete_tree",
    "make_topology",
    "random_tree",
    "random_tree_of_degree",
    "star",
]
