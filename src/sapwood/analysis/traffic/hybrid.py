"""Which edges should flood: the cheapest correct mix of flooding and a filtering algorithm.

What an edge costs depends on itself alone (``predicting``), so without the condition that no edge
that filters has a successor that floods (004, Eq. 1), each edge would simply take the cheaper of
the two. With it, the cheapest mix is found from the leaves up, in one pass: at every broker, the
condition only concerns the links there. Among the edges into it that filter,

- if there is none, every edge out of it may flood or filter;
- if there is one, only the edge back over the same link may flood;
- if there are more, none may.

So for each of the four states of the link above a broker, the best states of the links below follow
from sums over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sapwood.analysis.traffic.arrays import Flags, Floats, number_of
from sapwood.analysis.traffic.costs import Costs, cost_by_edge, cost_of, costs
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER, Traffic, predict
from sapwood.analysis.traffic.rates import Rates
from sapwood.analysis.traffic.tree import RootedTree

State = tuple[int, int]
"""Whether the edge into a broker floods, and whether the edge out of it does, of one link."""
STATES: tuple[State, ...] = ((0, 0), (0, 1), (1, 0), (1, 1))


class Mix(NamedTuple):
    """Which edges flood, and what the network then carries and costs per second."""

    floods: Flags
    traffic: Traffic
    cost: float


def cheapest_mix(
    rates: Rates,
    routing: str = "identity",
    *,
    prices: Costs | None = None,
    refresh_period: float | None = None,
) -> Mix:
    """The cheapest correct mix of flooding and one filtering algorithm; ties go to filtering."""
    tree = rates.tree
    prices = costs(tree) if prices is None else prices
    by_edge = [
        cost_by_edge(
            predict(rates, routing, refresh_period=refresh_period, floods=_all(tree, flood)), prices
        )
        for flood in (False, True)
    ]
    floods = cheapest_edges(tree, *by_edge)
    traffic = predict(rates, routing, refresh_period=refresh_period, floods=floods)
    return Mix(floods, traffic, cost_of(traffic, prices))


def _all(tree: RootedTree, flood: bool) -> Flags:
    return np.full((2, tree.links), flood, dtype=np.bool_)


def settled_mix(
    rates: Rates, routing: str = "simple", *, gain: float = 0.05, prices: Costs | None = None
) -> Mix:
    """Where the decisions of 004 end that brokers take for themselves, from filtering everywhere.

    An edge changes if that saves more than a share of its cost, and if it may: it may flood if all
    before it do, and filter if all behind it do. Nothing else changes what an edge costs, so every
    change is for the better, and an edge that has changed for good reason never changes back.
    """
    tree = rates.tree
    number_of("gain", gain)
    prices = costs(tree) if prices is None else prices
    filtering = cost_by_edge(predict(rates, routing), prices)
    flooding = cost_by_edge(predict(rates, "flooding"), prices)
    floods = _all(tree, False)
    wants = flooding < (1 - gain) * filtering
    ahead = [(way, broker) for way in (DOWN, UP) for broker in range(1, len(tree.brokers))]
    while ahead:
        following = []
        for way, broker in ahead:
            if floods[way, broker - 1] or not wants[way, broker - 1]:
                continue
            if all(floods[at] for at in _before(tree, way, broker)):
                floods[way, broker - 1] = True
                following += _behind(tree, way, broker)
        ahead = following
    traffic = predict(rates, routing, floods=floods)
    return Mix(floods, traffic, cost_of(traffic, prices))


def _before(tree: RootedTree, way: int, broker: int) -> Iterator[tuple[int, int]]:
    """Where the edges before an edge stand: those into its source, from elsewhere."""
    source = broker if way == UP else tree.parents[broker]
    if way == DOWN and source:
        yield DOWN, source - 1
    yield from ((UP, kid - 1) for kid in tree.children[source] if way == UP or kid != broker)


def _behind(tree: RootedTree, way: int, broker: int) -> list[tuple[int, int]]:
    """The edges behind an edge: those out of its target, to elsewhere."""
    target = broker if way == DOWN else tree.parents[broker]
    behind = [(DOWN, kid) for kid in tree.children[target] if way == DOWN or kid != broker]
    return behind + ([(UP, target)] if way == UP and target else [])


def homogeneous_costs(
    rates: Rates, routing: str, *, prices: Costs | None = None, refresh_period: float | None = None
) -> dict[str, float]:
    """What flooding, the algorithm peer-to-peer, and hierarchical cost per second."""
    prices = costs(rates.tree) if prices is None else prices
    return {
        "flooding": cost_of(predict(rates, "flooding"), prices),
        **{
            variant: cost_of(
                predict(rates, routing, variant, refresh_period=refresh_period), prices
            )
            for variant in (PEER_TO_PEER, HIERARCHICAL)
        },
    }


# --- the pass over the tree -----------------------------------------------------------------


def cheapest_edges(tree: RootedTree, filtering: Floats, flooding: Floats) -> Flags:
    """Which edges flood in the cheapest correct mix, given what each costs either way."""
    best: list[dict[State, float]] = [{} for _ in tree.brokers]
    chosen: list[dict[State, list[State]]] = [{} for _ in tree.brokers]
    for broker in range(len(tree.brokers) - 1, -1, -1):
        seen = [_seen_from_above(best[kid]) for kid in tree.children[broker]]
        for into, out in STATES if broker else ((1, 0),):
            cost, states = _best_below(seen, into, out)
            if broker:
                cost += _cost(filtering, flooding, DOWN, broker, into)
                cost += _cost(filtering, flooding, UP, broker, out)
            best[broker][into, out] = cost
            chosen[broker][into, out] = states
    floods = _all(tree, False)
    taken: list[State] = [(1, 0)] * len(tree.brokers)
    for broker, kids in enumerate(tree.children):
        for kid, (into, out) in zip(kids, chosen[broker][taken[broker]], strict=True):
            # What goes into the parent comes out of the child.
            floods[UP, kid - 1], floods[DOWN, kid - 1] = bool(into), bool(out)
            taken[kid] = (out, into)
    return floods


def _cost(filtering: Floats, flooding: Floats, way: int, broker: int, flood: int) -> float:
    return float((flooding if flood else filtering)[way, broker - 1])


def _seen_from_above(best: dict[State, float]) -> dict[State, float]:
    """The cost of a subtree by the state of its link, as the parent names the two edges."""
    return {(out, into): cost for (into, out), cost in best.items()}


def _best_below(links: list[dict[State, float]], into: int, out: int) -> tuple[float, list[State]]:
    """The cheapest states of the links below a broker, given that of the one above.

    The root has none above: for it that link is one whose edges change nothing.
    """
    found: list[tuple[float, list[State]]] = []
    if not out:
        found.append(_each(links, [(0, 0), (1, 0)]))
    elif not into:
        found.append(_each(links, [(1, 0)]))
    if into:
        if not out:
            found += _one_filters(links)
        found.append(_each(links, [(1, 0), (1, 1)]))
    return min(found, key=lambda one: one[0])


def _each(links: list[dict[State, float]], allowed: list[State]) -> tuple[float, list[State]]:
    """Every link in the cheapest of the states that are allowed."""
    states = [min(allowed, key=link.__getitem__) for link in links]
    return math.fsum(link[state] for link, state in zip(links, states, strict=True)), states


def _one_filters(links: list[dict[State, float]]) -> Iterator[tuple[float, list[State]]]:
    """Exactly one edge into the broker filters, and only the one back over its link may flood.

    Only the link for which that saves most is worth a look.
    """
    if not links:
        return
    base, states = _each(links, [(1, 0)])
    extra = [link[0, 1] - link[1, 0] for link in links]
    index = min(range(len(links)), key=extra.__getitem__)
    states[index] = (0, 1)
    yield base + extra[index], states
