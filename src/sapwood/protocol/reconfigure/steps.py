"""The steps that what a client asks of the tree comes to, from what a survey found.

An exchange is one step, and a plan some of them. A broker that is to leave is moved to the edge of
the tree first; the last step is that it leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sapwood.errors import PlanError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.asking import EXCHANGE, PLAN, REMOVE, SWAP, ChangeTree
from sapwood.protocol.reconfigure.exchange import CanDial, Exchange, exchange, link_name, swap
from sapwood.protocol.reconfigure.messages import Kind
from sapwood.protocol.reconfigure.planning import moving_out, plan, target_of
from sapwood.protocol.reconfigure.surveyed import check_present, dialling_of, tree_of
from sapwood.protocol.tree import Link, Topology


class Step(msgspec.Struct, frozen=True):
    """One link is exchanged for another, or a broker leaves."""

    old: tuple[str, str]
    """The link that goes; of a broker that leaves, it and the one that takes over."""
    new: tuple[str, str] | tuple[()] = ()
    """The link that comes; nothing if a broker leaves."""
    kind: Kind = EXCHANGE
    route: tuple[str, ...] = ()
    """To a broker that leaves: the way there."""

    def __str__(self) -> str:
        if len(self.new) != 2:
            return f"{self.old[0]} leaves, {self.old[1]} takes over"
        return f"{link_name(self.old)} → {link_name(self.new)}"


def rounds_for(
    wanted: ChangeTree, asker: str, reports: Sequence[BrokerReport], ring_max: int
) -> list[tuple[Step, ...]]:
    """The steps, in rounds that may run at the same time; refused if it cannot be done.

    None if a plan asks for the tree as it is: so a plan can be asked for again.
    """
    tree, can_dial = tree_of(reports), dialling_of(reports)
    if wanted.wish == REMOVE:
        return _removal(reports, tree, asker, wanted.broker)
    if wanted.wish == PLAN:
        target = target_of(tree.brokers, wanted.links)
        if target == tree:
            return []
        made = plan(tree, target, can_dial, ring_max)
        check_present(reports, made.steps)
        return [tuple(_step(one, EXCHANGE) for one in each) for each in made.rounds]
    if len(wanted.links) != 2:
        raise PlanError(f"{wanted.wish} of {len(wanted.links)} links; there must be two")
    old, new = wanted.links
    kind = SWAP if wanted.wish == SWAP else EXCHANGE
    one = (_swap if kind == SWAP else exchange)(tree, old, new, can_dial)
    check_present(reports, [one])
    return [(_step(one, kind),)]


def _removal(
    reports: Sequence[BrokerReport], tree: Topology, asker: str, broker: str
) -> list[tuple[Step, ...]]:
    """Let a broker become a leaf, step by step, and then leave."""
    if broker in tree.brokers and all(report.id != broker for report in reports):
        raise PlanError(f"{broker} cannot be reached, so it can hand nobody over")
    moves = moving_out(tree, broker, _heir(reports, broker), dialling_of(reports))
    check_present(reports, moves)
    after = tree
    for one in moves:
        after = one.applied(after)
    (heir,) = after.neighbours(broker)
    leaves = Step((broker, heir), route=after.path(asker, broker))
    return [*((_step(one, EXCHANGE),) for one in moves), (leaves,)]


def _heir(reports: Sequence[BrokerReport], broker: str) -> str:
    """Who is to take over: the parent, or a neighbour, if clients can find it; else anybody."""
    by_name = {report.id: report for report in reports}
    report = by_name.get(broker)
    if report is None:
        return ""
    names = (report.parent, *report.neighbours)
    found = (name for name in names if name in by_name and by_name[name].addresses)
    return next(found, "")


def _swap(tree: Topology, old: Link, new: Link, can_dial: CanDial) -> Exchange:
    """A swap, from the links that it removes and adds; they share an end."""
    shared = [name for name in old if name in new]
    if len(shared) != 1:
        raise PlanError(f"{link_name(old)} and {link_name(new)} share no end: that is no swap")
    moved = shared[0]
    (left,) = (name for name in old if name != moved)
    (joined,) = (name for name in new if name != moved)
    return swap(tree, moved, left, joined, can_dial)


def _step(one: Exchange, kind: Kind) -> Step:
    return Step(one.old, one.new, kind)
