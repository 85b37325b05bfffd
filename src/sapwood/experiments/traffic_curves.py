"""The curves of the thesis' analysis of traffic (3.5.3): Figures 3.9 to 3.12 and 3.14 to 3.18.

All are formulas, so one run gives a curve, and claims are met to the last digit or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import numpy as np

from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.arrays import Floats, Given
from sapwood.analysis.traffic.breakeven import (
    THESIS_SETTINGS,
    break_even,
    most_toggles,
    most_toggling,
    reaches,
    worst_gain,
)
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.experiments.claims import Claim, between, judged, near
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size

GRID: Final = (0.0, 2000.0, 5000.0, *np.arange(10_000.0, 500_001.0, 10_000.0).tolist())
"""Live subscriptions (S33)."""

COUNTED: Final = (81_000, 162_000, 243_000, 405_000)
"""Subscriptions of Figure 3.9, whose own are lost: 1, 2, 3 and 5 at each leaf for each class."""

SETTING: Final = CompleteSetting()
SETUP: Final = (
    "Closed forms for a complete ternary tree of five levels, 1,000 classes, clients at the "
    "leaves, hierarchical identity-based routing (S35)."
)
SUBSCRIPTIONS: Final = "live subscriptions"
RATE: Final = "messages per second"

Curve = Callable[[CompleteSetting, Given], Floats]


def setting(
    rate: float = 1000.0, lifetime: float = 600.0, refresh: float = 60.0
) -> CompleteSetting:
    """One of the thesis' settings."""
    return CompleteSetting(publication_rate=rate, lifetime=lifetime, refresh_period=refresh)


def over(measure: str, line: str, curve: Curve, one: CompleteSetting) -> Iterator[Observation]:
    """A curve over the numbers of subscriptions."""
    values = curve(one, np.array(GRID))
    for x, y in zip(GRID, values, strict=True):
        yield Observation(measure, line, x, float(y))


def number(measure: str, line: str, value: float) -> Observation:
    """A single number, such as where a curve is highest."""
    return Observation(measure, line, 0.0, value)


# 3.9: how many subscriptions there are at a leaf


def _states(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for count in COUNTED:
        for size in range(11):
            value = float(complete.state(SETTING, float(count), size))
            yield Observation("chance", f"N = {count:,}", float(size), value)
        rest = sum(float(complete.state(SETTING, float(count), size)) for size in range(200))
        yield number("sum", f"N = {count:,}", rest)


def _judge_states(curves: Curves) -> list[Claim]:
    claims = []
    for count in COUNTED:
        line, mean = f"N = {count:,}", count / 81_000
        worst = max(
            abs(curves.mean("chance", line, size) - poisson(mean, size)) for size in range(11)
        )
        claims.append(
            judged(
                "T3.F9", f"Poisson with mean {mean:g} at {line}", worst <= 1e-9, worst, "0 ± 1e-9"
            )
        )
        claims.append(near("T3.F9", f"chances add up at {line}", curves.mean("sum", line), 1.0))
    return claims


def poisson(mean: float, count: int) -> float:
    """The chance of a count, by logarithms: another way than the recursion that is checked."""
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))


# 3.10 to 3.12: entries, notifications saved, renewals


def _entries(parameters: Parameters, seed: int) -> Iterator[Observation]:
    yield from over("entries", "x", complete.entries, SETTING)
    for share in (0.95, 0.99, 0.999):
        found = reaches(partial(complete.entries, SETTING), share * 120_000, SETTING)
        yield number("reached", f"{share:g}", found or np.nan)
    yield number("limit", "x", float(complete.entries(SETTING, 1e9)))


def _judge_entries(curves: Curves) -> list[Claim]:
    return [
        near("T3.F10", "limit of the entries", curves.mean("limit", "x"), 120_000.0),
        *(
            judged(
                "T3.F10",
                f"{share} of the limit",
                round(found := curves.mean("reached", share)) == expected,
                found,
                expected,
            )
            for share, expected in (("0.95", 210_965), ("0.99", 341_188), ("0.999", 527_692))
        ),
    ]


def _saved(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for rate in (1000.0, 100.0):
        line = f"ω = {rate:g}/s"
        yield from over("saved", line, complete.saved, setting(rate))
        yield number("limit", line, float(complete.saved(setting(rate), 1e8)))


def _judge_saved(curves: Curves) -> list[Claim]:
    claims = []
    for rate in (1000.0, 100.0):
        line = f"ω = {rate:g}/s"
        first = curves.mean("saved", line)
        claims.append(near("T3.F11", f"at no subscription, {line}", first, 120 * rate))
        claims.append(near("T3.F11", f"limit, {line}", curves.mean("limit", line), 0.0))
    return claims


def _leasing(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for refresh in (60.0, 600.0):
        line = f"ρ = {refresh:g} s"
        yield from over("leasing", line, complete.leasing, setting(refresh=refresh))
        yield number("limit", line, float(complete.leasing(setting(refresh=refresh), 1e9)))


def _judge_leasing(curves: Curves) -> list[Claim]:
    return [
        near("T3.F12", f"limit for {line}", curves.mean("limit", line), expected)
        for line, expected in (("ρ = 60 s", 2000.0), ("ρ = 600 s", 200.0))
    ]


# 3.14 to 3.17: toggles, and publishers at the leaves


def _per_toggle(parameters: Parameters, seed: int) -> Iterator[Observation]:
    yield from over("messages per toggle", "o", complete.messages_per_toggle, SETTING)
    for level in (1.05, 1.01):
        found = reaches(partial(complete.messages_per_toggle, SETTING), level, SETTING)
        yield number("reached", f"{level:g}", found or np.nan)


def _judge_per_toggle(curves: Curves) -> list[Claim]:
    line = curves.line("messages per toggle", "o")
    return [
        near("T3.F14", "at no subscription", curves.mean("messages per toggle", "o"), 4.0),
        judged(
            "T3.F14", "at most k - 1 = 4", max(one.mean for one in line) <= 4, line[0].mean, "≤ 4"
        ),
        *(
            judged(
                "T3.F14",
                f"below {level}",
                round(found := curves.mean("reached", level)) in {expected - 1, expected},
                found,
                f"from {expected}",
            )
            for level, expected in (("1.05", 121_332), ("1.01", 186_509))
        ),
    ]


def _toggles(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for lifetime in (600.0, 60.0):
        one, line = setting(lifetime=lifetime), f"1/μ = {lifetime:g} s"
        yield from over("toggles", line, complete.toggles, one)
        yield number("maximum", line, most_toggles(one).value)
        yield number("at", line, most_toggles(one).subscriptions)


def _toggling(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for lifetime in (600.0, 60.0):
        one, line = setting(lifetime=lifetime), f"1/μ = {lifetime:g} s"
        yield from over("toggling", line, complete.toggling, one)
        yield number("maximum", line, most_toggling(one).value)
        yield number("at", line, most_toggling(one).subscriptions)


def _judge_maxima(
    claim_id: str, printed: dict[str, float], place: float, curves: Curves
) -> list[Claim]:
    claims = []
    for line, expected in printed.items():
        value = curves.mean("maximum", line)
        claims.append(near(claim_id, f"maximum for {line}", value, expected, 0.005))
        claims.append(
            near(claim_id, f"place of it for {line}", curves.mean("at", line), place, 0.001)
        )
    return claims


def _publishing(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for rate in (1000.0, 100.0):
        one, line = setting(rate), f"ω = {rate:g}/s"
        yield from over("publishing", line, complete.publishing, one)
        for x in (*GRID, 1e6, 1e7):
            ratio = float(complete.saved(one, x) / complete.publishing(one, x))
            yield Observation("ratio", line, x, ratio)


def _judge_publishing(curves: Curves) -> list[Claim]:
    claims = []
    for line, expected in (("ω = 1000/s", 4000.0), ("ω = 100/s", 400.0)):
        first = curves.mean("publishing", line)
        claims.append(near("T3.F17", f"at no subscription, {line}", first, expected))
        ratios = [one.mean for one in curves.line("ratio", line)]
        claims.append(between("T3.F17", f"smallest saved / added, {line}", min(ratios), 29.94, 81))
        claims.append(near("T3.F17", f"from 30, {line}", ratios[0], 30.0))
        claims.append(near("T3.F17", f"to 81, {line}", ratios[-1], 81.0, 1e-6))
    return claims


# 3.18: where filtering stops to pay

BREAK_EVEN: Final = {
    (1000, 600, 60): 299_172,
    (1000, 600, 600): 483_799,
    (1000, 60, 60): 289_926,
    (1000, 60, 600): 467_912,
    (100, 600, 60): 122_460,
    (100, 600, 600): 289_926,
    (100, 60, 60): 92_475,
    (100, 60, 600): 184_450,
}
"""By publication rate, lifetime and refresh period."""
PRINTED_BREAK_EVEN: Final = 299_503


def key(one: CompleteSetting) -> str:
    """The name of a setting: publication rate, lifetime, refresh period."""
    return f"{one.publication_rate:g}/s, {one.lifetime:g} s, {one.refresh_period:g} s"


def _breaking_even(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for rate in (1000.0, 100.0):
        yield from over("traffic", f"bs, ω = {rate:g}/s", complete.saved, setting(rate))
    for lifetime in (600.0, 60.0):
        for refresh in (60.0, 600.0):
            one = setting(lifetime=lifetime, refresh=refresh)
            line = f"bc, 1/μ = {lifetime:g} s, ρ = {refresh:g} s"
            yield from over("traffic", line, complete.control, one)
    for one in THESIS_SETTINGS:
        yield number("break-even", key(one), break_even(one) or np.nan)
        yield number("worst share", key(one), worst_gain(one).share_of_flooding)
        yield number("least gain", key(one), worst_gain(one).value)
        without = [complete.gain(one, x) + complete.leasing(one, x) for x in (*GRID, 1e6, 2e6)]
        yield number("least gain without leasing", key(one), float(min(without)))


def _judge_breaking_even(curves: Curves) -> list[Claim]:
    claims = []
    for (rate, lifetime, refresh), expected in BREAK_EVEN.items():
        name = f"{rate}/s, {lifetime} s, {refresh} s"
        found = curves.mean("break-even", name)
        is_so = round(found) == expected
        claims.append(judged("T3.F18", f"break-even for {name}", is_so, found, expected))
    first = "1000/s, 600 s, 60 s"
    claims.append(
        near(
            "T3.F18",
            "the printed break-even",
            curves.mean("break-even", first),
            PRINTED_BREAK_EVEN,
            0.002,
            "the print has renewals every 60.251 s, as it seems: ρ and the longest delay (N1)",
        )
    )
    claims += [_worst(curves, name) for name in curves.lines("worst share")]
    claims += [_bounded(curves, name) for name in curves.lines("least gain")]
    claims += [_unleased(curves, name) for name in curves.lines("least gain without leasing")]
    return claims


def _worst(curves: Curves, name: str) -> Claim:
    share = curves.mean("worst share", name)
    why = "" if name.startswith("1000") else "printed without saying for which publication rate"
    return judged(
        "T3.F18",
        f"never more than 1/60 dearer, {name}",
        share <= 1 / 60 + 1e-12,
        share,
        "≤ 1/60",
        why,
    )


def _bounded(curves: Curves, name: str) -> Claim:
    """The print says that the gain is bounded below by what leasing costs in the limit."""
    least = curves.mean("least gain", name)
    limit = -2000.0 if name.endswith(", 60 s") else -200.0
    return judged(
        "T3.F18", f"-bl is the lower bound, {name}", least >= limit - 1e-6, least, f"≥ {limit:g}"
    )


def _unleased(curves: Curves, name: str) -> Claim:
    least = curves.mean("least gain without leasing", name)
    return judged("T3.F18", f"without leasing never worse, {name}", least >= -1e-9, least, "≥ 0")


def _made(
    name: str,
    title: str,
    measure: Callable[[Parameters, int], Iterable[Observation]],
    judge: Callable[[Curves], list[Claim]],
    figure: Figure,
    corrections: tuple[str, ...] = (),
) -> Experiment:
    size = Size(({},), 1, 0.1, is_printed=True)
    return Experiment(
        name=name,
        title=title,
        shows=(name,),
        setup=SETUP,
        quick=size,
        full=size,
        measure=measure,
        judge=judge,
        figures=(figure,),
        corrections=corrections,
    )


EXPERIMENTS: Final = (
    _made(
        "T3.F9",
        "How many subscriptions there are for a class at a leaf",
        _states,
        _judge_states,
        Figure("T3.F9", "chance", "Figure 3.9: p_i", "subscriptions at a leaf, i", "probability"),
        ("The numbers of subscriptions in the figure are lost; 1, 2, 3, 5 per leaf are shown.",),
    ),
    _made(
        "T3.F10",
        "Entries for neighbours in all tables",
        _entries,
        _judge_entries,
        Figure("T3.F10", "entries", "Figure 3.10: x", SUBSCRIPTIONS, "entries"),
    ),
    _made(
        "T3.F11",
        "Notifications saved by filtering, published at the root",
        _saved,
        _judge_saved,
        Figure("T3.F11", "saved", "Figure 3.11: bs", SUBSCRIPTIONS, RATE, y_log=False),
        ("Differs from Figure 3.2 by what publishers at the leaves add.",),
    ),
    _made(
        "T3.F12",
        "Renewals of leases",
        _leasing,
        _judge_leasing,
        Figure("T3.F12", "leasing", "Figure 3.12: bl", SUBSCRIPTIONS, RATE),
        ("The refresh periods in brackets are exchanged in print.",),
    ),
    _made(
        "T3.F14",
        "Messages per change of a leaf's mind",
        _per_toggle,
        _judge_per_toggle,
        Figure("T3.F14", "messages per toggle", "Figure 3.14: o", SUBSCRIPTIONS, "messages"),
        ("Eq. 3.27 is valid for two levels already; the print says three.",),
    ),
    _made(
        "T3.F15",
        "How often leaves change their mind",
        _toggles,
        partial(_judge_maxima, "T3.F15", {"1/μ = 600 s": 99.0, "1/μ = 60 s": 993.0}, 80_998.0),
        Figure("T3.F15", "toggles", "Figure 3.15: mo", SUBSCRIPTIONS, "changes per second"),
        ("The maximum is at 81,000 exactly; printed 80,998.",),
    ),
    _made(
        "T3.F16",
        "Subscriptions and unsubscriptions that are told",
        _toggling,
        partial(_judge_maxima, "T3.F16", {"1/μ = 600 s": 117.0, "1/μ = 60 s": 1174.0}, 57_382.0),
        Figure("T3.F16", "toggling", "Figure 3.16: bo", SUBSCRIPTIONS, RATE),
        ("The lifetimes are exchanged in print.",),
    ),
    _made(
        "T3.F17",
        "What publishers at the leaves add",
        _publishing,
        _judge_publishing,
        Figure("T3.F17", "publishing", "Figure 3.17: bp", SUBSCRIPTIONS, RATE),
        ("“At most” l/(k-1) in print means at least.",),
    ),
    _made(
        "T3.F18",
        "Where filtering stops to pay",
        _breaking_even,
        _judge_breaking_even,
        Figure(
            "T3.F18",
            "traffic",
            "Figure 3.18: saved by filtering, and control traffic",
            SUBSCRIPTIONS,
            RATE,
            y_max=3000.0,
        ),
        (
            "The print's “-bl is the lower bound” and “without leasing never worse” fail for 100 "
            "publications/s and lifetimes of 60 s; its “1/60” is for 1,000 publications/s only.",
        ),
    ),
)
