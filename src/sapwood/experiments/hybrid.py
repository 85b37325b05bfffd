"""Hybrid routing (004): its optimum in closed form, its switches, and Figure 3 (S004)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from sapwood.analysis.traffic import Rates, cheapest_mix, complete_tree, predict, uniform_rates
from sapwood.analysis.traffic.flows import DOWN, UP
from sapwood.analysis.traffic.hybrid import settled_mix
from sapwood.experiments.claims import Claim, if_printed_size, judged, near, within_interval
from sapwood.experiments.curves import Curves, Observation, Point
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.edge_routing.evaluation import Evaluation, Second, Setup
from sapwood.sim.edge_routing.waves import switching_waves
from sapwood.sim.flow import edges

TREE: Final = complete_tree(2, 7)
RATES: Final = (10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0)
"""Subscriptions per minute."""

THRESHOLDS: Final = {
    126: 107.1, 124: 276.9, 120: 530.2, 112: 904.7, 96: 1527.1, 64: 3098.4, 63: 3167.0,
    31: 7480.9, 15: 16_311.9, 7: 35_781.0, 3: 84_413.0, 1: 254_593.0,
}  # fmt: skip
"""By brokers that an edge leads to: subscriptions per minute above which flooding is cheaper."""

SIMPLE, FLOODING, OWN = "simple", "flooding", "self-optimizing"
BROKERS, FLOW = "message by message", "by flow"
RISE, PEAK, FALL, END = 400, 850, 950, 1800
SECONDS: Final = 2000
WINDOW: Final = 20
"""Seconds over which what is carried is averaged."""


def rates_at(births: float) -> Rates:
    """S004 with so many subscriptions per minute; each lasts a minute."""
    return uniform_rates(
        TREE,
        subscriptions=births,
        lifetime=60.0,
        publication_rate=500.0,
        classes=1000,
        clients_at_leaves=False,
    )


# In closed form


def _formulas(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for births in RATES:
        found = rates_at(births)
        best, settled = cheapest_mix(found, SIMPLE), settled_mix(found, SIMPLE, gain=0.0)
        for line, value in (
            (SIMPLE, predict(found, SIMPLE).total),
            (FLOODING, predict(found, FLOODING).total),
            ("best mix", best.traffic.total),
            ("where the decisions end", settled.traffic.total),
        ):
            yield Observation("carried", line, births, value)
        yield Observation("flooded edges", "best mix", births, float(best.floods.sum()))
    for way, below in (*((UP, size) for size in (63, 31, 15, 7, 3, 1)),
                       *((DOWN, size) for size in (63, 31, 15, 7, 3, 1))):  # fmt: skip
        behind = below if way == DOWN else 127 - below
        yield Observation("threshold", f"{behind}", 0.0, _threshold(way, below))


def _threshold(way: int, below: int) -> float:
    """Where an edge over a link with so many brokers below carries the same either way."""
    sizes = TREE.below(np.ones((127, 1)))[1:, 0]
    link = int(np.flatnonzero(sizes == below)[0])
    low, high = 1.0, 1e7
    for _ in range(50):
        middle = (low + high) / 2
        found = rates_at(middle)
        simple, flooding = (predict(found, name).edges for name in (SIMPLE, FLOODING))
        filtered = simple.notifications[way, link] + simple.changes[way, link]
        if filtered > flooding.notifications[way, link]:
            high = middle
        else:
            low = middle
    return low


def _judge_formulas(curves: Curves) -> list[Claim]:
    claims = [
        near("P4.4", f"threshold with {size} brokers behind", curves.mean("threshold", f"{size}"),
             expected, 0.05 / expected if size > 7 else 0.5 / expected)
        for size, expected in THRESHOLDS.items()
    ]  # fmt: skip
    claims.append(near("P4-F3", "flooding", curves.mean("carried", FLOODING, 10.0), 63_000.0))
    at = curves.mean("carried", SIMPLE, 10.0)
    claims.append(judged("P4-F3", "simple until 400 s", round(at) == 83, at, 83))
    for births, expected in ((10.0, 0), (20_000.0, 140), (2000.0, 124)):
        value = curves.mean("flooded edges", "best mix", births)
        text = f"edges that flood at {births:,.0f} a minute"
        claims.append(judged("P4-F3", text, value == expected, value, expected))
    at = curves.mean("carried", "best mix", 20_000.0)
    claims.append(judged("P4-F3", "carried at the peak", round(at) == 25_055, at, 25_055))
    worst = max(
        abs(curves.mean("carried", "where the decisions end", births) / one.mean - 1)
        for births in RATES
        if (one := curves.at("carried", "best mix", births)) is not None
    )
    text = "decisions end at the optimum, worst deviation"
    claims.append(judged("P4.4", text, worst <= 1e-9, worst, "0 ± 1e-9"))
    cheaper = all(
        one.mean
        <= min(curves.mean("carried", line, one.x) for line in (SIMPLE, FLOODING)) * (1 + 1e-12)
        for one in curves.line("carried", "best mix")
    )
    claims.append(judged("P4.4", "never above simple and flooding", cheaper, cheaper, True))
    return claims


# The order of switches


def _waves(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """In which wave each edge switches; 0: never."""
    found = switching_waves()
    for line, waves in (("to simple", found.to_simple), ("to flooding", found.to_flooding)):
        for (source, target), wave in sorted(waves.items()):
            yield Observation(line, f"{source[1:]}{target[1:]}", 0.0, float(wave))


WAVES: Final = ({"31", "32", "45"}, {"34", "43"}, {"13", "23", "54"})
"""004, Figure 2: which edges may follow simple routing first, and which then."""


def _judge_waves(curves: Curves) -> list[Claim]:
    claims = []
    for line, wanted in (("to simple", WAVES), ("to flooding", WAVES[::-1])):
        waves = [
            sorted(edge for edge in curves.lines(line) if curves.mean(line, edge) == number)
            for number in (1, 2, 3)
        ]
        is_so = [set(one) for one in waves] == list(wanted)
        value, expected = (_said(each) for each in (waves, wanted))
        claims.append(
            judged("P4-F2", f"edges switch {line} in these waves", is_so, value, expected)
        )
    return claims


def _said(waves: Iterable[Iterable[str]]) -> str:
    return "; ".join(", ".join(sorted(one)) for one in waves)


# Over time


def linear_ramp() -> tuple[tuple[float, float], ...]:
    """Straight lines between the printed rates, every 10 s: the shape itself is not printed."""
    rise = [(RISE + at, 10 + 19_990 * at / (PEAK - RISE)) for at in range(10, PEAK - RISE + 1, 10)]
    fall = [(FALL + at, 20_000 - 18_000 * at / (END - FALL)) for at in range(0, END - FALL + 1, 10)]
    return tuple((float(time), rate) for time, rate in [(0, 10.0), (RISE, 10.0), *rise, *fall])


def _over_time(parameters: Parameters, seed: int) -> Iterator[Observation]:
    scale = parameters["scale"]
    setup = Setup(scale=scale, seconds=SECONDS, ramp=linear_ramp(), seed=seed % 2**31)
    yield from _windows(edges(setup).seconds, scale, OWN, is_alone=True)


def _messages(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """The same by brokers that send every message, and by flow at the same scale."""
    scale = parameters["scale"]
    setup = Setup(scale=scale, seconds=SECONDS, ramp=linear_ramp(), seed=seed % 2**31)
    evaluation = Evaluation(setup)
    yield from _windows(evaluation.run(), scale, BROKERS, is_alone=False)
    yield from _windows(edges(setup).seconds, scale, FLOW, is_alone=False)
    yield Observation("invalid edges", BROKERS, 0.0, float(len(evaluation.invalid)))


def _windows(
    seconds: Sequence[Second], scale: float, own: str, *, is_alone: bool
) -> Iterator[Observation]:
    """Means over some seconds, at full scale."""
    for end in range(WINDOW, SECONDS + 1, WINDOW):
        part = seconds[end - WINDOW : end]
        lines = {own: sum(one.carried for one in part)}
        if is_alone:
            lines[SIMPLE] = sum(one.simple for one in part)
            lines[FLOODING] = sum(one.flooding for one in part)
        for line, total in lines.items():
            yield Observation("carried", line, float(end), scale * total / WINDOW)
        yield Observation("flooded edges", own, float(end), float(part[-1].flooded_edges))
        switches = sum(one.switches for one in part)
        yield Observation("switches", own, float(end), float(switches))


def _judge_messages(curves: Curves) -> list[Claim]:
    wrong = curves.mean("invalid edges", BROKERS)
    claims = [judged("P4.1", "edges that could have missed something", wrong == 0, wrong, 0)]
    sums = [
        math.fsum(one.mean for one in curves.line("carried", line) if one.x > RISE)
        for line in (BROKERS, FLOW)
    ]
    ratio = sums[0] / sums[1]
    text = "carried from 400 s on: message by message / by flow"
    return [*claims, judged("P4-F3", text, 0.97 <= ratio <= 1.03, ratio, "0.97 to 1.03")]


def _judge_simulated(curves: Curves) -> list[Claim]:
    flooding = curves.line("carried", FLOODING)
    inside = [
        one for one in flooding if one.low is not None and one.low <= 63_000 <= (one.high or 0)
    ]
    text = "(a) flooding constant at 63,000: share of windows whose interval holds it"
    share = len(inside) / len(flooding)
    first = judged("P4-F3", text, share >= 0.9, share, "≥ 0.9 (95 % intervals)")
    flooded = curves.line("flooded edges", OWN)
    last = flooded[-1] if flooded else None
    early = max(one.mean for one in flooded if one.x <= RISE)
    switches = curves.line("switches", OWN)
    upward = [one for one in switches if one.x <= PEAK]
    share = _total(upward, RISE, 600) / max(1.0, _total(upward, 0, PEAK))
    peak = curves.at("flooded edges", OWN, 940.0)
    back = next((one.x for one in flooded if one.x > FALL and one.mean < 138), None)
    crossing = _crossing(curves)
    return [
        if_printed_size(curves, first) if inside else first,
        judged("P4-F3", "(b) edges that flood until 400 s", early == 0, early, 0),
        judged("P4-F3", "(c) share of the switches to flooding in 400-600 s", share >= 0.75, share,
               "≥ 0.75"),
        if_printed_size(curves, within_interval("P4-F3", "(d) edges at the peak", peak, 140.0)),
        _excess(curves),
        judged("P4-F3", "(f) simple crosses flooding", 760 <= crossing <= 840, crossing,
               "about 800 s", "the shape of the ramp is not printed; a straight one gives "
               "683 s (N6)"),
        judged("P4-F3", "(g) first switches back", back is not None and back >= 1200, back,
               "≥ 1200 s"),
        if_printed_size(
            curves,
            within_interval("P4-F3", "(g) edges at 2,000 s", last, 124.0),
        ),
    ]  # fmt: skip


def _total(points: Sequence[Point], begin: float, end: float) -> float:
    return float(sum(one.mean for one in points if begin < one.x <= end))


def _crossing(curves: Curves) -> float:
    above = [
        one.x
        for one in curves.line("carried", SIMPLE)
        if one.mean > curves.mean("carried", FLOODING, one.x)
    ]
    return above[0] if above else float("inf")


def _excess(curves: Curves) -> Claim:
    """(e): at most 5 % above the better of both, beyond the interval."""
    worst = 0.0
    for one in curves.line("carried", OWN):
        least = min(curves.mean("carried", line, one.x) for line in (SIMPLE, FLOODING))
        reach = one.mean - one.low if one.low is not None else 0.0
        if one.x > RISE and least > 0:
            worst = max(worst, (one.mean - reach) / least)
    text = "(e) at most 1.05 times the better of simple and flooding, less the interval"
    return if_printed_size(curves, judged("P4-F3", text, worst <= 1.05, worst, "≤ 1.05"))


_EXACT: Final = Size(({},), 1, 0.2, is_printed=True)

EXPERIMENTS: Final = (
    Experiment(
        name="hybrid-optimum",
        title="Hybrid routing in closed form",
        shows=("P4.4",),
        setup="S004 in equilibrium: complete binary tree of 127 brokers, 1,000 types, 500 "
        "publications/s, subscriptions that last 60 s; unsubscriptions are counted.",
        quick=_EXACT,
        full=_EXACT,
        measure=_formulas,
        judge=_judge_formulas,
        figures=(
            Figure("hybrid-optimum", "carried", "What the network carries, by what is subscribed",
                   "subscriptions per minute", "messages per second", x_log=True, y_log=True),
        ),
        corrections=(
            "The printed rates are per second; only per minute do they give the printed results.",
        ),
    ),
    Experiment(
        name="P4-F3",
        title="Hybrid routing that follows the subscriptions",
        shows=("P4-F3",),
        setup="S004, counted by the flow simulator: brokers decide every 10 s with a gain of 5 %, "
        "by the functions that real brokers decide with. Straight lines between the printed rates. "
        "Quick: fewer runs.",
        quick=Size(({"scale": 1.0},), 4, 0.5),
        full=Size(({"scale": 1.0},), 1000, 3.0, is_printed=True),
        measure=_over_time,
        judge=_judge_simulated,
        figures=(
            Figure("P4-F3", "carried", "004, Figure 3: messages over time", "time, s",
                   "messages per second", own=(OWN,)),
            Figure("P4-F3-edges", "flooded edges", "Edges that flood, of 252", "time, s", "edges",
                   own=(OWN,)),
        ),
        corrections=(
            "The crossing of simple and flooding at 800 s fits no straight ramp (N6).",
        ),
    ),
    Experiment(
        name="hybrid-messages",
        title="Hybrid routing message by message",
        shows=("P4.1",),
        setup="S004 by brokers that send every message, beside the flow simulator; rates and types "
        "are divided by 50, so all shares stay; shown at full scale.",
        quick=Size(({"scale": 50.0},), 2, 1.0),
        full=Size(({"scale": 50.0},), 20, 6.0, is_printed=True),
        measure=_messages,
        judge=_judge_messages,
        figures=(
            Figure("P4-F3-messages", "carried", "Self-optimizing routing, message by message",
                   "time, s", "messages per second"),
        ),
    ),
    Experiment(
        name="P4-F2",
        title="In which order edges switch",
        shows=("P4-F2",),
        setup="B1 and B2 at B3, B4 behind it, B5 behind that: brokers as they run live decide. At "
        "first all edges flood and nobody subscribes; then everybody does, again and again.",
        quick=_EXACT,
        full=_EXACT,
        measure=_waves,
        judge=_judge_waves,
        figures=(
            Figure("P4-F2", "to simple", "004, Figure 2: the wave in which an edge begins to "
                   "filter", "", "wave", is_bars=True),
        ),
    ),
)  # fmt: skip
