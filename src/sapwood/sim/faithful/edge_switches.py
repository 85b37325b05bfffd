"""Edges that switch all the time, over connections that fail and while the tree changes.

The cases of ``swarm`` (connections and processes fail) and the courses of ``turning`` (links are
exchanged under load) again, with brokers that switch their edges as often as they can: they decide
several times a second, by what little they have counted, and hold nothing. What must hold is what
holds without: nothing is repeated or comes in the wrong order, and nothing is lost that is not lost
with the process or the connection that held it.

``python -m sapwood.sim.faithful.edge_switches --seed K`` does one seed of both again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from sapwood.protocol.broker import Broker
from sapwood.protocol.optimize.edges.settings import EdgeRoutingSettings
from sapwood.routing.algorithms import FLOODING
from sapwood.sim.faithful.case import Case, draw_case
from sapwood.sim.faithful.driver import StuckError
from sapwood.sim.faithful.swarm import CaseRun, RunawayError
from sapwood.sim.faithful.turning import Course, CourseRun, draw_course
from sapwood.sim.seeds import Seeds

RESTLESS: Final = EdgeRoutingSettings(
    choice="auto",
    telling=("simple", "identity", "covering", "merging"),
    unit="messages",
    period_seconds=0.3,
    window_seconds=0.3,
    threshold=0.0,
    deviations=0.0,
    hold_seconds=0.0,
    hold_max_seconds=0.0,
    payback_seconds=1e9,
)
"""Whatever is cheaper by chance is chosen."""


def switches(brokers: Mapping[str, Broker]) -> Counter[str]:
    """How often edges were switched, by kind."""
    return sum((broker.edges.counts for broker in brokers.values()), Counter())


def disagreements(brokers: Mapping[str, Broker]) -> Iterator[str]:
    """Edges whose ends do not agree, though nothing was spoilt: found by a comparison."""
    for name, broker in brokers.items():
        found = broker.edges.counts["contradicted"]
        if found:
            yield f"{name}: the ends of edges did not agree {found} times"


class SwitchingCaseRun(CaseRun):
    """One case with faults."""

    def __init__(self, case: Case) -> None:
        super().__init__(case, edges=RESTLESS)

    def _judge(self) -> Iterator[str]:
        yield from super()._judge()
        yield from disagreements(self.network.brokers)


class SwitchingCourseRun(CourseRun):
    """One course of changes of the tree."""

    def __init__(self, course: Course) -> None:
        super().__init__(course, edges=RESTLESS)

    def _judge(self) -> Iterator[str]:
        yield from super()._judge()
        yield from disagreements(self.network.brokers)


def case_problems(seed: int) -> list[str]:
    """Everything that is wrong with the case of a seed."""
    case = draw_case(seed)
    if case.routing == FLOODING:
        case = msgspec.structs.replace(case, routing="identity")
    try:
        return SwitchingCaseRun(case).run()
    except (RunawayError, StuckError) as problem:
        return [f"it does not come to rest: {problem}"]


def course_problems(seed: int) -> list[str]:
    """Everything that is wrong with the course of a seed."""
    course = draw_course(seed)
    if course.routing == FLOODING:
        course = course._replace(routing="identity")
    try:
        return SwitchingCourseRun(course).run()
    except (RunawayError, StuckError) as problem:
        return [f"it does not come to rest: {problem}"]


def problems_of(seed: int) -> list[str]:
    """Everything that is wrong with the case or the course of a seed."""
    return [
        *(f"case: {one}" for one in case_problems(seed)),
        *(f"course: {one}" for one in course_problems(seed)),
    ]


SEEDS: Final = Seeds(
    "python -m sapwood.sim.faithful.edge_switches",
    __doc__,
    problems_of,
    lambda seed: draw_case(seed).describe(),
)
command, main = SEEDS.command, SEEDS.main


if __name__ == "__main__":
    sys.exit(main())
