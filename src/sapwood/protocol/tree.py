"""The tree of brokers as a value: who is linked to whom, and what follows from it.

Notifications travel along a tree, so that there is one path between any two brokers (Jaeger
2007, 2.2). Brokers and links that form no tree are refused here, with the part that is wrong, so
that whoever holds a `Topology` need not look again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sapwood.errors import TopologyError

Link = tuple[str, str]
"""Two linked brokers."""


@dataclass(frozen=True)
class Topology:
    """Brokers and the links that join them into one tree. Immutable.

    The order of `brokers` is kept; links are put into that order, so that topologies with the
    same brokers and links are equal however the links were written.

    >>> line = Topology(("B1", "B2", "B3"), (("B3", "B2"), ("B1", "B2")))
    >>> line.links
    (('B1', 'B2'), ('B2', 'B3'))
    >>> line.path("B3", "B1")
    ('B3', 'B2', 'B1')
    """

    brokers: tuple[str, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        brokers = tuple(self.brokers)
        position = _positions(brokers)
        links = _ordered(self.links, position)
        groups = Groups(brokers)
        for left, right in links:
            if not groups.join(left, right):
                raise TopologyError(
                    f"the link {left}-{right} closes a cycle: {left} and {right} are joined already"
                )
        if len(links) != len(brokers) - 1:
            raise not_connected(groups, brokers)
        object.__setattr__(self, "brokers", brokers)
        object.__setattr__(self, "links", links)

    @cached_property
    def _neighbours(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {broker: [] for broker in self.brokers}
        for left, right in self.links:
            found[left].append(right)
            found[right].append(left)
        position = _positions(self.brokers)
        return {
            broker: tuple(sorted(others, key=position.__getitem__))
            for broker, others in found.items()
        }

    def neighbours(self, broker: str) -> tuple[str, ...]:
        """The brokers linked to this one, in the order of `brokers`."""
        try:
            return self._neighbours[broker]
        except KeyError:
            raise TopologyError(
                f"no broker {broker!r} in this topology; its {len(self.brokers)} brokers are "
                f"{abbreviated(self.brokers)}"
            ) from None

    def degree(self, broker: str) -> int:
        """How many links a broker has."""
        return len(self.neighbours(broker))

    @property
    def degree_max(self) -> int:
        """The largest degree of all brokers."""
        return max(map(self.degree, self.brokers))

    def parents(self, root: str) -> dict[str, str]:
        """The next broker towards the root, of every broker but the root, nearest first."""
        parents: dict[str, str] = {}
        reached = [root]
        for broker in reached:
            for other in self.neighbours(broker):
                if other != parents.get(broker):
                    parents[other] = broker
                    reached.append(other)
        return parents

    def depths(self, root: str) -> dict[str, int]:
        """How many links each broker is away from the root, nearest first."""
        depths = {root: 0}
        for broker, parent in self.parents(root).items():
            depths[broker] = depths[parent] + 1
        return depths

    def height(self, root: str) -> int:
        """The length of the longest path from the root: h in the thesis."""
        return max(self.depths(root).values())

    @cached_property
    def diameter(self) -> int:
        """The length of the longest path between any two brokers: d in the thesis.

        Whatever broker one starts from, the one farthest away is an end of a longest path.
        """
        end = list(self.depths(self.brokers[0]))[-1]
        return self.height(end)

    def leaves(self, root: str | None = None) -> tuple[str, ...]:
        """The brokers with at most one neighbour; the root, where one is given, is none of them.

        A single broker is root and leaf at once.
        """
        if len(self.brokers) == 1:
            return self.brokers
        return tuple(b for b in self.brokers if b != root and self.degree(b) == 1)

    def path(self, source: str, target: str) -> tuple[str, ...]:
        """All brokers from source to target, both included."""
        towards = self.parents(target)
        self.neighbours(source)  # refuses a stranger
        path = [source]
        while path[-1] != target:
            path.append(towards[path[-1]])
        return tuple(path)


class Groups:
    """Which brokers are joined so far: sets that only ever grow together (union-find)."""

    def __init__(self, brokers: Iterable[str]) -> None:
        self._above = {broker: broker for broker in brokers}

    def find(self, broker: str) -> str:
        """The broker that stands for the group this one is in."""
        above = self._above
        while above[broker] != broker:
            above[broker] = above[above[broker]]  # halves the path for the next search
            broker = above[broker]
        return broker

    def join(self, left: str, right: str) -> bool:
        """Make two groups one; False if they were one already."""
        left, right = self.find(left), self.find(right)
        self._above[right] = left
        return left != right


def not_connected(groups: Groups, brokers: Sequence[str]) -> TopologyError:
    """The error for brokers in more than one group, naming what cannot be reached."""
    here = groups.find(brokers[0])
    beyond = [broker for broker in brokers if groups.find(broker) != here]
    return TopologyError(
        f"not connected: no path from {brokers[0]} to {abbreviated(beyond)} "
        f"({len(beyond)} of {len(brokers)} brokers)"
    )


def abbreviated(brokers: Sequence[str], shown_max: int = 5) -> str:
    """The first few names, for messages."""
    more = ", …" if len(brokers) > shown_max else ""
    return ", ".join(brokers[:shown_max]) + more


def check_link(left: str, right: str, brokers: Iterable[str]) -> None:
    """Refuse a link of a broker to itself or to one that does not exist."""
    for broker in (left, right):
        if broker not in brokers:
            raise TopologyError(f"the link {left}-{right} names an unknown broker {broker!r}")
    if left == right:
        raise TopologyError(f"the link {left}-{right} is a self-loop: it joins {left} to itself")


def _positions(brokers: tuple[str, ...]) -> dict[str, int]:
    """Where each broker stands; refuses none at all, and names that are used twice."""
    if not brokers:
        raise TopologyError("a topology needs at least one broker")
    position: dict[str, int] = {}
    for index, broker in enumerate(brokers):
        if position.setdefault(broker, index) != index:
            raise TopologyError(f"two brokers are named {broker!r}")
    return position


def _ordered(links: Iterable[Link], position: dict[str, int]) -> tuple[Link, ...]:
    """The links, each from the earlier broker to the later, and in that order."""
    ordered: dict[Link, None] = {}
    for left, right in links:
        check_link(left, right, position)
        link = (left, right) if position[left] < position[right] else (right, left)
        if link in ordered:
            raise TopologyError(f"the link {left}-{right} is given twice")
        ordered[link] = None
    return tuple(sorted(ordered, key=lambda link: (position[link[0]], position[link[1]])))
