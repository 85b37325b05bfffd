"""What leases cost: Figures 3.2 and 3.3 of the thesis, Figure 2 of 001, message by message (S33).

Classes exclude each other, so what one class causes does not depend on the others: a few classes
are simulated instead of a thousand, with as many subscriptions and publications for each, and
everything is scaled up. Only the noise is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sapwood.analysis.traffic import complete
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.experiments.claims import Claim, if_printed_size, judged, near
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.pipeline.study.runs import StudyRun
from sapwood.pipeline.study.worker import simulate

CLASSES: Final = 1000
COMBINATIONS: Final = ((600.0, 60.0), (600.0, 600.0), (60.0, 60.0), (60.0, 600.0))
"""Mean lifetime of a subscription, and refresh period, in seconds."""

GRID: Final = (2000, 5000, 10_000, *range(50_000, 500_001, 50_000))
GRID_QUICK: Final = (5000, 50_000, 150_000, 300_000, 500_000)
SAVED: Final = "bs, ω = 1000/s"
HANDOVER: Final = {
    (1000, 600, 60): 296_600.0,
    (1000, 600, 600): 458_300.0,
    (1000, 60, 60): 263_100.0,
    (1000, 60, 600): 329_800.0,
    (100, 600, 60): 120_400.0,
    (100, 600, 600): 263_900.0,
    (100, 60, 600): 114_200.0,
}
"""Where both curves meet with the refresh rule that keeps live entries (CLAIMS 1.4)."""


def scenario_of(parameters: Parameters) -> dict[str, object]:
    """S33 with a few of its classes."""
    classes, refresh = parameters["classes"], parameters["refresh"]
    live = round(parameters["subscriptions"] * classes / CLASSES)
    return {
        "name": "stabilization cost",
        "duration": 5 * refresh,
        "clients_at": "leaves",
        "settle_requests": False,
        "topology": {"shape": "tree", "brokers": 121, "arity": 3},
        "delay": {"type": "constant", "delay": 0.025},
        "routing": {"algorithm": "identity", "variant": "hierarchical"},
        "stabilization": {
            "scheme": "lease-identity",
            "refresh_period": refresh,
            "lease_period": refresh + 0.2,
        },
        "workload": {
            "type": "classes",
            "classes": classes,
            "arrival_rate": live / parameters["lifetime"],
            "departure_rate": 1 / parameters["lifetime"],
            "publication_rate": float(classes * min(1.0, 60 / refresh)),
            "initial_subscriptions": live,
        },
    }


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    lifetime, refresh = parameters["lifetime"], parameters["refresh"]
    run = StudyRun(
        run="",
        point="",
        parameters={},
        scenario=scenario_of(parameters),
        repeat=0,
        seed=seed,
        check=False,
        measure_from=2 * refresh,
        code="",
    )
    found = simulate(run)
    seconds, scale = found["measured_seconds"], CLASSES / parameters["classes"]
    x = float(parameters["subscriptions"])
    control = scale * found["measured_control_hops"] / seconds
    line = f"bc, 1/μ = {lifetime:g} s, ρ = {refresh:g} s"
    yield Observation("traffic", line, x, control)
    one = CompleteSetting(lifetime=lifetime, refresh_period=refresh)
    yield Observation("control / formula", line, x, control / float(complete.control(one, x)))
    per_publication = found["notification_hops"] / max(1, found["published"])
    yield Observation("traffic", SAVED, x, 1000.0 * (120 - per_publication))


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    lowest = curves.line("traffic", SAVED)[0]
    expected = float(complete.saved(CompleteSetting(), lowest.x)) - float(
        complete.publishing(CompleteSetting(), lowest.x)
    )
    text = f"saved at {lowest.x:,.0f} subscriptions, as by the formula"
    claims.append(if_printed_size(curves, near("T3.F2", text, lowest.mean, expected, 0.005)))
    for lifetime, refresh in COMBINATIONS:
        line = f"bc, 1/μ = {lifetime:g} s, ρ = {refresh:g} s"
        last = curves.line("control / formula", line)[-1]
        low, high = (0.98, 3.5) if (lifetime, refresh) == (60.0, 600.0) else (0.98, 1.39)
        text = f"control / (bl + bo) at 500,000, {line}"
        is_so = low <= last.mean <= high
        claim = judged("T3.F3", text, is_so, last.mean, f"{low:g} to {high:g}")
        claims.append(if_printed_size(curves, claim))
    for (rate, lifetime, refresh), expected in HANDOVER.items():
        value = _meeting(curves, rate, f"bc, 1/μ = {lifetime} s, ρ = {refresh} s")
        text = f"curves meet, {rate}/s, {lifetime} s, {refresh} s"
        claims.append(if_printed_size(curves, near("T3.F2", text, value, expected, 0.05)))
    return claims


def _meeting(curves: Curves, rate: int, line: str) -> float:
    """Where what is saved falls below the control traffic, between two points a straight line."""
    gains = [
        (one.x, one.mean * rate / 1000 - curves.mean("traffic", line, one.x))
        for one in curves.line("traffic", SAVED)
    ]
    for (x, gain), (after, less) in pairwise(gains):
        if gain > 0 >= less:
            return x + (after - x) * gain / (gain - less)
    return float("nan")


def _points(grid: tuple[int, ...], classes: int) -> list[Parameters]:
    return [
        {"subscriptions": count, "lifetime": lifetime, "refresh": refresh, "classes": classes}
        for lifetime, refresh in COMBINATIONS
        for count in grid
    ]


EXPERIMENTS: Final = (
    Experiment(
        name="stabilization-cost",
        title="What leases cost, and where filtering stops to pay",
        shows=("T3.F2", "T3.F3", "P1-F2"),
        setup="S33: complete ternary tree of five levels, clients at the leaves, identity-based "
        "routing with leases and the refresh rule that hands over, links of 25 ms; 5 of the 1,000 "
        "classes (quick: 1), scaled up; control traffic measured for three refresh periods after "
        "two, notifications over the whole run by publication.",
        quick=Size(_points(GRID_QUICK, 1), 2, 2.0),
        full=Size(_points(GRID, 5), 10, 90.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure("T3.F2", "traffic", "Figure 3.2: saved, and control traffic",
                   "live subscriptions", "messages per second"),
            Figure("T3.F3", "traffic", "Figure 3.3: the same, enlarged", "live subscriptions",
                   "messages per second", y_max=4000.0),
        ),
        corrections=(
            "The caption pairs bc1 and bc4 with ρ = 60 s, the prose bc1 and bc3: curves are named "
            "by lifetime and refresh period. A large μ leads to the hump, not a small one.",
        ),
        cost=lambda parameters: parameters["subscriptions"] / parameters["lifetime"],
    ),
)  # fmt: skip
