"""Shapes of broker trees: regular ones, and random ones that are drawn evenly.

Brokers are named ``B1`` to ``BN``. The papers use a complete ternary tree of five levels (121
brokers; thesis 3.3.3, paper 001), a complete binary tree of 127 brokers (004, section 6) and
random trees of 100 brokers (thesis 4.4.3 and 5.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, repeat
from random import Random

from sapwood.errors import ParameterError
from sapwood.protocol.tree import Link, Topology
from sapwood.sim.parameters import check_at_least

__all__ = [
    "SHAPES", "Link", "Topology", "binary_tree", "broker_names", "chain", "complete_tree",
    "make_topology", "random_tree", "random_tree_of_degree", "star",
]  # fmt: skip


def broker_names(count: int) -> tuple[str, ...]:
    """``B1`` to ``BN``.

    >>> broker_names(3)
    ('B1', 'B2', 'B3')
    """
    check_at_least("brokers", count, 1)
    return tuple(f"B{number}" for number in range(1, count + 1))


def chain(count: int) -> Topology:
    """One broker after the other, ``B1-B2-…-BN``."""
    return _with_parents(count, (number - 1 for number in range(2, count + 1)))


def star(count: int) -> Topology:
    """All brokers around ``B1``."""
    return _with_parents(count, repeat(1, count - 1))


def binary_tree(count: int) -> Topology:
    """The parent of Bi is B⌊i/2⌋, as in a binary heap: every level but the last is full."""
    return complete_tree(2, count=count)


def complete_tree(arity: int, *, levels: int | None = None, count: int | None = None) -> Topology:
    """Every broker has `arity` children, level by level from the root ``B1``.

    Either the number of levels is given (the root alone is one), and all of them are full, or the
    number of brokers, and the last level may not be.

    >>> len(complete_tree(3, levels=5).brokers)
    121
    """
    check_at_least("arity", arity, 1)
    if (levels is None) == (count is None):
        raise ParameterError("give either levels or count", "complete_tree")
    if levels is not None:
        check_at_least("levels", levels, 1)
        count = sum(arity**level for level in range(levels))
    assert count is not None
    return _with_parents(count, ((n + arity - 2) // arity for n in range(2, count + 1)))


def random_tree(count: int, random: Random) -> Topology:
    """One of the N^(N−2) trees on N brokers, each equally likely (Prüfer 1918)."""
    names = broker_names(count)
    return _from_pruefer(names, [random.randrange(count) for _ in range(count - 2)])


def random_tree_of_degree(count: int, degree_max: int, random: Random) -> Topology:
    """One of the trees in which no broker has more than `degree_max` links, each equally likely.

    A broker with d links stands d − 1 times in the Prüfer sequence of a tree. So how often each
    broker stands there is drawn from a Poisson distribution cut off at `degree_max` − 1, until
    the numbers add up to the length of the sequence; a shuffle of that many copies is then an
    even draw from all sequences allowed. The mean of the Poisson distribution has no influence
    on the result, only on how soon the numbers add up.
    """
    names = broker_names(count)
    check_at_least("degree_max", degree_max, min(count - 1, 2))
    length = max(0, count - 2)
    weights = _cut_poisson(max(1, degree_max - 1), length / count)
    numbers = random.choices(range(len(weights)), weights, k=count)
    while sum(numbers) != length:
        numbers = random.choices(range(len(weights)), weights, k=count)
    sequence = [broker for broker, number in enumerate(numbers) for _ in range(number)]
    random.shuffle(sequence)
    return _from_pruefer(names, sequence)


SHAPES: dict[str, Callable[[int, Random], Topology]] = {
    "tree": lambda count, random: binary_tree(count),
    "chain": lambda count, random: chain(count),
    "star": lambda count, random: star(count),
    "random": random_tree,
}
"""The shapes that have a name on the command line."""


def make_topology(shape: str, count: int, random: Random) -> Topology:
    """The tree of that many brokers in a shape given by name."""
    if shape not in SHAPES:
        raise ParameterError(f"is {shape!r}; choose from {', '.join(SHAPES)}", "shape")
    return SHAPES[shape](count, random)


def _with_parents(count: int, parents: Iterable[int]) -> Topology:
    """A tree given by the number of the parent of ``B2``, ``B3`` and so on."""
    names = broker_names(count)
    links = ((names[parent - 1], name) for parent, name in zip(parents, names[1:], strict=True))
    return Topology(names, tuple(links))


def _from_pruefer(names: Sequence[str], sequence: Sequence[int]) -> Topology:
    """The tree a Prüfer sequence stands for: link the first leaf to the first entry, again."""
    if len(names) == 1:
        return Topology(tuple(names), ())
    missing = [1] * len(names)
    for broker in sequence:
        missing[broker] += 1
    leaves = [broker for broker, links in enumerate(missing) if links == 1]
    heapify(leaves)
    links = []
    for broker in sequence:
        links.append((names[heappop(leaves)], names[broker]))
        missing[broker] -= 1
        if missing[broker] == 1:
            heappush(leaves, broker)
    links.append((names[heappop(leaves)], names[heappop(leaves)]))
    return Topology(tuple(names), tuple(links))


def _cut_poisson(highest: int, mean: float) -> list[float]:
    """Weights of 0 to `highest`, by a Poisson distribution cut off there, of about that mean."""
    low, high = 0.0, 1.0
    while _mean(_poisson_weights(highest, high)) < mean:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if _mean(_poisson_weights(highest, middle)) < mean:
            low = middle
        else:
            high = middle
    return _poisson_weights(highest, high)


def _poisson_weights(highest: int, rate: float) -> list[float]:
    """Proportional to rate^k / k! for k from 0; the factor e^−rate is left out."""
    return list(accumulate(range(1, highest + 1), lambda w, k: w * rate / k, initial=1.0))


def _mean(weights: Sequence[float]) -> float:
    total = math.fsum(weights)
    return math.fsum(number * weight for number, weight in enumerate(weights)) / total
