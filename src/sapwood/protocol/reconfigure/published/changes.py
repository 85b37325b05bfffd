"""Changes of the tree beside the exchange of a link: a leaf comes, a leaf goes (003, IV)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from sapwood.errors import PlanError
from sapwood.protocol.reconfigure.exchange import Exchange
from sapwood.protocol.tree import Topology


class _AtLeaf(msgspec.Struct, frozen=True):
    """A leaf and its only neighbour."""

    leaf: str
    neighbour: str

    @property
    def ring(self) -> tuple[str, str]:
        """Those who take part."""
        return (self.leaf, self.neighbour)

    @property
    def n(self) -> int:
        """How many take part."""
        return 2


class Join(_AtLeaf, frozen=True):
    """A broker comes, as a leaf."""

    def applied(self, tree: Topology) -> Topology:
        """The tree after it."""
        return Topology((*tree.brokers, self.leaf), (*tree.links, (self.leaf, self.neighbour)))


class Leave(_AtLeaf, frozen=True):
    """A leaf goes."""

    def applied(self, tree: Topology) -> Topology:
        """The tree after it."""
        if tree.neighbours(self.leaf) != (self.neighbour,):
            raise PlanError(
                f"{self.leaf} is no leaf beside {self.neighbour}; move it out by swaps first"
            )
        kept = tuple(name for name in tree.brokers if name != self.leaf)
        return Topology(kept, tuple(link for link in tree.links if self.leaf not in link))


Change: TypeAlias = Exchange | Join | Leave
