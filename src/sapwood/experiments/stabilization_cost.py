"""What leases cost: Figures 3.2 and 3.3 of the thesis, Figure 2 of 001 (S33).

All thousand classes are counted by the flow simulator, with the refresh rule that hands over; what
Sapwood does instead of renewing leases, digests, stands beside them. Message by message a class is
run by itself: classes exclude each other, so what one causes does not depend on the others, and
everything is scaled up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from sapwood.analysis.traffic import complete, complete_tree, uniform_rates
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.analysis.traffic.predicting import HIERARCHICAL, PEER_TO_PEER
from sapwood.analysis.traffic.routing import EdgeTraffic
from sapwood.experiments.claims import Claim, if_printed_size, judged, near, within_interval
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.pipeline.study.runs import StudyRun
from sapwood.pipeline.study.worker import simulate
from sapwood.sim.flow import Flow, traffic, with_digests

CLASSES: Final = 1000
COMBINATIONS: Final = ((600.0, 60.0), (600.0, 600.0), (60.0, 60.0), (60.0, 600.0))
"""Mean lifetime of a subscription, and refresh period, in seconds."""

GRID: Final = (0, 2000, 5000, 10_000, *range(50_000, 500_001, 25_000))
GRID_MESSAGES: Final = (50_000, 300_000)
TREE: Final = complete_tree(3, 5)
FLOW_CLASSES: Final = 20
"""That are counted at the quick size, and beside single ones."""

LINKS: Final = 120
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


def bc(lifetime: float, refresh: float) -> str:
    """The line of the control traffic with leases."""
    return f"bc, 1/μ = {lifetime:g} s, ρ = {refresh:g} s"


def digests(lifetime: float, refresh: float) -> str:
    """The line of the control traffic with digests."""
    return f"digest, 1/μ = {lifetime:g} s, ρ = {refresh:g} s"


OWN: Final = tuple(digests(*one) for one in COMBINATIONS)


def counted(parameters: Parameters, seed: int, variant: str) -> Flow:
    """All classes by flow; where only some are counted they stand for all."""
    refresh = parameters["refresh"]
    found = uniform_rates(
        TREE, subscriptions=parameters["subscriptions"], lifetime=parameters["lifetime"],
        publication_rate=1000.0, classes=CLASSES,
    )  # fmt: skip
    some = replace(found, copies=parameters["classes"])
    flow = traffic(
        some, "identity", variant, seconds=parameters["periods"] * refresh, seed=seed % 2**63,
        refresh_period=refresh,
    )  # fmt: skip
    scale, of = CLASSES / parameters["classes"], flow.traffic
    seen = (of.edges.notifications, of.edges.changes, of.edges.entries)
    edges = EdgeTraffic(*(scale * one for one in seen))
    whole = replace(of, edges=edges, leasing_by_edge=scale * of.leasing_by_edge)
    return replace(flow, traffic=whole)


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    lifetime, refresh, live = (parameters[one] for one in ("lifetime", "refresh", "subscriptions"))
    x, variant = float(live), parameters["variant"]
    flow = counted(parameters, seed, variant)
    carried, digested = flow.traffic, with_digests(flow, refresh).traffic
    yield Observation("traffic", bc(lifetime, refresh), x, carried.control)
    yield Observation("traffic", digests(lifetime, refresh), x, digested.control)
    if live and variant == HIERARCHICAL:
        one = CompleteSetting(lifetime=lifetime, refresh_period=refresh)
        share = carried.control / float(complete.control(one, x))
        yield Observation("control / formula", bc(lifetime, refresh), x, share)
    published = float(carried.published.sum()) * CLASSES / parameters["classes"]
    yield Observation("traffic", SAVED, x, 1000.0 * (LINKS - carried.notifications / published))


def _messages(parameters: Parameters, seed: int) -> Iterator[Observation]:
    """The same of one class, by brokers that send every message."""
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
    line = bc(lifetime, refresh)
    yield Observation("message by message", line, x, control)
    flow = counted({**parameters, "classes": FLOW_CLASSES, "periods": 1.0}, seed, HIERARCHICAL)
    yield Observation("by messages / by flow", line, x, control / flow.traffic.control)


def _judge_messages(curves: Curves) -> list[Claim]:
    """One class is noisy, and its runs are few: the interval decides."""
    claims = []
    for line in curves.lines("by messages / by flow"):
        for one in curves.line("by messages / by flow", line):
            text = f"by messages / by flow, {line}, {one.x:,.0f} subscriptions"
            claims.append(within_interval("T3.F3", text, one, 1.0))
    return claims


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    lowest = curves.line("traffic", SAVED)[0]
    expected = float(complete.saved(CompleteSetting(), lowest.x)) - float(
        complete.publishing(CompleteSetting(), lowest.x)
    )
    text = f"saved at {lowest.x:,.0f} subscriptions, as by the formula"
    claims.append(near("T3.F2", text, lowest.mean, expected, 0.005))
    for lifetime, refresh in COMBINATIONS:
        line = bc(lifetime, refresh)
        last = curves.line("control / formula", line)[-1]
        low, high = (0.98, 3.5) if (lifetime, refresh) == (60.0, 600.0) else (0.98, 1.39)
        text = f"control / (bl + bo) at 500,000, {line}"
        is_so = low <= last.mean <= high
        why = "" if is_so else "measured before, too, at six subscriptions a leaf and class (N2)"
        claim = judged("T3.F3", text, is_so, last.mean, f"{low:g} to {high:g}", why)
        claims.append(if_printed_size(curves, claim))
    for (rate, lifetime, refresh), expected in HANDOVER.items():
        value = _meeting(curves, rate, bc(lifetime, refresh))
        text = f"curves meet, {rate}/s, {lifetime} s, {refresh} s"
        claims.append(if_printed_size(curves, near("T3.F2", text, value, expected, 0.05)))
    for lifetime, refresh in COMBINATIONS:
        last = curves.line("traffic", bc(lifetime, refresh))[-1]
        own = curves.mean("traffic", digests(lifetime, refresh), last.x)
        text = f"digests send less than leases, {last.x:,.0f} subscriptions, {lifetime:g} s, "
        claims.append(judged("own", f"{text}{refresh:g} s", own < last.mean, own, last.mean))
    return claims


def _judge_peers(curves: Curves) -> list[Claim]:
    """T3.11: with peer-to-peer routing the curves meet, too, in the same order."""
    order = list(HANDOVER)
    places = [_meeting(curves, rate, bc(lifetime, refresh)) for rate, lifetime, refresh in order]
    claims = [
        judged("T3.11", f"curves meet, {rate}/s, {lifetime} s, {refresh} s", math.isfinite(place),
               place, "somewhere")
        for (rate, lifetime, refresh), place in zip(order, places, strict=True)
    ]  # fmt: skip
    wanted = sorted(range(len(order)), key=lambda at: HANDOVER[order[at]])
    met = [at for at, place in enumerate(places) if math.isfinite(place)]
    same = sorted(met, key=lambda at: places[at])
    is_so = same == [at for at in wanted if at in same]
    text = "the curves meet in the same order as with hierarchical routing"
    claim = judged("T3.11", text, is_so, [round(places[at]) for at in same], "the same order")
    return [*claims, if_printed_size(curves, claim)]


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


def _points(
    grid: tuple[int, ...], variant: str, periods: float, classes: int = CLASSES
) -> list[Parameters]:
    return [
        {"subscriptions": count, "lifetime": lifetime, "refresh": refresh, "variant": variant,
         "periods": periods, "classes": classes}
        for lifetime, refresh in COMBINATIONS
        for count in grid
    ]  # fmt: skip


_MESSAGES: Final[list[Parameters]] = [
    {"subscriptions": count, "lifetime": lifetime, "refresh": refresh, "classes": 1}
    for lifetime, refresh in COMBINATIONS
    for count in GRID_MESSAGES
]


def _figure(name: str, title: str, y_max: float | None = None) -> Figure:
    return Figure(name, "traffic", title, "live subscriptions", "messages per second",
                  y_max=y_max, own=OWN)  # fmt: skip


def _cost(parameters: Parameters) -> float:
    """Most is done where many come and go for long."""
    return float(parameters["subscriptions"] / parameters["lifetime"] * parameters["refresh"])


_SETUP: Final = (
    "S33: complete ternary tree of five levels, clients at the leaves, identity-based routing with "
    "leases and the refresh rule that hands over; "
)

EXPERIMENTS: Final = (
    Experiment(
        name="stabilization-cost",
        title="What leases cost, and where filtering stops to pay",
        shows=("T3.F2", "T3.F3", "P1-F2"),
        setup=_SETUP + "hierarchical; all 1,000 classes, counted by the flow simulator from "
        "equilibrium for three refresh periods after two (quick: 20 classes, for half of one). "
        "Beside it what Sapwood's brokers do by default: digests.",
        quick=Size(_points(GRID, HIERARCHICAL, 0.5, FLOW_CLASSES), 1, 0.4),
        full=Size(_points(GRID, HIERARCHICAL, 3.0), 10, 60.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            _figure("T3.F2", "Figure 3.2: saved, and control traffic"),
            _figure("T3.F3", "Figure 3.3: the same, enlarged", 4000.0),
        ),
        corrections=(
            "The caption pairs bc1 and bc4 with ρ = 60 s, the prose bc1 and bc3: curves are named "
            "by lifetime and refresh period. A large μ leads to the hump, not a small one.",
        ),
        cost=_cost,
    ),
    Experiment(
        name="stabilization-cost-peers",
        title="What leases cost with peer-to-peer routing",
        shows=("T3.11",),
        setup=_SETUP + "peer-to-peer instead of hierarchical; counted by the flow simulator.",
        quick=Size(_points(GRID[1:], PEER_TO_PEER, 0.2, FLOW_CLASSES), 1, 0.4),
        full=Size(_points(GRID[1:], PEER_TO_PEER, 1.0), 5, 60.0, is_printed=True),
        measure=_measure,
        judge=_judge_peers,
        figures=(_figure("T3.11", "As Figure 3.2, with peer-to-peer routing"),),
        cost=_cost,
    ),
    Experiment(
        name="stabilization-cost-messages",
        title="What leases cost, message by message",
        shows=("T3.F3-messages",),
        setup=_SETUP + "hierarchical; one of the classes by brokers that send every message over "
        "links of 25 ms, scaled up, beside all classes by flow.",
        quick=Size(_MESSAGES, 2, 1.0),
        full=Size(_MESSAGES, 10, 6.0, is_printed=True),
        measure=_messages,
        judge=_judge_messages,
        figures=(
            Figure("T3.F3-messages", "by messages / by flow",
                   "Control traffic message by message, beside the flow simulator",
                   "live subscriptions", "ratio"),
        ),
        cost=_cost,
    ),
)  # fmt: skip
