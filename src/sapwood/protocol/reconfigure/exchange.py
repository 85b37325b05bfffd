"""One exchange of a link as a value: what replaces what, around which ring, at what cost.

A link of the tree is replaced by another that joins the two parts again. The path in the tree
between the ends of the new link, closed by the new link, is the *ring*: its brokers take part, all
others notice nothing. The ring is written from ``b1``, which begins, to ``bn``; the old link is
the one from ``bk`` to ``bk+1``. Either end of the new link could be ``b1``: it is the one with the
longer side between itself and the old link, because then less has to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from sapwood.errors import PlanError
from sapwood.protocol.tree import Link, Topology, abbreviated

CanDial: TypeAlias = Callable[[str, str], bool]
"""Whether the first broker can open a connection to the second."""


def anybody(caller: str, called: str) -> bool:
    """Everybody can dial everybody."""
    return True


def link_name(link: Link) -> str:
    """A link as people write it."""
    return f"{link[0]}-{link[1]}"


class Exchange(msgspec.Struct, frozen=True):
    """One link replaced by another.

    >>> step = Exchange(("C", "B", "A"), 2)
    >>> step.old, step.new, step.messages, step.hold_hops
    (('B', 'A'), ('A', 'C'), 9, 2)
    """

    ring: tuple[str, ...]
    """The brokers that take part, from ``b1`` to ``bn``: a path in the tree."""
    k: int
    """Where the old link is: it joins ``bk`` and ``bk+1``."""
    is_prepared: bool = False
    """Whether ``bn`` has to be asked to open the new link, because ``b1`` cannot."""

    @property
    def n(self) -> int:
        """How many brokers take part."""
        return len(self.ring)

    @property
    def old(self) -> Link:
        """The link that goes."""
        return self.ring[self.k - 1], self.ring[self.k]

    @property
    def new(self) -> Link:
        """The link that comes."""
        return self.ring[-1], self.ring[0]

    @property
    def messages(self) -> int:
        """How many messages it takes if nothing fails: 3n + k − 2, and n − 1 to ask ``bn``."""
        return 3 * self.n + self.k - 2 + (self.n - 1 if self.is_prepared else 0)

    @property
    def hold_hops(self) -> int:
        """For how many hops at most something that crosses the new link has to wait."""
        n, k = self.n, self.k
        return max(k - 1, n - k + 1) + max(k - 3, n - k - 1)

    def applied(self, tree: Topology) -> Topology:
        """The tree after it."""
        gone = frozenset(self.old)
        kept = (link for link in tree.links if frozenset(link) != gone)
        return Topology(tree.brokers, (*kept, self.new))

    def __str__(self) -> str:
        return f"{link_name(self.old)} → {link_name(self.new)}"


def exchange(tree: Topology, old: Link, new: Link, can_dial: CanDial = anybody) -> Exchange:
    """The exchange of one link for another; refused, with the reason, if there is none."""
    for link in (old, new):
        _check_ends(tree, link)
    if not is_linked(tree, old):
        raise PlanError(
            f"there is no link {link_name(old)} to replace; "
            f"{old[0]} is linked to {abbreviated(tree.neighbours(old[0])) or 'nobody'}"
        )
    if frozenset(old) == frozenset(new):
        raise PlanError(f"there is nothing to do: {link_name(old)} would be replaced by itself")
    if is_linked(tree, new):
        raise PlanError(
            f"there is a link {link_name(new)} already; "
            f"the tree would fall apart without {link_name(old)}"
        )
    ring = tree.path(*new)
    place = _place(ring, old)
    if place is None:
        raise PlanError(
            f"{link_name(new)} does not join the two parts again that {link_name(old)} leaves; "
            f"it could replace {_ways(ring)}"
        )
    return oriented(ring, place, can_dial)


def swap(
    tree: Topology, moved: str, left: str, joined: str, can_dial: CanDial = anybody
) -> Exchange:
    """A broker leaves one neighbour for another who is that one's neighbour (SwapLink of 003)."""
    for link in ((moved, left), (left, joined)):
        _check_ends(tree, link)
        if not is_linked(tree, link):
            raise PlanError(
                f"there is no link {link_name(link)}; a swap takes {moved} from a neighbour "
                "to a neighbour of that one"
            )
    return exchange(tree, (moved, left), (moved, joined), can_dial)


def oriented(ring: tuple[str, ...], place: int, can_dial: CanDial) -> Exchange:
    """The exchange around a ring whose old link is at a place, the longer side on the left."""
    n = len(ring)
    if place < n - place:
        ring, place = ring[::-1], n - place
    first, last = ring[0], ring[-1]
    if not can_dial(first, last) and not can_dial(last, first):
        raise PlanError(
            f"neither {first} nor {last} can open a connection to the other; "
            "let one of them listen where the other can reach it, or choose another link"
        )
    return Exchange(ring, place, is_prepared=not can_dial(first, last))


def is_linked(tree: Topology, link: Link) -> bool:
    """Whether two brokers are neighbours."""
    return link[1] in tree.neighbours(link[0])


def _check_ends(tree: Topology, link: Link) -> None:
    for broker in link:
        if broker not in tree.brokers:
            raise PlanError(f"there is no broker {broker!r}; there are {abbreviated(tree.brokers)}")
    if link[0] == link[1]:
        raise PlanError(f"{link_name(link)} would link {link[0]} to itself")


def _place(ring: tuple[str, ...], link: Link) -> int | None:
    """Where a link is on a path, counted from 1."""
    ends = frozenset(link)
    for place in range(1, len(ring)):
        if frozenset(ring[place - 1 : place + 1]) == ends:
            return place
    return None


def _ways(ring: tuple[str, ...]) -> str:
    """The links of a path in words."""
    links = [link_name((ring[place - 1], ring[place])) for place in range(1, len(ring))]
    return links[0] if len(links) == 1 else f"{', '.join(links[:-1])} or {links[-1]}"
