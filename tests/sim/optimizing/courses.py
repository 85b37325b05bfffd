"""Small courses of events, drawn by seed."""

from __future__ import annotations

from functools import cache

import msgspec

from sapwood.sim.optimizing.setup import Course, SetupParameters, draw_course
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

SMALL = SetupParameters(
    brokers=14, jobs=6, subscribers=4, ticks=1000, underlay=SMALL_UNDERLAY, batch_ticks=10
)


@cache
def small(seed: int, **changes: object) -> Course:
    """A course, with other parameters than usual."""
    return draw_course(msgspec.structs.replace(SMALL, **changes), seed)
