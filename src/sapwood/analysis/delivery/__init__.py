"""What one notification costs on its way through a tree, and how little on any tree."""

from __future__ import annotations

from sapwood.analysis.delivery.bounds import lower_bound, printed_lower_bound, shortest_costs
from sapwood.analysis.delivery.cost import Delivery, Prices, cost, delivery_tree, total_cost
from sapwood.analysis.delivery.exchange import path_cost, saves

__all__ = [
    "Delivery",
    "Prices",
    "cost",
    "delivery_tree",
    "lower_bound",
    "path_cost",
    "printed_lower_bound",
    "saves",
    "shortest_costs",
    "total_cost",
]
