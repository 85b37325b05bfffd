"""Hierarchical routing in networks whose tree changes: the swarms again, with another variant.

Only a parent is told what to send, and every notification goes towards the root. So whenever a
broker gets another parent, two directions of a link exchange their roles. What must hold is what
holds peer to peer: the same plans, cases and changes of the tree under load are run (``redundant``,
``swarm``, ``turning``), and at rest every edge is routed as the tree wants it.

``python -m sapwood.sim.faithful.hierarchy --seed K`` does one seed of each again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

from sapwood.protocol.broker import Broker
from sapwood.routing.algorithms import FLOODING, HIERARCHICAL
from sapwood.sim.faithful import swarm
from sapwood.sim.faithful.redundant import Plan, PlanRun, draw_plan
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.faithful.turning import CourseRun, draw_course
from sapwood.sim.seeds import Seeds


class HierarchicalRun(PlanRun):
    """One plan of a network with more links than a tree, with hierarchical routing."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, routing_variant=HIERARCHICAL)

    def _calm(self) -> Iterator[str]:
        yield from super()._calm()
        yield from misrouted(self.network.brokers)


class HierarchicalCourse(CourseRun):
    """Changes of the tree under load, with hierarchical routing."""

    def _judge(self) -> Iterator[str]:
        yield from super()._judge()
        yield from misrouted(self.network.brokers)


def misrouted(brokers: Mapping[str, Broker]) -> Iterator[str]:
    """Edges of a network at rest that are not routed as its tree wants it."""
    for name, broker in brokers.items():
        parent = broker.tree.parent
        for other in broker.neighbours.tree():
            one = broker.neighbours[other]
            if other not in brokers or one.is_away:
                continue
            is_asked = other == parent and not _keeps_everything(name, brokers)
            wanted = broker.config.routing if is_asked else FLOODING
            if one.sends != wanted:
                yield f"{other} -> {name} uses {one.sends}, and not {wanted}"
            if brokers[other].neighbours[name].is_flooded is not (wanted == FLOODING):
                yield f"{other} does not know that {other} -> {name} uses {wanted}"


def _keeps_everything(name: str, brokers: Mapping[str, Broker]) -> bool:
    """Whether a broker, or one below it, keeps everything for its former parent, who is away."""
    neighbours = brokers[name].neighbours
    children = (other for other in brokers if brokers[other].tree.parent == name)
    return any(neighbours[other].is_flooded for other in neighbours.away()) or any(
        _keeps_everything(child, brokers) for child in children
    )


def plan_problems(seed: int) -> list[str]:
    """Everything that is wrong with the plan of a seed; nothing if it is all right."""
    try:
        return HierarchicalRun(draw_plan(seed)).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def case_problems(seed: int) -> list[str]:
    """Everything that is wrong with the case of a seed; nothing if it is all right."""
    return swarm.problems_of(seed, routing_variant=HIERARCHICAL)


def change_problems(seed: int) -> list[str]:
    """Everything that is wrong with the changes of a seed; nothing if it is all right."""
    try:
        return HierarchicalCourse(draw_course(seed), routing_variant=HIERARCHICAL).run()
    except RunawayError as problem:
        return [f"it does not come to rest: {problem}"]


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the plan, the case or the changes of a seed."""
    return [
        *(f"plan: {one}" for one in plan_problems(seed)),
        *(f"case: {one}" for one in case_problems(seed)),
        *(f"changes: {one}" for one in change_problems(seed)),
    ]


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.hierarchy",
    __doc__,
    problems_of,
    lambda seed: draw_plan(seed).describe(),
)
command, main = SEEDS.command, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
