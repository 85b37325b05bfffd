"""Which tree is cheap, with global knowledge: references for heuristics that have none."""

from __future__ import annotations

from sapwood.analysis.overlay.searching import anneal, exhaustive, local_search
from sapwood.analysis.overlay.situation import Situation, Tree, situation, tree_cost
from sapwood.analysis.overlay.spanning import (
    associativity_by_history,
    associativity_by_subscriptions,
    maximum_interest_tree,
    minimum_spanning_tree,
)

__all__ = [
    "Situation",
    "Tree",
    "anneal",
    "associativity_by_history",
    "associativity_by_subscriptions",
    "exhaustive",
    "local_search",
    "maximum_interest_tree",
    "minimum_spanning_tree",
    "situation",
    "tree_cost",
]
