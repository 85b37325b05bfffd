"""Trees that become cheaper: the thesis' experiments 3 to 8 (Figures 5.8 to 5.14), S56.

Every heuristic of the thesis on the same course of events, with CI-stable and Sapwood's own way
beside them. Courses are counted by the flow simulator, with the decisions of brokers; that brokers
which send every message come to the same is tested there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.analysis.delivery import lower_bound, printed_lower_bound
from sapwood.analysis.delivery.cost import Delivery
from sapwood.analysis.overlay import anneal
from sapwood.analysis.overlay.situation import places_of
from sapwood.experiments.claims import (
    Claim,
    above,
    between,
    fit,
    if_printed_size,
    judged,
    not_judged,
)
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.flow import topology
from sapwood.sim.optimizing.replay import replayed_cost, situation_at
from sapwood.sim.optimizing.setup import Course, SetupParameters, draw_course
from sapwood.sim.optimizing.world import MEASURE_TICKS, Outcome
from sapwood.sim.topology.underlay import SMALL_UNDERLAY

STATIC, LMIT, LMST, CI, STABLE, OWN = "static", "lmit", "lmst", "ci", "ci-stable", "adaptive"
WAYS: Final = (LMIT, LMST, CI, STABLE, OWN)
COMPARED: Final = (STATIC, *WAYS)
QUICK: Final = SetupParameters(
    brokers=30,
    jobs=15,
    subscribers=6,
    publication_interval=10.0,
    ticks=6000,
    underlay=SMALL_UNDERLAY,
)
QUICK_TRAFFIC: Final = 0.5
TICKS: Final = "time, ticks"
COST: Final = "cost per tick"
DEGREES_MAX: Final = 25
ANNEALING_STEPS: Final = 400_000
"""With a twentieth of them the reference was a tenth dearer among a hundred brokers."""


def course_of(parameters: Parameters, seed: int) -> Course:
    """What happens in a run: the same for every way with the same seed."""
    setup = msgspec.convert(parameters["setup"], SetupParameters)
    return draw_course(setup, seed % 2**31)


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """All ways, as to draw a course takes as long as to run one."""
    course = course_of(parameters, seed)
    for way in parameters["ways"]:
        if way == STATIC:
            yield from _without_changes(course)
        else:
            outcome = topology(course, way, parameters["traffic"]).outcome
            yield from _with_changes(way, course, outcome)


def _with_changes(way: str, course: Course, outcome: Outcome) -> Iterator[Observation]:
    for one in outcome.measured:
        yield Observation("cost", way, one.until, one.cost)
        yield Observation("changes", way, one.until, 1000 * one.changes / MEASURE_TICKS)
    ticks = course.parameters.ticks
    yield Observation("final", way, 0.0, outcome.cost(0.75 * ticks))
    yield Observation("problems", way, 0.0, float(len(outcome.problems)))
    yield from _degrees(way, outcome.links)


def _without_changes(course: Course) -> Iterator[Observation]:
    """The static tree, bounds, and a reference with global knowledge: no messages are needed."""
    ticks = course.parameters.ticks
    costs = []
    for end in range(MEASURE_TICKS, ticks + 1, MEASURE_TICKS):
        cost = replayed_cost(course, course.tree.links, end - MEASURE_TICKS, end)
        costs.append((end, cost))
        yield Observation("cost", STATIC, float(end), cost)
    final = [cost for end, cost in costs if end > 0.75 * ticks]
    yield Observation("final", STATIC, 0.0, sum(final) / len(final))
    around = situation_at(course, ticks - 1)
    rate = 1 / course.parameters.publication_interval
    deliveries = [Delivery(stay.places, rate) for stay in course.jobs_at(ticks - 1)]
    yield Observation("final", "lower bound", 0.0, lower_bound(around.prices, deliveries))
    printed = printed_lower_bound(around.prices, deliveries)
    yield Observation("final", "printed bound", 0.0, printed)
    start = places_of(around.prices, course.tree.links)
    best = anneal(
        around, start, np.random.default_rng(course.seed), steps=ANNEALING_STEPS, degree_max=16
    )
    yield Observation("final", "annealed", 0.0, best.cost)
    yield from _degrees(STATIC, course.tree.links)


def _degrees(way: str, links: tuple[tuple[str, str], ...]) -> Iterator[Observation]:
    degrees = Counter(Counter(broker for link in links for broker in link).values())
    for degree in range(1, DEGREES_MAX + 1):
        yield Observation("degrees", way, float(degree), float(degrees[degree]))
    brokers = sum(degrees.values())
    yield Observation("degree 1 or 2", way, 0.0, (degrees[1] + degrees[2]) / brokers)
    yield Observation("largest degree", way, 0.0, float(max(degrees)))


def _judge_costs(figure: str, curves: Curves) -> Iterator[Claim]:
    """Experiments 3 and 4: who ends up cheapest."""
    order = (STATIC, LMIT, LMST, CI) if figure == "T5.F8" else (LMST, CI)
    for upper, lower in pairwise(order):
        yield above(curves, figure, f"final cost: {upper} above {lower}", "final", upper, lower)
    for way in (LMIT, STABLE, OWN):
        text = f"final cost: static above {way}"
        yield above(curves, figure, text, "final", STATIC, way)
    share = curves.mean("final", CI) / curves.mean("final", STATIC)
    if figure == "T5.F8":
        claim = between(figure, "CI / static", share, 0.5, 0.6)
    else:
        claim = judged(figure, "CI / static", share < 0.5, share, "< 0.5")
    yield if_printed_size(curves, claim)
    for way in WAYS:
        best = curves.mean("final", way) / curves.mean("final", "annealed")
        text = f"c-adaptivity of {way}: final cost / best tree found with global knowledge"
        yield not_judged("T2.4", text, "reported", "the thesis states no number", best)
    yield from (if_printed_size(curves, one) for one in _judge_course(figure, curves))
    least = curves.mean("final", "lower bound") / curves.mean("final", "annealed")
    yield judged(figure, "true lower bound / best tree found", least <= 1, least, "≤ 1")


def _judge_course(figure: str, curves: Curves) -> Iterator[Claim]:
    """How costs go over time; what says nothing is left out."""
    static = [(one.x, one.mean) for one in curves.line("cost", STATIC)]
    if len(static) < 3:
        return
    slope, reach, _ = fit(static)
    said = f"{slope:.3g} ± {reach:.2g} a tick"
    yield judged(figure, "static: slope of the cost over time", abs(slope) <= reach, said, "0")
    reached = {way: _settled_at(curves, way) for way in (LMIT, LMST, CI)}
    is_so = reached[LMST] <= min(reached.values())
    times = [round(reached[way]) for way in (LMST, LMIT, CI)]
    text = "ticks until four fifths of the fall are made, lMST, lMIT and CI"
    yield judged(figure, text, is_so, times, "lMST first")
    if figure == "T5.F8":
        text = "CI has made 95 % of its fall at tick"
        yield between(figure, text, _settled_at(curves, CI, 0.95), 9000, 15_000)


def _settled_at(curves: Curves, way: str, share: float = 0.8) -> float:
    """When a way has made a share of all that its cost falls."""
    line = curves.line("cost", way)
    first, last = line[0].mean, curves.mean("final", way)
    wanted = first - share * (first - last)
    return next((one.x for one in line if one.mean <= wanted), float("inf"))


def _judge_degrees(curves: Curves) -> Iterator[Claim]:
    for way in (LMIT, LMST, CI, OWN):
        share = curves.mean("degree 1 or 2", way)
        claim = judged("T5.F12", f"brokers of degree 1 or 2, {way}", share > 0.5, share, "> 0.5")
        yield if_printed_size(curves, claim)
    for way, expected in ((CI, 21), (LMST, 19), (LMIT, 18)):
        value = curves.mean("largest degree", way)
        claim = between("T5.F12", f"largest degree, {way}", value, expected - 5, expected + 5)
        yield if_printed_size(curves, claim)


def _judge_sound(curves: Curves) -> Iterator[Claim]:
    total = sum(curves.mean("problems", way) for way in WAYS)
    yield judged("T5.7", "links that were no tree at the end", total == 0, total, 0)


def _judge_3(curves: Curves) -> list[Claim]:
    return [*_judge_costs("T5.F8", curves), *_judge_sound(curves)]


def _judge_4(curves: Curves) -> list[Claim]:
    claims = [*_judge_costs("T5.F9", curves), *_judge_degrees(curves)]
    return [*claims, *_judge_sound(curves)]


def _mean_changes(curves: Curves, way: str, begin: float, end: float) -> float:
    within = [one.mean for one in curves.line("changes", way) if begin < one.x <= end]
    return sum(within) / len(within) if within else float("nan")


def _judge_5(curves: Curves) -> list[Claim]:
    claims = [
        above(curves, "T5.F10", f"final cost: static above {way}", "final", STATIC, way)
        for way in WAYS
    ]
    last = curves.line("changes", CI)[-1].x
    rates = {way: _mean_changes(curves, way, 0.9 * last, last) for way in (LMST, CI, LMIT, OWN)}
    quiet = judged("T5.F13", "lMST: changes near 0 at the end", rates[LMST] < 5, rates[LMST], "< 5")
    usual = between("T5.F13", "CI: changes in 1,000 ticks", rates[CI], 58, 108)
    half = between("T5.F13", "lMIT / CI", rates[LMIT] / max(rates[CI], 1e-9), 0.35, 0.65)
    own = judged(
        "T5.F13", "adaptive: fewer changes than CI", rates[OWN] < rates[CI], rates[OWN], rates[CI]
    )
    claims += [if_printed_size(curves, one) for one in (quiet, usual, half, own)]
    return [*claims, *_judge_sound(curves)]


def _judge_6(curves: Curves) -> list[Claim]:
    claims = [
        above(curves, "T5.F11", f"final cost: static above {way}", "final", STATIC, way)
        for way in WAYS
    ]
    last = curves.line("changes", CI)[-1].x
    during = {way: _mean_changes(curves, way, last / 3, 0.73 * last) for way in (LMST, CI, LMIT)}
    before = {way: _mean_changes(curves, way, last / 6, last / 3) for way in (LMST, CI, LMIT)}
    rise = {way: during[way] - before[way] for way in during}
    text = "lMST's changes rise most while costs move, lMIT's least"
    is_so = rise[LMST] > rise[CI] and rise[LMST] > rise[LMIT]
    claims.append(
        if_printed_size(curves, judged("T5.F14", text, is_so, list(rise.values()), "lMST first"))
    )
    return [*claims, *_judge_sound(curves)]


PAIRS: Final = (
    *(("final", STATIC, way) for way in WAYS),
    ("final", LMIT, LMST),
    ("final", LMST, CI),
)


def _points(setup: SetupParameters, traffic: float) -> list[Parameters]:
    return [{"ways": list(COMPARED), "setup": _plain(setup), "traffic": traffic}]


def _plain(setup: SetupParameters) -> Mapping[str, Any]:
    """As JSON can hold it."""
    plain: Mapping[str, Any] = msgspec.to_builtins(setup)
    return plain


def _quick(ticks: int, **changes: Any) -> Size:
    """A tenth as long or less, with a third of the brokers; what changes does so in proportion."""
    for name in ("changes", "slow"):
        if changes.get(name):
            changes[name] = tuple(round(at * QUICK.ticks / ticks) for at in changes[name])
    return Size(_points(msgspec.structs.replace(QUICK, **changes), QUICK_TRAFFIC), 2, 0.4)


def _full(ticks: int, minutes: float, **changes: Any) -> Size:
    """As printed."""
    return Size(_points(SetupParameters(ticks=ticks, **changes), 1.0), 50, minutes, is_printed=True)


_SETUP: Final = (
    "S56: 100 brokers on a two-level underlay, 50 jobs of one publisher and nine subscribers, "
    "costs of links and brokers up to 10, heuristics as in Table 5.2, counted by the flow "
    "simulator. Quick: 30 brokers, 15 jobs of one and six, 6,000 ticks, half of the traffic and of "
    "the caches. "
)


def _cost_figure(name: str, title: str) -> Figure:
    return Figure(name, "cost", title, TICKS, COST, lines=COMPARED, own=(OWN,))


def _change_figure(name: str, title: str) -> Figure:
    return Figure(name, "changes", title, TICKS, "changes in 1,000 ticks", lines=WAYS, own=(OWN,))


EXPERIMENTS: Final = (
    Experiment(
        name="T5.F8",
        title="Cost of the tree, clients spread evenly (experiment 3)",
        shows=("T5.F8", "T2.4"),
        setup=_SETUP + "All brokers are equally likely to have clients; jobs move.",
        quick=_quick(50_000, load_min=1.0),
        full=_full(50_000, 15.0, load_min=1.0),
        measure=_measure,
        judge=_judge_3,
        figures=(_cost_figure("T5.F8", "Figure 5.8: cost over time, clients spread evenly"),),
        pairs=PAIRS,
        corrections=("The printed lower bound is none; the true one stands beside it.",),
    ),
    Experiment(
        name="T5.F9",
        title="Cost of the tree, clients spread unevenly (experiments 4 and 7)",
        shows=("T5.F9", "T5.F12", "T5.7"),
        setup=_SETUP + "Brokers have clients by a load of 0.1 to 1; jobs move.",
        quick=_quick(50_000),
        full=_full(50_000, 15.0),
        measure=_measure,
        judge=_judge_4,
        figures=(
            _cost_figure("T5.F9", "Figure 5.9: cost over time, clients spread unevenly"),
            Figure(
                "T5.F12",
                "degrees",
                "Figure 5.12: brokers by degree at the end",
                "links of a broker",
                "brokers",
                lines=COMPARED,
                own=(OWN,),
            ),
        ),
        pairs=PAIRS,
    ),
    Experiment(
        name="T5.F10",
        title="Everything changes at once, twice (experiments 5 and 8)",
        shows=("T5.F10", "T5.F13"),
        setup=_SETUP + "All costs, loads and jobs are drawn anew after a third and two thirds.",
        quick=_quick(75_000, changes=(25_000, 50_000)),
        full=_full(75_000, 25.0, changes=(25_000, 50_000)),
        measure=_measure,
        judge=_judge_5,
        figures=(
            _cost_figure("T5.F10", "Figure 5.10: cost over time, abrupt changes"),
            _change_figure("T5.F13", "Figure 5.13: changes of the tree, abrupt changes"),
        ),
        pairs=PAIRS,
    ),
    Experiment(
        name="T5.F11",
        title="Everything changes slowly (experiment 6)",
        shows=("T5.F11", "T5.F14"),
        setup=_SETUP + "Costs and loads go over into others from a third of the time on.",
        quick=_quick(75_000, slow=(25_000, 55_000)),
        full=_full(75_000, 25.0, slow=(25_000, 55_000)),
        measure=_measure,
        judge=_judge_6,
        figures=(
            _cost_figure("T5.F11", "Figure 5.11: cost over time, slow change"),
            _change_figure("T5.F14", "Figure 5.14: changes of the tree, slow change"),
        ),
        pairs=PAIRS,
    ),
)
