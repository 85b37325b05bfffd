"""The tree changed by a heuristic (thesis, chapter 5; set-up S56), by counting.

The course of events is that of the exact simulator, drawn by the same function, so runs of both can
be compared seed by seed, and what comes out is of the same type.
"""

from __future__ import annotations

from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np

from sapwood.analysis.delivery.cost import Prices
from sapwood.errors import ParameterError
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.sim.flow.caches import Caches
from sapwood.sim.flow.exploring import (
    BROADCAST_COST,
    BROADCASTS,
    CHANGES,
    CI,
    COST,
    DEGREE,
    HOPS,
    LMIT,
    LMST,
    MEASURES,
    REQUEST_COST,
    REQUESTS,
    STATIC,
    Given,
    Tree,
    run_course,
)
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course
from sapwood.sim.optimizing.ways import BITS_PER_ID, CACHE_SIZE, HEURISTICS, OWN, START_TICK, WAYS
from sapwood.sim.optimizing.world import MEASURE_TICKS, Measured, Outcome

KINDS: Final = {"ci": CI, "lmst": LMST, "lmit": LMIT}

SKETCH_LEVELS: Final = 16
"""A sketch takes one of 2^15 notifications at the least."""


class TopologyRun(msgspec.Struct, frozen=True):
    """What came of one run."""

    outcome: Outcome
    """As the exact simulator has it; of messages only broadcasts and requests."""
    broadcast_costs: tuple[float, ...]
    """By reading: what broadcasts cost by tick, if they cost what notifications do."""
    request_costs: tuple[float, ...]
    """The same of requests on their way round a ring."""
    degrees: tuple[int, ...]
    """By broker, in the end."""


def settings_of(way: str, traffic: float = 1.0, **changes: Any) -> HeuristicSettings:
    """What a published heuristic is run with, for a part of the printed traffic, as in `ways`."""
    if way not in HEURISTICS:
        raise ParameterError(f"is {way!r}; choose from {', '.join(WAYS)}", "way")
    size = max(1, round(traffic * CACHE_SIZE))
    given = {"cache_size": size, "filter_bits": BITS_PER_ID * size, **HEURISTICS[way], **changes}
    return HeuristicSettings(start_at=START_TICK * TICK_SECONDS, **given)


def topology(course: Course, way: str, traffic: float = 1.0, **changes: Any) -> TopologyRun:
    """One course with one way; `changes` are settings of it that are to be others.

    `traffic` is which part of the printed traffic the course has: caches are as much smaller.
    """
    if way in OWN:
        from sapwood.sim.flow.adapting import adapt  # noqa: PLC0415 - it needs this module

        return adapt(course, traffic, **changes)
    settings = None if way == "static" else settings_of(way, traffic, **changes)
    if settings is not None and settings.broadcast_after:
        raise ParameterError(
            "broadcasts that traffic triggers are for the exact simulator only", "broadcast_after"
        )
    neighbours, degrees = tree_arrays(course)
    readings = course.parameters.ticks // MEASURE_TICKS
    measured = np.zeros((max(1, readings), MEASURES))
    _run(course, settings, neighbours, degrees, measured)
    return outcome_of(course, measured, neighbours, degrees)


def tree_arrays(course: Course) -> tuple[Any, Any]:
    """The tree at the beginning: neighbours of each broker, and how many."""
    count = len(course.brokers)
    place = {name: at for at, name in enumerate(course.brokers)}
    neighbours, degrees = np.zeros((count, count), np.int64), np.zeros(count, np.int64)
    for left, right in course.tree.links:
        for here, there in ((place[left], place[right]), (place[right], place[left])):
            neighbours[here, degrees[here]] = there
            degrees[here] += 1
    return neighbours, degrees


def _run(
    course: Course, settings: HeuristicSettings | None, neighbours: Any, degrees: Any, measured: Any
) -> None:
    used = settings or HeuristicSettings()
    is_sketch = used.summary == "sketch"
    place = {name: at for at, name in enumerate(course.brokers)}
    prices, processing = _prices(course)
    given = Given(
        heuristic=STATIC if settings is None else KINDS[used.heuristic],
        ticks=float(course.parameters.ticks),
        interval=used.broadcast_interval / TICK_SECONDS,
        believed=used.update_interval / TICK_SECONDS,
        horizon=used.horizon,
        hysteresis=float(used.hysteresis),
        bits=float(used.filter_bits),
        hashes=float(used.hashes),
        sketch_size=used.sketch_size if is_sketch else 0,
        is_handled=used.handled,
        measure_ticks=float(MEASURE_TICKS),
        price_ticks=np.array(course.price_times(), np.float64),
        prices=prices,
        processing=processing,
        members=np.array([[place[name] for name in one.places] for one in course.stays], np.int64),
        stay_begins=np.array([one.begin for one in course.stays]),
        stay_ends=np.array([one.end for one in course.stays]),
        batches=np.array(course.published),
    )
    tree = _tree(course, used, neighbours, degrees)
    run_course(given, _caches(course, used, is_sketch=is_sketch), tree, measured)


def _caches(course: Course, used: HeuristicSettings, *, is_sketch: bool) -> Caches:
    """Nobody remembers anything yet."""
    count, stays, log = len(course.brokers), len(course.stays), _log_size(course, used.handled)
    return Caches(
        size=used.cache_size,
        jobs=np.array([one.job for one in course.stays], np.int64),
        batch_ticks=float(course.parameters.batch_ticks),
        levels=_levels(course, SKETCH_LEVELS if is_sketch else 1),
        begins=np.full((stays, count), np.inf),
        ends=np.full((stays, count), np.inf),
        kept=np.zeros((count, stays), np.int64),
        kept_count=np.zeros(count, np.int64),
        totals=np.zeros(count, np.int64),
        heads=np.zeros(count, np.int64),
        tails=np.zeros(count, np.int64),
        log_ticks=np.zeros((count, log)),
        log_totals=np.zeros((count, log), np.int64),
        since=np.zeros(count),
        told_since=np.zeros(count),
        told_at=np.full(count, -np.inf),
        told_wrong=np.zeros(count),
        told_shift=np.zeros(count, np.int64),
        heard=np.full((count, count), -np.inf),
    )


def _tree(course: Course, used: HeuristicSettings, neighbours: Any, degrees: Any) -> Tree:
    """The tree of the beginning; each broker speaks first at a phase of its own."""
    count, jobs = len(course.brokers), course.parameters.jobs
    phases = np.array([crc32(name.encode()) / 2**32 for name in course.brokers])
    first = used.start_at + phases * used.broadcast_interval
    return Tree(
        neighbours=neighbours,
        degrees=degrees,
        order=np.zeros(count, np.int64),
        parents=np.zeros(count, np.int64),
        depths=np.zeros(count, np.int64),
        delays=np.zeros(count),
        locked=np.full(count, -np.inf),
        broadcast_at=first / TICK_SECONDS,
        rings=np.zeros((count, used.horizon + 1), np.int64),
        current=np.full(jobs, -1, np.int64),
        costs=np.zeros(jobs),
        links=np.zeros(jobs, np.int64),
        is_known=np.zeros(jobs, np.bool_),
        concerns=np.zeros((jobs, count), np.bool_),
        below=np.zeros(count, np.int64),
        handled=np.zeros(count, np.bool_),
    )


def _log_size(course: Course, handled: bool) -> int:
    """How many batches can concern one broker at the most."""
    if handled:
        return int(course.published.size) + 1
    batches = dict.fromkeys(course.brokers, 0.0)
    for stay in course.stays:
        for name in stay.places:
            batches[name] += (stay.end - stay.begin) / course.parameters.batch_ticks + 2
    return int(max(batches.values())) + 2


def _prices(course: Course) -> tuple[Any, Any]:
    """Costs of links and of brokers, by phase."""
    phases: list[Prices] = [course.prices_at(0), *map(course.prices_at, course.price_times())]
    return np.array([one.links for one in phases]), np.array([one.processing for one in phases])


def _levels(course: Course, levels: int) -> Any:
    """How much each job had published by each batch: of all, of one in two, in four, and so on.

    Which ones are drawn is the same for all brokers, as a hash would have it.
    """
    random = np.random.default_rng([course.seed, 56])
    drawn = course.published
    found = np.zeros((levels, drawn.shape[0], drawn.shape[1] + 1), np.int64)
    for level in range(levels):
        np.cumsum(drawn, axis=1, out=found[level, :, 1:])
        drawn = random.binomial(drawn, 0.5)
    return found


def outcome_of(course: Course, measured: Any, neighbours: Any, degrees: Any) -> TopologyRun:
    """Sums by reading, and a tree, as the exact simulator has them."""
    names = course.brokers
    readings = tuple(
        Measured(
            float((number + 1) * MEASURE_TICKS),
            float(row[COST]) / MEASURE_TICKS,
            float(row[HOPS]) / MEASURE_TICKS,
            int(row[CHANGES]),
            {"Knowledge": int(row[BROADCASTS]), "RingRequest": int(row[REQUESTS])},
            int(row[DEGREE]),
        )
        for number, row in enumerate(measured)
    )
    links = tuple(
        (names[here], names[there])
        for here in range(len(names))
        for there in neighbours[here, : degrees[here]]
        if names[here] < names[there]
    )
    problems = () if len(links) == len(names) - 1 else (f"{len(links)} links are no tree",)
    return TopologyRun(
        Outcome(readings, links, problems),
        tuple(float(row[BROADCAST_COST]) / MEASURE_TICKS for row in measured),
        tuple(float(row[REQUEST_COST]) / MEASURE_TICKS for row in measured),
        tuple(int(one) for one in degrees),
    )
