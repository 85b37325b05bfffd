"""Plans: any tree of brokers into any other, one exchange of a link at a time.

As many exchanges as there are links that the target does not have, which is the fewest possible
(Jaeger 2007, Theorem 2): a link that comes closes a ring, and on every ring is a link that has to
go, for the target has no ring. So any of the new links may come next, and after each exchange the
links are a tree. The planner takes the shortest ring there is each time, since a change costs as
much as its ring is long, and of the links that may go the one after which least has to wait.

A broker takes part in one change at a time. Changes whose rings share no broker neither meet nor
move each other's rings, so they commute: they are put into *rounds*, each change into the first
round after those of earlier changes it shares a broker with. Within a round all may run at the same
time, and end in any order.

The alternative is the *strict cut*: a whole region changes at once, in 7(N − 1) messages for N
brokers, and all its traffic pauses meanwhile. A plan says what that would cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from sapwood.errors import PlanError, TopologyError
from sapwood.protocol.reconfigure.exchange import (
    CanDial,
    Exchange,
    anybody,
    is_linked,
    link_name,
    oriented,
)
from sapwood.protocol.tree import Link, Topology, abbreviated

CUT_MESSAGES = 7
"""Messages of a strict cut for every link: lock, echo, go, and a table and a flush each way."""


class StrictCut(msgspec.Struct, frozen=True):
    """What it costs to change everything at once, with a pause."""

    regions: tuple[tuple[str, ...], ...]
    """The brokers that pause, in groups that have nothing to do with each other."""
    hold_hops: int
    """How long a region pauses at most: the longest way through it, before or after."""

    @property
    def messages(self) -> int:
        """How many messages it takes."""
        return sum(CUT_MESSAGES * (len(region) - 1) for region in self.regions)


class Plan(msgspec.Struct, frozen=True):
    """Exchanges that turn one tree into another, and what the alternative would cost."""

    rounds: tuple[tuple[Exchange, ...], ...]
    """Those of a round share no broker: they may run at the same time."""
    cut: StrictCut
    """The alternative."""

    @property
    def steps(self) -> tuple[Exchange, ...]:
        """All exchanges, round after round."""
        return tuple(step for one in self.rounds for step in one)

    @property
    def messages(self) -> int:
        """How many messages all exchanges take if nothing fails."""
        return sum(step.messages for step in self.steps)

    @property
    def hold_hops(self) -> int:
        """For how many hops something has to wait at most, at any step."""
        return max(step.hold_hops for step in self.steps)

    @property
    def is_cut_cheaper(self) -> bool:
        """Whether the strict cut takes fewer messages; it is the one that pauses everybody."""
        return self.cut.messages < self.messages


def plan(
    current: Topology,
    target: Topology,
    can_dial: CanDial = anybody,
    ring_max: int | None = None,
) -> Plan:
    """How to turn a tree into another; refused, with the reason, if that cannot be.

    No ring may have more brokers than `ring_max`, where there is such a limit.

    >>> line = Topology(("A", "B", "C"), (("A", "B"), ("B", "C")))
    >>> star = Topology(("A", "B", "C"), (("A", "B"), ("A", "C")))
    >>> [str(step) for step in plan(line, star).steps]
    ['B-C → C-A']
    """
    _check_brokers(current.brokers, target.brokers)
    to_add = [link for link in target.links if not is_linked(current, link)]
    if not to_add:
        raise PlanError("there is nothing to do: the target is the tree as it is")
    _check_dialable(to_add, can_dial)
    steps = list(_shortest_first(current, target, to_add, can_dial))
    _check_rings(steps, ring_max)
    return Plan(_rounds(steps), _strict_cut(current, target, steps))


def target_of(brokers: Sequence[str], links: Sequence[Link]) -> Topology:
    """The tree that is wanted, of exactly these brokers; refused if the links form none."""
    try:
        return Topology(tuple(brokers), tuple(links))
    except TopologyError as error:
        raise PlanError(f"the target is no tree: {error}") from None


def moving_out(
    tree: Topology, broker: str, heir: str = "", can_dial: CanDial = anybody
) -> tuple[Exchange, ...]:
    """How to make a broker a leaf, so that it can leave: swaps, one after the other.

    Its neighbours are linked to each other instead of to it, all to the heir if they can be
    dialled, and it stays linked to the heir alone. The heir is the neighbour with the fewest links
    unless one is named. No swap is needed for a leaf.
    """
    if broker not in tree.brokers:
        raise PlanError(f"there is no broker {broker!r}; there are {abbreviated(tree.brokers)}")
    neighbours = tree.neighbours(broker)
    if not neighbours:
        raise PlanError(f"{broker} is the only broker: there is nobody to hand over to")
    if heir and heir not in neighbours:
        raise PlanError(
            f"{heir} is no neighbour of {broker}, so it cannot take over; "
            f"neighbours are {abbreviated(neighbours)}"
        )
    heir = heir or min(neighbours, key=tree.degree)
    steps = []
    for moved, joined in reversed(_joined(neighbours, heir, broker, can_dial)):
        # The far ends first: then whom they join is still a neighbour, and the ring has three.
        step = oriented((joined, broker, moved), 2, can_dial)
        steps.append(step)
    return tuple(steps)


# The parts of a plan


def _check_brokers(current: Sequence[str], target: Sequence[str]) -> None:
    """Refuse a target with other brokers."""
    strange = [broker for broker in target if broker not in set(current)]
    missing = [broker for broker in current if broker not in set(target)]
    if strange:
        raise PlanError(
            f"the target has brokers that do not exist: {abbreviated(strange)}; "
            "let them join first, then plan"
        )
    if missing:
        raise PlanError(
            f"the target lacks {abbreviated(missing)}; a plan keeps all brokers: "
            "take one out by removing it, before or after"
        )


def _check_dialable(links: Sequence[Link], can_dial: CanDial) -> None:
    """Refuse new links that nobody can open, all of them at once."""
    closed = [link for link in links if not can_dial(*link) and not can_dial(*link[::-1])]
    if closed:
        names = abbreviated([link_name(link) for link in closed])
        raise PlanError(
            f"no end of {names} can open a connection to the other; "
            "let one of them listen where the other can reach it, or choose another link"
        )


def _check_rings(steps: Sequence[Exchange], ring_max: int | None) -> None:
    """Refuse rings that are longer than brokers take part in."""
    for step in steps:
        if ring_max is not None and step.n > ring_max:
            raise PlanError(
                f"{step} would lock a ring of {step.n} brokers, and {ring_max} are the most; "
                "go there by way of a tree in between, with shorter rings"
            )


def _shortest_first(
    current: Topology, target: Topology, to_add: list[Link], can_dial: CanDial
) -> Iterator[Exchange]:
    """The exchanges, each with the shortest ring there is when its turn comes."""
    tree = current
    to_remove = {frozenset(link) for link in tree.links if not is_linked(target, link)}
    rings = {link: tree.path(*link) for link in to_add}
    while rings:
        link = min(rings, key=lambda one: len(rings[one]))
        step = _best(rings.pop(link), to_remove, can_dial)
        yield step
        gone = frozenset(step.old)
        to_remove.remove(gone)
        tree = step.applied(tree)
        for other, ring in rings.items():
            if any(frozenset(pair) == gone for pair in _pairs(ring)):
                rings[other] = tree.path(*other)


def _best(ring: tuple[str, ...], to_remove: set[frozenset[str]], can_dial: CanDial) -> Exchange:
    """Of the links on a ring that have to go the one after which least has to wait."""
    places = [
        place for place, pair in enumerate(_pairs(ring), start=1) if frozenset(pair) in to_remove
    ]
    steps = (oriented(ring, place, can_dial) for place in places)
    return min(steps, key=lambda step: (step.hold_hops, step.messages))


def _pairs(ring: tuple[str, ...]) -> Iterator[Link]:
    return pairwise(ring)


def _rounds(steps: Sequence[Exchange]) -> tuple[tuple[Exchange, ...], ...]:
    """Each exchange in the first round after those it shares a broker with."""
    rounds: list[list[Exchange]] = []
    free_from: dict[str, int] = {}
    for step in steps:
        index = max(free_from.get(broker, 0) for broker in step.ring)
        if index == len(rounds):
            rounds.append([])
        rounds[index].append(step)
        free_from.update(dict.fromkeys(step.ring, index + 1))
    return tuple(tuple(one) for one in rounds)


def _strict_cut(current: Topology, target: Topology, steps: Sequence[Exchange]) -> StrictCut:
    """The regions that change, as small as they can be, and how long they would pause.

    A region holds both ends of the links that go and that come, and all that is between them in the
    tree; regions that touch are one. It is a tree before and after, having lost and gained as many.
    """
    regions: list[set[str]] = []
    for step in steps:
        region = _between(current, (*step.old, *step.new))
        apart = []
        for other in regions:
            if region & other:
                region |= other
            else:
                apart.append(other)
        regions = [*apart, region]
    named = [tuple(broker for broker in current.brokers if broker in one) for one in regions]
    hold = max(_part(tree, one).diameter for one in named for tree in (current, target))
    return StrictCut(tuple(sorted(named, key=lambda one: current.brokers.index(one[0]))), hold)


def _between(tree: Topology, brokers: Sequence[str]) -> set[str]:
    """The smallest part of a tree that joins some brokers."""
    return {one for broker in brokers[1:] for one in tree.path(brokers[0], broker)}


def _part(tree: Topology, brokers: tuple[str, ...]) -> Topology:
    """The links of a tree among some of its brokers, which are a tree too."""
    wanted = set(brokers)
    return Topology(brokers, tuple(link for link in tree.links if wanted.issuperset(link)))


def _joined(neighbours: Sequence[str], heir: str, broker: str, can_dial: CanDial) -> list[Link]:
    """Whom each neighbour but the heir joins, nearest to the heir first."""
    joined: list[Link] = []
    reached, left = [heir], [one for one in neighbours if one != heir]
    for name in reached:
        near = [one for one in left if can_dial(one, name) or can_dial(name, one)]
        joined += [(one, name) for one in near]
        reached += near
        left = [one for one in left if one not in near]
    if left:
        raise PlanError(
            f"{broker} cannot be moved out: no connection can be opened between "
            f"{abbreviated(left)} and {abbreviated(reached)}, whose only way to each other it is"
        )
    return joined
