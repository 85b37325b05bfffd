"""A tree of brokers with a root, as sums over it want it: level by level.

Whatever is added up over the subtree below a broker, or over everything but that subtree, is added
up in one pass over the brokers. Nothing is subtracted: "everything but the subtree" as total minus
subtree would lose all digits where the subtree has nearly everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sapwood.analysis.traffic.arrays import Floats
from sapwood.errors import ParameterError, TopologyError

Link = tuple[str, str]

BROKERS_MAX = 10_000_000
"""More than this is a slip of the keyboard: 3 to the power of 50, say."""


@dataclass(frozen=True)
class RootedTree:
    """Brokers, the root first, then level by level, the children of one broker side by side.

    Made by ``rooted_tree`` and ``complete_tree``, which see to that order. All arrays of this
    package that are "by broker" follow it.
    """

    brokers: tuple[str, ...]
    parents: tuple[int, ...] = field(repr=False)
    """The position of each broker's parent; that of the root is -1."""

    @property
    def links(self) -> int:
        """How many links there are (l)."""
        return len(self.brokers) - 1

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each broker stands in ``brokers``."""
        return {broker: index for index, broker in enumerate(self.brokers)}

    @cached_property
    def children(self) -> tuple[range, ...]:
        """The positions of each broker's children."""
        counts = [0] * len(self.brokers)
        for parent in self.parents[1:]:
            counts[parent] += 1
        ends = np.cumsum(counts) + 1
        return tuple(range(int(end) - n, int(end)) for n, end in zip(counts, ends, strict=True))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Links between each broker and the root."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def is_leaf(self) -> tuple[bool, ...]:
        """Whether each broker has no child; a single broker is root and leaf at once."""
        return tuple(not below for below in self.children)

    def below(self, own: Floats) -> Floats:
        """Sums over the subtree of each broker, itself included, of rows by broker (Eq. 3.37)."""
        sums = own.copy()
        for broker in range(len(self.brokers) - 1, 0, -1):
            sums[self.parents[broker]] += sums[broker]
        return sums

    def outside(self, own: Floats, below: Floats) -> Floats:
        """Sums over all brokers that are not in the subtree of each broker; nothing at the root."""
        sums = np.zeros_like(own)
        for broker, kids in enumerate(self.children):
            if not kids:
                continue
            beside = below[kids.start : kids.stop]
            sums[kids.start : kids.stop] = own[broker] + sums[broker]
            sums[kids.start + 1 : kids.stop] += np.cumsum(beside[:-1], axis=0)
            sums[kids.start : kids.stop - 1] += np.cumsum(beside[:0:-1], axis=0)[::-1]
        return sums

    def name_edge(self, up: bool, broker: int) -> str:
        """A directed edge of the link above a broker, for people."""
        here, above = self.brokers[broker], self.brokers[self.parents[broker]]
        return f"{here} -> {above}" if up else f"{above} -> {here}"


def rooted_tree(
    links: Iterable[Link], root: str | None = None, brokers: Sequence[str] = ()
) -> RootedTree:
    """The tree that these links make, seen from a root: by default the first broker named.

    `brokers` need only be given for a tree of a single one. What is no tree is refused.

    >>> tree = rooted_tree([("B", "A"), ("B", "C")], root="A")
    >>> tree.brokers, tree.parents
    (('A', 'B', 'C'), (-1, 0, 1))
    """
    neighbours: dict[str, list[str]] = {broker: [] for broker in brokers}
    joined: set[frozenset[str]] = set()
    for left, right in links:
        if left == right:
            raise TopologyError(f"the link {left}-{right} joins a broker to itself")
        if frozenset((left, right)) in joined:
            raise TopologyError(f"the link {left}-{right} is given twice")
        joined.add(frozenset((left, right)))
        neighbours.setdefault(left, []).append(right)
        neighbours.setdefault(right, []).append(left)
    if not neighbours:
        raise TopologyError("a tree needs at least one broker")
    if root is None:
        root = next(iter(neighbours))
    if root not in neighbours:
        raise TopologyError(f"the root {root!r} is no broker of the tree")
    return _from_root(root, neighbours)


def _from_root(root: str, neighbours: dict[str, list[str]]) -> RootedTree:
    names, parents = [root], [-1]
    reached = {root}
    for position, broker in enumerate(names):
        above = names[parents[position]] if position else None
        for other in neighbours[broker]:
            if other == above:
                continue
            if other in reached:
                raise TopologyError(f"the link {broker}-{other} closes a cycle: this is no tree")
            reached.add(other)
            names.append(other)
            parents.append(position)
    if len(names) < len(neighbours):
        missing = next(broker for broker in neighbours if broker not in reached)
        raise TopologyError(
            f"not connected: no path from {root} to {missing} "
            f"({len(neighbours) - len(names)} of {len(neighbours)} brokers)"
        )
    return RootedTree(tuple(names), tuple(parents))


def complete_tree(arity: int, levels: int) -> RootedTree:
    """Every broker has `arity` children, and all leaves are on the last of the levels (3.5.1).

    >>> tree = complete_tree(3, 5)
    >>> len(tree.brokers), sum(tree.is_leaf), tree.links
    (121, 81, 120)
    """
    for name, value in (("arity", arity), ("levels", levels)):
        if value < 1:
            raise ParameterError(f"is {value}; wanted 1 or more", name)
    count = size = 1
    for _ in range(levels - 1):
        size *= arity
        count += size
        if count > BROKERS_MAX:
            raise ParameterError(
                f"is {levels}; with arity {arity} that is more than {BROKERS_MAX:,} brokers",
                "levels",
            )
    names = tuple(f"B{number}" for number in range(1, count + 1))
    return RootedTree(names, (-1, *((number - 1) // arity for number in range(1, count))))
