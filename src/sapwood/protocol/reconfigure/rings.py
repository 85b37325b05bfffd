"""Which ring a change concerns, from a survey: the path between the ends of the new link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sapwood.errors import SapwoodError
from sapwood.protocol.messages import BrokerReport
from sapwood.protocol.reconfigure.exchange import exchange
from sapwood.protocol.reconfigure.fitness import RING_MIN
from sapwood.protocol.reconfigure.messages import Kind
from sapwood.protocol.reconfigure.surveyed import check_present, dialling_of, tree_of


class RingPlan(NamedTuple):
    """The ring of a change, or why there is none."""

    problem: str
    path: tuple[str, ...] = ()
    k: int = 0
    route: tuple[str, ...] = ()
    """From the asker to the first of the path."""
    back: tuple[str, ...] = ()
    """From the first of the path to the asker, in the new tree."""
    addresses: tuple[str, ...] = ()
    """Where the last of the path can be dialled."""


def plan_ring(
    reports: Sequence[BrokerReport],
    asker: str,
    old: tuple[str, str],
    new: tuple[str, str],
    kind: Kind,
    ring_max: int,
) -> RingPlan:
    """The ring for a change that a broker asks for."""
    try:
        tree = tree_of(reports)
        step = exchange(tree, old, new, dialling_of(reports))
        check_present(reports, [step])
    except SapwoodError as problem:
        return RingPlan(str(problem))
    if kind == "swap" and step.n != RING_MIN:
        return RingPlan(f"no swap: the ring has {step.n} brokers, not {RING_MIN}")
    if step.n > ring_max:
        return RingPlan(f"a ring of {step.n} brokers; there may be {ring_max} at most")
    first, last = step.ring[0], step.ring[-1]
    addresses = next(report.addresses for report in reports if report.id == last)
    route, back = tree.path(asker, first), step.applied(tree).path(first, asker)
    return RingPlan("", step.ring, step.k, route, back, addresses)
