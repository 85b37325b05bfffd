"""From a hundred brokers to a hundred thousand, and what follows for an internet of them.

Two networks grow. In one the interests stay the same, a thousand classes: soon every class is
wanted in most of it, and filtering is flooding. In the other every class has ten subscribers,
however large the network is: what a broker carries then grows with the length of ways only. Random
trees whose brokers have links to earlier ones are some log(n) deep.

Classes exclude each other, so a few are counted and stand for all. Up to the largest size the flow
simulator runs beside the formula; beyond, a straight line over the logarithm of the size is drawn
on, and a formula for a tree ten times as large says how far it may be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final

from sapwood.analysis.traffic import Rates, predict, rooted_tree, uniform_rates
from sapwood.analysis.traffic.tree import RootedTree
from sapwood.experiments.claims import Claim, fit, judged, not_judged, within_interval
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.sim.flow import traffic

FIXED, GROWING = "1,000 classes", "ten subscribers for each class"
WORLDS: Final = (FIXED, GROWING)
MEASURES: Final = ("notifications", "changes", "entries")
CLASSES: Final = 1000
SUBSCRIBERS: Final = 10
"""Of a class, in the network whose interests grow; and subscriptions at a broker in both."""

LIFETIME: Final = 600.0
PUBLISHED: Final = 0.1
"""Notifications a second that the clients of a broker publish."""

COUNTED_CLASSES: Final = 20
PUBLICATIONS_MIN: Final = 4000
SECONDS_MIN: Final = 2 * LIFETIME
"""So long it goes on at least, and until so many publications are counted."""

RARE: Final = (
    "when a class that nobody wanted for a moment is wanted again, everybody is told: so seldom, "
    "and so many messages, that the interval of a few runs says little"
)
SIZES: Final = (100, 1000, 10_000, 100_000)
BEYOND: Final = 1_000_000
INTERNET: Final = 1e9


def grown_tree(brokers: int, random: Random) -> RootedTree:
    """Every broker comes as a leaf, at any earlier one."""
    links = [(f"B{random.randrange(at) + 1}", f"B{at + 1}") for at in range(1, brokers)]
    return rooted_tree(links, "B1")


def rates_of(tree: RootedTree, world: str) -> tuple[Rates, float]:
    """A few classes, and how many times as many there are."""
    brokers = len(tree.brokers)
    classes = CLASSES if world == FIXED else brokers
    counted = min(classes, COUNTED_CLASSES)
    whole = uniform_rates(
        tree, subscriptions=SUBSCRIBERS * brokers, lifetime=LIFETIME,
        publication_rate=PUBLISHED * brokers, classes=classes, clients_at_leaves=False,
    )  # fmt: skip
    return replace(whole, copies=counted), classes / counted


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    brokers = parameters["brokers"]
    tree = grown_tree(brokers, Random(f"scale {brokers} {seed}"))
    x = float(brokers)
    for world in WORLDS:
        found, scale = rates_of(tree, world)
        formula = predict(found, "identity")
        for measure in MEASURES:
            value = scale * float(getattr(formula, measure)) / brokers
            yield Observation(measure, f"{world}, formula", x, value)
        if brokers > SIZES[-1]:
            continue
        seconds = max(SECONDS_MIN, PUBLICATIONS_MIN / found.publications)
        flow = traffic(found, "identity", seconds=seconds, seed=seed % 2**63).traffic
        for measure in MEASURES:
            counted = float(getattr(flow, measure))
            yield Observation(measure, world, x, scale * counted / brokers)
            ratio = counted / float(getattr(formula, measure))
            yield Observation("flow / formula", f"{measure}, {world}", 0.0, ratio)


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for name in curves.lines("flow / formula"):
        point = curves.at("flow / formula", name)
        text = f"flow / formula over all sizes, {name}"
        claim = within_interval("scale", text, point, 1.0)
        if name.startswith("changes"):
            claim = not_judged("scale", text, 1.0, RARE, claim.value)
        claims.append(claim)
    line = curves.line("notifications", f"{GROWING}, formula")
    slope, _, straight = fit([(math.log10(one.x), one.mean) for one in line])
    text = "notifications a broker carries grow with the logarithm of the network"
    claims.append(judged("scale", text, straight >= 0.95, f"R² {straight:.4f}", "R² ≥ 0.95"))
    value = line[-1].mean + slope * (math.log10(INTERNET) - math.log10(line[-1].x))
    why = "drawn on along that line; ten subscribers for each class, 0.1 publications/s a broker"
    text = "notifications/s that a broker carries among a billion brokers"
    claims.append(not_judged("scale", text, "reported", why, value))
    entries = curves.line("entries", f"{GROWING}, formula")
    why = "without advertisements every broker knows of every class: entries grow with the network"
    share = [one.mean / one.x for one in entries]
    is_so = max(share) / min(share) < 1.5
    claims.append(judged("scale", "entries of a broker / brokers, largest / smallest", is_so,
                         max(share) / min(share), "< 1.5", why))  # fmt: skip
    text = "entries that a broker has among a billion brokers, as many times as there are brokers"
    claims.append(not_judged("scale", text, "reported", why, share[-1]))
    flood = curves.line("notifications", f"{FIXED}, formula")[-1]
    text = f"1,000 classes, {flood.x:,.0f} brokers: share of flooding that is carried"
    why = "the larger the network, the more of it wants each class"
    claims.append(not_judged("scale", text, "reported", why, flood.mean / (PUBLISHED * flood.x)))
    return claims


def _points(*sizes: int) -> list[Parameters]:
    return [{"brokers": one} for one in sizes]


EXPERIMENTS: Final = (
    Experiment(
        name="scale",
        title="From a hundred brokers to a hundred thousand, and beyond",
        shows=("scale",),
        setup="Random trees, identity-based peer-to-peer routing, ten subscriptions at a broker "
        "that last 600 s, 0.1 publications/s; 20 classes are counted by flow for 4,000 "
        "publications and stand for all; a million brokers by formula only. Quick: up to 10,000.",
        quick=Size(_points(*SIZES[:3]), 6, 0.3),
        full=Size(_points(*SIZES, BEYOND), 5, 10.0, is_printed=True),
        measure=_measure,
        judge=_judge,
        figures=(
            Figure("scale", "notifications", "Notifications that a broker carries", "brokers",
                   "links passed a second, by broker", x_log=True, y_log=True),
            Figure("scale-entries", "entries", "Entries of a broker", "brokers",
                   "entries, by broker", x_log=True, y_log=True),
        ),
        cost=lambda parameters: parameters["brokers"],
    ),
)  # fmt: skip
