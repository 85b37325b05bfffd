"""Compiled: the cost of a tree, and searching for a cheap one by exchanging links.

A tree is two arrays: the neighbours of each broker, and how many it has.
"""

# ruff: noqa: PLR0913, PLR0917 - kernels take arrays one by one
from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.compiled.compiling import kernel, part


@part
def link(neighbours: Any, degrees: Any, a: int, b: int) -> None:
    """Add a link."""
    neighbours[a, degrees[a]] = b
    degrees[a] += 1
    neighbours[b, degrees[b]] = a
    degrees[b] += 1


@part
def unlink(neighbours: Any, degrees: Any, a: int, b: int) -> None:
    """Take a link away."""
    for here, there in ((a, b), (b, a)):
        for place in range(degrees[here]):
            if neighbours[here, place] == there:
                degrees[here] -= 1
                neighbours[here, place] = neighbours[here, degrees[here]]
                break


@part
def walk(neighbours: Any, degrees: Any, root: int, order: Any, parents: Any) -> int:
    """All brokers in the order of their distance from a root; how many can be reached."""
    parents[:] = -1
    order[0] = root
    parents[root] = root
    head, tail = 0, 1
    while head < tail:
        here = order[head]
        head += 1
        for place in range(degrees[here]):
            there = neighbours[here, place]
            if parents[there] < 0:
                parents[there] = here
                order[tail] = there
                tail += 1
    return tail


@part
def cost_in(
    neighbours: Any,
    degrees: Any,
    links: Any,
    processing: Any,
    concerned: Any,
    numbers: Any,
    totals: Any,
    order: Any,
    parents: Any,
    below: Any,
    handled: Any,
) -> float:
    """Eq. 5.3, with room to work in; negative if the links do not join all."""
    count, kinds = concerned.shape
    if walk(neighbours, degrees, 0, order, parents) < count:
        return -1.0
    for here in range(count):
        for kind in range(kinds):
            below[here, kind] = concerned[here, kind]
            handled[here, kind] = concerned[here, kind]
    cost = 0.0
    for place in range(count - 1, 0, -1):
        here = order[place]
        above = parents[here]
        passed = 0.0
        for kind in range(kinds):
            inside = below[here, kind]
            if 0 < inside < totals[kind]:
                passed += numbers[kind]
                handled[here, kind] = 1
                handled[above, kind] = 1
            below[above, kind] += inside
        cost += passed * links[here, above]
    for here in range(count):
        passed = 0.0
        for kind in range(kinds):
            if handled[here, kind] > 0:
                passed += numbers[kind]
        cost += passed * processing[here]
    return cost


@part
def totals_of(concerned: Any) -> Any:
    """How many brokers each kind of notification concerns."""
    count, kinds = concerned.shape
    totals = np.zeros(kinds, np.int16)
    for here in range(count):
        for kind in range(kinds):
            totals[kind] += concerned[here, kind]
    return totals


@kernel
def cost_of(
    neighbours: Any, degrees: Any, links: Any, processing: Any, concerned: Any, numbers: Any
) -> float:
    """Eq. 5.3; negative if the links do not join all brokers."""
    count, kinds = concerned.shape
    return cost_in(
        neighbours, degrees, links, processing, concerned, numbers, totals_of(concerned),
        np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty((count, kinds), np.int16), np.empty((count, kinds), np.int16),
    )  # fmt: skip


@part
def path_to(parents: Any, root: int, end: int, path: Any) -> int:
    """The brokers from one back to the root of a walk, without the root; how many."""
    length = 0
    while end != root:
        path[length] = end
        length += 1
        end = parents[end]
    return length


@kernel
def annealed(
    neighbours: Any,
    degrees: Any,
    links: Any,
    processing: Any,
    concerned: Any,
    numbers: Any,
    draws: Any,
    hot: float,
    cold: float,
    degree_max: int,
) -> float:
    """Exchange links at random, dearer ones the less likely the colder; ends with the best tree.

    For each step there are four numbers drawn from 0 to 1.
    """
    count, kinds = concerned.shape
    totals = totals_of(concerned)
    order, parents = np.empty(count, np.int64), np.empty(count, np.int64)
    path = np.empty(count, np.int64)
    below, handled = np.empty((count, kinds), np.int16), np.empty((count, kinds), np.int16)
    cost = cost_in(
        neighbours, degrees, links, processing, concerned, numbers, totals, order, parents, below,
        handled,
    )  # fmt: skip
    best, best_neighbours, best_degrees = cost, neighbours.copy(), degrees.copy()
    for step in range(len(draws)):
        warmth = hot * (cold / hot) ** (step / len(draws))
        a, b = int(draws[step, 0] * count), int(draws[step, 1] * count)
        if a == b or degrees[a] >= degree_max or degrees[b] >= degree_max:
            continue
        walk(neighbours, degrees, a, order, parents)
        if parents[b] == a:
            continue
        old = path[int(draws[step, 2] * path_to(parents, a, b, path))]
        above = parents[old]
        unlink(neighbours, degrees, old, above)
        link(neighbours, degrees, a, b)
        found = cost_in(
            neighbours, degrees, links, processing, concerned, numbers, totals, order, parents,
            below, handled,
        )  # fmt: skip
        if found <= cost or draws[step, 3] < np.exp((cost - found) / warmth):
            cost = found
            if cost < best - 1e-9:
                best = cost
                best_neighbours[:], best_degrees[:] = neighbours, degrees
        else:
            unlink(neighbours, degrees, a, b)
            link(neighbours, degrees, old, above)
    neighbours[:], degrees[:] = best_neighbours, best_degrees
    return best


@kernel
def descended(
    neighbours: Any,
    degrees: Any,
    links: Any,
    processing: Any,
    concerned: Any,
    numbers: Any,
    hops: int,
    degree_max: int,
) -> float:
    """Make the best exchange again and again, until none makes the tree cheaper.

    Only brokers that are at most so many hops apart are linked; 0: any.
    """
    count, kinds = concerned.shape
    totals = totals_of(concerned)
    order = np.empty(count, np.int64)
    parents = np.empty(count, np.int64)
    around_order = np.empty(count, np.int64)
    around = np.empty(count, np.int64)
    below = np.empty((count, kinds), np.int16)
    handled = np.empty((count, kinds), np.int16)
    cost = cost_in(
        neighbours, degrees, links, processing, concerned, numbers, totals, order, parents, below,
        handled,
    )  # fmt: skip
    while True:
        best = cost - 1e-9
        best_a = best_b = best_old = best_above = -1
        for a in range(count):
            walk(neighbours, degrees, a, around_order, around)
            for b in range(a + 1, count):
                if around[b] == a or degrees[a] >= degree_max or degrees[b] >= degree_max:
                    continue
                if hops > 0:
                    length, here = 0, b
                    while here != a:
                        here = around[here]
                        length += 1
                    if length > hops:
                        continue
                old = b
                while old != a:
                    above = around[old]
                    unlink(neighbours, degrees, old, above)
                    link(neighbours, degrees, a, b)
                    found = cost_in(
                        neighbours, degrees, links, processing, concerned, numbers, totals, order,
                        parents, below, handled,
                    )  # fmt: skip
                    unlink(neighbours, degrees, a, b)
                    link(neighbours, degrees, old, above)
                    if found < best:
                        best = found
                        best_a, best_b, best_old, best_above = a, b, old, above
                    old = above
        if best_a < 0:
            return cost
        unlink(neighbours, degrees, best_old, best_above)
        link(neighbours, degrees, best_a, best_b)
        cost = best
