"""How much a network carries: formulas instead of simulations (thesis 3.5, and beyond it).

A ``RootedTree`` and ``Rates`` say what there is; ``predict`` gives the traffic of every routing
algorithm, hierarchical or peer-to-peer, link by link. ``complete`` has the closed forms for
complete trees, ``breakeven`` where filtering stops to pay, ``hybrid`` the cheapest mix of flooding
and filtering, ``advertising``, ``changing``, ``costs`` and ``renewing`` what the thesis left open.

Needs NumPy: the extra ``matching``.
"""

from __future__ import annotations

from sapwood.analysis.traffic.breakeven import THESIS_SETTINGS, break_even
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.analysis.traffic.costs import Costs, cost_of, costs
from sapwood.analysis.traffic.hybrid import Mix, cheapest_mix
from sapwood.analysis.traffic.interests import Interests, disjoint, interests_of
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, Traffic, predict
from sapwood.analysis.traffic.rates import Rates, rates, uniform_rates
from sapwood.analysis.traffic.tree import RootedTree, complete_tree, rooted_tree

__all__ = [
    "HIERARCHICAL",
    "PEER_TO_PEER",
    "THESIS_SETTINGS",
    "CompleteSetting",
    "Costs",
    "Interests",
    "Mix",
    "Rates",
    "RootedTree",
    "Traffic",
    "break_even",
    "cheapest_mix",
    "complete_tree",
    "cost_of",
    "costs",
    "disjoint",
    "interests_of",
    "predict",
    "rates",
    "rooted_tree",
    "uniform_rates",
]
