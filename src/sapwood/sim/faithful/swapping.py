"""A tree that makes itself cheaper under load, over connections that may fail: the swarm of swaps.

The networks, clients and faults of the swarm of exchanges (``turning``), with optimization on at
every broker and costs that make many swaps worth it; a few exchanges are asked for beside. Without
faults nothing may be lost, repeated or reordered, not even causally, and nobody is told of a loss.
With faults nobody stays locked, and after a while the tree is one again and delivers everything
once.

``python -m sapwood.sim.faithful.swapping --seed K`` does one seed again and says what is wrong.
Every third seed has faults.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from sapwood.protocol.optimize.settings import OptimizationSettings
from sapwood.protocol.tree import Groups
from sapwood.sim.faithful.network import FaithfulNetwork
from sapwood.sim.faithful.redundant import draw_plan
from sapwood.sim.faithful.swarm import RunawayError
from sapwood.sim.faithful.turning import (
    CourseRun,
    FaultyRun,
    Wish,
    carrying,
    draw_course,
    has_faults,
)
from sapwood.sim.seeds import Seeds

WINDOW_SECONDS: Final = 8.0
"""Traffic that is older counts no more: so long after the last publication nothing is decided."""

REST_SECONDS: Final = WINDOW_SECONDS + 10.0
"""How long until nothing moves any more, after the last publication."""

BROKERS_MAX: Final = 24


def draw_settings(seed: int) -> OptimizationSettings:
    """How brokers optimize: costs are given, or those of the links as they are simulated.

    Costs are believed to the last digit, so that links move as often as they can.
    """
    random = Random(f"swaps {seed}")
    values: dict[str, Any] = {}
    if random.random() < 0.7:
        names = [f"B{number}" for number in range(1, BROKERS_MAX + 1)]
        values["link_costs"] = tuple((name, random.uniform(0.0, 10.0)) for name in names)
    return OptimizationSettings(
        mode="on",
        period_seconds=random.choice((0.3, 0.7)),
        window_min_seconds=random.choice((0.3, 1.0)),
        window_max_seconds=WINDOW_SECONDS,
        z=random.choice((0.0, 2.0)),
        payback_seconds=1e6,
        cost_tolerance=0.0,
        cost_resolution=0.0,
        tell_seconds=5.0,
        changes_per_minute=600.0,
        degree_max=random.choice((3, 16)),
        **values,
    )


class SwapRun(CourseRun):
    """One course without faults, in which brokers move links by themselves."""

    def __init__(self, seed: int, **config: Any) -> None:
        course = draw_course(seed)
        course = course._replace(
            pace=min(course.pace, 0.1), seconds=10.0, wishes=course.wishes[: seed % 3]
        )
        super().__init__(course, optimization=draw_settings(seed), **config)

    def _is_answered(self) -> bool:
        return super()._is_answered() and self.kernel.now > self._until + REST_SECONDS

    def _tree_problems(self) -> Iterator[str]:
        """Which tree it is, nobody knows; but it is one."""
        links = carrying(self.network)
        groups = Groups(sorted(self.network.nodes))
        joined = [groups.join(left, right) for left, right in sorted(links)]
        if len(links) != len(self.network.nodes) - 1 or not all(joined):
            yield f"{sorted(links)} is no tree of {sorted(self.network.nodes)}"
        for name, node in self.network.nodes.items():
            if node.broker.swapping.proposal is not None:
                yield f"{name} waits for a swap"


def draw_faulty_swaps(seed: int) -> FaultyRun:
    """The run with faults of a seed."""
    random = Random(f"faulty swaps {seed}")
    plan = draw_plan(seed)
    wishes = [Wish(random.uniform(2.0, plan.calm_at), random.random()) for _ in range(2)]
    settings = draw_settings(seed)
    return FaultyRun(plan, sorted(wishes), optimization=settings)


def swaps_of(network: FaithfulNetwork) -> Counter[str]:
    """What came of the proposals of all brokers that are up."""
    total: Counter[str] = Counter()
    for node in network.nodes.values():
        total.update(node.broker.swapping.counts)
    return total


class Outcome(NamedTuple):
    """What a seed came to."""

    problems: list[str]
    swaps: Counter[str]
    published: int


def outcome_of(seed: int) -> Outcome:
    """What the run of a seed came to."""
    run = draw_faulty_swaps(seed) if has_faults(seed) else SwapRun(seed)
    try:
        problems = run.run()
    except RunawayError as problem:
        problems = [f"it does not come to rest: {problem}"]
    published = sum(len(one.publications) for one in run.network.clients.values())
    return Outcome(problems, swaps_of(run.network), published)


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the run of a seed; nothing if it is all right."""
    return outcome_of(seed).problems


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.swapping",
    __doc__,
    problems_of,
    lambda seed: "with faults" if has_faults(seed) else "without faults",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one seed, or several from it on, and count what happened; 1 if something is wrong."""

    def counted(seed: int, tally: Counter[str]) -> list[str]:
        found = outcome_of(seed)
        tally.update(found.swaps)
        tally["published"] += found.published
        return found.problems

    return SEEDS.main_counting(
        counted,
        "{completed} swaps completed, {undone} undone, {refused} refused, {published} publications",
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
