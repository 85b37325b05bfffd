"""Heuristics for the tree over their own parameters and over what there is to gain: S56.

The thesis' experiments 1 and 2 (Figures 5.6 and 5.7: how far brokers look, how much they remember),
9 and 10 (Figures 5.15 and 5.16: what costs, and how close clients are), and the interval of
broadcasts, for which the thesis has no experiment (5.6.2). All are counted by the flow simulator;
one run is one course of events, or one for each value that changes the course.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from sapwood.experiments.claims import (
    Claim,
    above,
    fit,
    if_printed_size,
    judged,
    not_judged,
    sign_of,
)
from sapwood.experiments.curves import Curves, Observation, difference
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.experiments.topology import CI, LMIT, LMST, OWN, QUICK, QUICK_TRAFFIC, course_of
from sapwood.sim.flow import topology
from sapwood.sim.flow.topology import TopologyRun
from sapwood.sim.optimizing.setup import TICK_SECONDS, Course, SetupParameters
from sapwood.sim.optimizing.ways import BITS_PER_ID

WINDOW: Final = 1000
"""Ticks over which costs are averaged: the first so many before anything changes, and the last."""

FOREVER: Final = 1e15
"""Mean ticks until a job moves, where clients are placed once."""

PRINTED_TICKS: Final = 31_000
HORIZONS: Final = tuple(range(1, 13))
HORIZON: Final = 3
CACHE_UNIT: Final = 256
CACHE_LARGE: Final = 8192
CACHES: Final = tuple(range(1, 37))
SUFFICIENT: Final = 18
INTERVALS: Final = (62.5, 125.0, 250.0, 500.0, 1000.0)
INTERVAL: Final = 250.0
HOP_TICKS: Final = 10
"""The longest a message takes over a link; with the horizon it is how long knowledge is old."""

SHARES: Final = tuple(one / 10 for one in range(11))
COST_SUM: Final = 20.0
FORWARDING, BROADCAST, CHANGING, TOTAL = "forwarding", "broadcasts", "reconfiguration", "total"
CHANGE_MESSAGES: Final = 6
"""Messages of a link exchange for each broker of its ring (T4.11)."""


def believed(interval: float, horizon: int) -> float:
    """How long what was heard is believed, in seconds: 281 ticks as printed (Table 5.2)."""
    return (interval + horizon * HOP_TICKS + 1) * TICK_SECONDS


def cached(entries: float, traffic: float) -> dict[str, int]:
    """A cache of so many notifications, for a part of the printed traffic, and its filter."""
    size = max(1, round(entries * traffic))
    return {"cache_size": size, "filter_bits": BITS_PER_ID * size}


def _last(run: TopologyRun, values: Sequence[float], ticks: int) -> float:
    """The mean over the last readings."""
    chosen = [
        value
        for one, value in zip(run.outcome.measured, values, strict=True)
        if one.until > ticks - WINDOW
    ]
    return sum(chosen) / len(chosen)


# How far brokers look (experiment 1)


def _horizons(parameters: Parameters, seed: int) -> Iterator[Observation]:
    course, traffic = course_of(parameters, seed), parameters["traffic"]
    for horizon in HORIZONS:
        run = topology(
            course, CI, traffic, horizon=horizon,
            update_interval=believed(INTERVAL, horizon), **cached(CACHE_LARGE, traffic),
        )  # fmt: skip
        parts = _parts(course, run, horizon)
        for line, value in (*parts.items(), (TOTAL, sum(parts.values()))):
            yield Observation("cost", line, float(horizon), value)
        yield Observation("total", f"horizon {horizon}", 0.0, sum(parts.values()))
        saved = run.outcome.cost(0, WINDOW) - parts[FORWARDING]
        yield Observation("saved", CI, float(horizon), saved)


def _parts(course: Course, run: TopologyRun, horizon: int) -> dict[str, float]:
    """What everything costs by tick at the end.

    The messages that carry out a change are not run: they are counted as the formula has it, for
    the longest ring there can be, at the mean costs of links and brokers.
    """
    ticks = course.parameters.ticks
    prices = course.prices_at(ticks)
    brokers = len(course.brokers)
    hop = float(prices.processing.mean() + prices.links.sum() / (brokers * (brokers - 1)))
    changes = run.outcome.changes(ticks - WINDOW) / 1000
    carrying_out = changes * CHANGE_MESSAGES * (horizon + 1) * hop
    return {
        FORWARDING: run.outcome.cost(ticks - WINDOW),
        BROADCAST: _last(run, run.broadcast_costs, ticks),
        CHANGING: _last(run, run.request_costs, ticks) + carrying_out,
    }


def _judge_horizons(curves: Curves) -> list[Claim]:
    claims = [
        above(curves, "T5.F6", f"total: more with horizon {wide} than with {HORIZON}", "total",
              f"horizon {wide}", f"horizon {HORIZON}")
        for wide in HORIZONS if wide > HORIZON
    ]  # fmt: skip
    totals = {one.x: one.mean for one in curves.line("cost", TOTAL)}
    best = min(totals, key=lambda x: totals[x])
    text = "horizon of the least total, of 1 to 12 (printed: of 3 to 12)"
    claims.append(not_judged("T5.F6", text, "3", "1 and 2 were not tried in print", best))
    share = max(
        one.mean / totals[one.x] for one in curves.line("cost", CHANGING) if one.x >= HORIZON
    )
    small = judged("T5.F6", "largest share of reconfiguration", share < 0.02, share, "< 0.02")
    told = [one.mean for one in curves.line("cost", BROADCAST)]
    rises = all(low < high for low, high in pairwise(told))
    claims += [
        if_printed_size(curves, small),
        judged("T5.F6", "broadcasts cost more the farther they go", rises, rises, True),
    ]
    spent = sum(curves.mean("cost", line, HORIZON) for line in (BROADCAST, CHANGING))
    ratio = spent / curves.mean("saved", CI, HORIZON)
    text = "(broadcasts + reconfiguration) / what is saved, horizon 3"
    claims.append(if_printed_size(curves, judged("T5.6", text, ratio < 0.1, ratio, "< 0.1")))
    return claims


# How much they remember (experiment 2)


def _caches(parameters: Parameters, seed: int) -> Iterator[Observation]:
    course, traffic = course_of(parameters, seed), parameters["traffic"]
    begin = course.parameters.ticks - WINDOW
    costs = [
        topology(course, CI, traffic, **cached(CACHE_UNIT * size, traffic)).outcome.cost(begin)
        for size in CACHES
    ]
    for size, cost, following in zip(CACHES, costs, costs[1:], strict=False):
        yield Observation("difference", CI, float(size), abs(following - cost) / cost)
        yield Observation("cost by cache", CI, float(size), cost)


def _judge_caches(curves: Curves) -> list[Claim]:
    line = curves.line("difference", CI)
    worst = max(one.mean for one in line if one.x >= SUFFICIENT)
    text = f"mean relative difference from {SUFFICIENT} · 256 on, the largest"
    small = judged("T5.F7", text, worst < 0.01, worst, "< 0.01")
    changing = [one.x for one in line if one.mean > 0]
    text = "cache in units of 256 from which on no run differs at all"
    exact = changing[-1] + 1 if changing else line[0].x
    why = "an exact 0 cannot be while there is more traffic than the cache holds (N11)"
    return [if_printed_size(curves, small), not_judged("T5.F7", text, SUFFICIENT, why, exact)]


# How often they tell (no experiment in print)


def _intervals(parameters: Parameters, seed: int) -> Iterator[Observation]:
    course, traffic = course_of(parameters, seed), parameters["traffic"]
    (changed,) = course.parameters.changes
    for interval in INTERVALS:
        run = topology(
            course, CI, traffic, broadcast_interval=interval * TICK_SECONDS,
            update_interval=believed(interval, HORIZON),
        )  # fmt: skip
        outcome = run.outcome
        after = outcome.cost(changed, changed + 5 * WINDOW)
        line = f"every {interval:g} ticks"
        for measure, value in (
            ("cost after the change", after),
            ("messages", outcome.sent("Knowledge")),
        ):
            yield Observation(measure, CI, interval, value)
            yield Observation(f"{measure}, by interval", line, 0.0, value)


def _judge_intervals(curves: Curves) -> list[Claim]:
    names = [f"every {one:g} ticks" for one in INTERVALS]
    claims = [
        above(curves, "T5.9", f"messages: more {often} than {seldom}", "messages, by interval",
              often, seldom)
        for often, seldom in pairwise(names)
    ]  # fmt: skip
    text = "cost in the 5,000 ticks after a change: more {} than {}"
    claims += [
        above(curves, "T5.9", text.format(seldom, often), "cost after the change, by interval",
              seldom, often)
        for often, seldom in pairwise(names)
    ]  # fmt: skip
    return claims


# What costs, and how close clients are (experiments 9 and 10)


def _improvements(parameters: Parameters, seed: int) -> Iterator[Observation]:
    traffic = parameters["traffic"]
    for share in SHARES:
        course = course_of({"setup": {**parameters["setup"], **_changed(parameters, share)}}, seed)
        end = course.parameters.ticks
        for way in (LMST, LMIT, CI, OWN):
            outcome = topology(course, way, traffic).outcome
            first, last = outcome.cost(0, WINDOW), outcome.cost(end - WINDOW)
            yield Observation("improvement", way, share, 100 * (1 - last / first))


def _changed(parameters: Parameters, share: float) -> dict[str, float]:
    """What is another with this share."""
    if parameters["sweep"] == "locality":
        return {"locality": share}
    return {"communication_max": (1 - share) * COST_SUM, "processing_max": share * COST_SUM}


def _slope(curves: Curves, way: str) -> tuple[float, float]:
    slope, reach, _ = fit([(one.x, one.mean) for one in curves.line("improvement", way)])
    return slope, reach


def _said(slope: tuple[float, float]) -> str:
    return f"{slope[0]:.3g} ± {slope[1]:.2g}"


def _never_below(curves: Curves, figure: str, upper: str, lower: str) -> Claim:
    """At no x surely below: two-sided by the sign of the difference run by run."""
    line = curves.line("improvement difference", difference(upper, lower))
    against = [one.x for one in line if sign_of(one) < 0]
    text = f"{upper} no worse than {lower}"
    value = f"below at {len(against)} of {len(line)} x"
    return if_printed_size(curves, judged(figure, text, not against, value, "at none"))


def _judge_weights(curves: Curves) -> list[Claim]:
    tree, traffic = _slope(curves, LMST), _slope(curves, LMIT)
    falls = judged("T5.F15", "lMST: slope over the share of processing", sum(tree) < 0,
                   _said(tree), "below 0")  # fmt: skip
    flat = abs(traffic[0]) < abs(tree[0]) / 3
    text = "lMIT: slope, flat beside that of lMST"
    level = judged("T5.F15", text, flat, _said(traffic), "less than a third of it")
    late = [
        sign_of(one)
        for one in curves.line("improvement difference", difference(LMIT, LMST))
        if one.x >= 0.8
    ]
    beyond = judged("T5.F15", "lMIT above lMST where processing is dear", min(late) > 0, late,
                    "at 0.8, 0.9 and 1")  # fmt: skip
    claims = [if_printed_size(curves, one) for one in (falls, level, beyond)]
    return [*claims, *(_never_below(curves, "T5.F15", CI, one) for one in (LMST, LMIT))]


def _judge_locality(curves: Curves) -> list[Claim]:
    claims = []
    for way in (LMST, LMIT, CI):
        slope = _slope(curves, way)
        text = f"{way}: slope over locality"
        rises = judged("T5.F16", text, sum(slope) >= 0, _said(slope), "0 or above, and small")
        claims.append(if_printed_size(curves, rises))
    apart = curves.line("improvement difference", difference(LMIT, LMST))
    same = [one.x for one in apart if sign_of(one) == 0]
    text = "lMST and lMIT improve as much"
    equal = judged("T5.F16", text, len(same) == len(apart), f"at {len(same)} of {len(apart)} x",
                   "at every x")  # fmt: skip
    gaps = [one.mean for one in curves.line("improvement difference", difference(CI, LMST))]
    gap = sum(gaps) / len(gaps)
    text = "CI above lMST, percentage points"
    ten = judged("T5.F16", text, 5 <= gap <= 15, gap, "about 10 (5 to 15)")
    own = curves.line("improvement difference", difference(OWN, CI))
    text = "adaptive above CI, percentage points (Sapwood's own)"
    value = sum(one.mean for one in own) / len(own)
    claims += [if_printed_size(curves, one) for one in (equal, ten)]
    return [*claims, not_judged("own", text, "reported", "not in the thesis", value)]


# Sizes


def _size(
    setup: SetupParameters, runs: int, minutes: float, sweep: str = "", *, is_printed: bool = False
) -> Size:
    built: dict[str, Any] = msgspec.to_builtins(setup)
    traffic = 1.0 if is_printed else QUICK_TRAFFIC
    point = {"setup": built, "traffic": traffic, "sweep": sweep}
    return Size((point,), runs, minutes, is_printed=is_printed)


def _quick(sweep: str = "", **changes: Any) -> Size:
    """With a third of the brokers and a fifth of the time."""
    return _size(msgspec.structs.replace(QUICK, ticks=6000, **changes), 2, 0.3, sweep)


def _full(minutes: float, sweep: str = "", **changes: Any) -> Size:
    """As printed."""
    setup = SetupParameters(ticks=PRINTED_TICKS, **changes)
    return _size(setup, 50, minutes, sweep, is_printed=True)


_SETUP: Final = "S56, counted by the flow simulator; quick: 30 brokers, half of the traffic. "
_IMPROVEMENT: Final = "improvement over the first 1,000 ticks, %"
_PAIRS: Final = tuple(
    ("improvement", *pair) for pair in ((LMIT, LMST), (CI, LMST), (CI, LMIT), (OWN, CI))
)

EXPERIMENTS: Final = (
    Experiment(
        name="T5.F6",
        title="How far brokers look (experiment 1)",
        shows=("T5.F6", "T5.6"),
        setup=_SETUP + "Clients are placed once, unevenly; cache of 8,192; what the last 1,000 of "
        "31,000 ticks cost. The messages that carry out a change are counted by the formula for "
        "the longest ring.",
        quick=_quick(reassignment_interval=FOREVER),
        full=_full(30.0, reassignment_interval=FOREVER),
        measure=_horizons,
        judge=_judge_horizons,
        figures=(
            Figure("T5.F6", "cost", "Figure 5.6: what CI costs by how far brokers look",
                   "links that a broadcast goes", "cost per tick",
                   lines=(TOTAL, FORWARDING, BROADCAST, CHANGING)),
        ),
        pairs=tuple(
            ("total", f"horizon {wide}", f"horizon {HORIZON}")
            for wide in HORIZONS if wide > HORIZON
        ),
        corrections=("3 is the smallest horizon that was tried in print; here 1 and 2 are, too.",),
    ),
    Experiment(
        name="T5.F7",
        title="How much brokers remember (experiment 2)",
        shows=("T5.F7",),
        setup=_SETUP + "As experiment 1, horizon 3; caches of 1 to 36 times 256, the same course.",
        quick=_quick(reassignment_interval=FOREVER),
        full=_full(45.0, reassignment_interval=FOREVER),
        measure=_caches,
        judge=_judge_caches,
        figures=(
            Figure("T5.F7", "difference", "Figure 5.7: what 256 more to remember change",
                   "cache, in 256 notifications", "difference of costs, as a share"),
        ),
    ),
    Experiment(
        name="broadcast-interval",
        title="How often brokers tell what they know",
        shows=("T5.9",),
        setup=_SETUP + "CI; all costs, loads and jobs are drawn anew half-way.",
        quick=_quick(changes=(3000,)),
        full=_full(20.0, changes=(15_000,)),
        measure=_intervals,
        judge=_judge_intervals,
        figures=(
            Figure("broadcast-interval", "cost after the change",
                   "CI: cost in the 5,000 ticks after everything has changed",
                   "ticks between two broadcasts", "cost per tick", x_log=True),
        ),
        pairs=tuple(
            pair
            for one, other in pairwise(f"every {each:g} ticks" for each in INTERVALS)
            for pair in (
                ("messages, by interval", one, other),
                ("cost after the change, by interval", other, one),
            )
        ),
    ),
    Experiment(
        name="T5.F15",
        title="What links cost against what brokers cost (experiment 9)",
        shows=("T5.F15",),
        setup=_SETUP + "Uneven load; links cost up to 20 (1 - a), brokers up to 20 a.",
        quick=_quick("weights"),
        full=_full(130.0, "weights"),
        measure=_improvements,
        judge=_judge_weights,
        figures=(
            Figure("T5.F15", "improvement", "Figure 5.15: improvement by what costs",
                   "share of processing in the costs, a", _IMPROVEMENT, own=(OWN,)),
        ),
        pairs=_PAIRS,
        corrections=("Measured at ticks 30,000 to 31,000 as in experiment 1 (N11).",),
    ),
    Experiment(
        name="T5.F16",
        title="Clients close to their publisher (experiment 10)",
        shows=("T5.F16",),
        setup=_SETUP + "Uneven load, equal weights; subscribers are drawn towards their publisher.",
        quick=_quick("locality"),
        full=_full(130.0, "locality"),
        measure=_improvements,
        judge=_judge_locality,
        figures=(
            Figure("T5.F16", "improvement", "Figure 5.16: improvement by locality",
                   "locality", _IMPROVEMENT, own=(OWN,)),
        ),
        pairs=_PAIRS,
        corrections=("Eq. 5.15, 5.16: factors exchanged, load not normalised, sum over others.",),
    ),
)  # fmt: skip
