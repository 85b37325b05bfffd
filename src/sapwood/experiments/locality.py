"""Where filtering pays more than in the thesis' setting: interests that are not spread evenly.

T3.19: every class is wanted in one third of the tree only (001; thesis 3.6). T3.20: clients at the
leaves alone, spread evenly, are the worst case. T3.21: everybody wants everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from sapwood.analysis.traffic import (
    HIERARCHICAL,
    Rates,
    Traffic,
    complete_tree,
    predict,
    rates,
)
from sapwood.analysis.traffic.arrays import Floats
from sapwood.analysis.traffic.complete import CompleteSetting
from sapwood.experiments.claims import Claim, judged
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.experiments.traffic_curves import GRID, RATE, SUBSCRIPTIONS

CLASSES: Final = 1000
TREE: Final = complete_tree(3, 5)
LEAVES: Final = np.array(TREE.is_leaf, dtype=float)
NEVER_ENDING: Final = 1e9
"""So many subscriptions that every table is full."""

UNIFORM, THIRD, ANYWHERE, ZIPF, EVERYWHERE = (
    "leaves, evenly",
    "one third of the leaves",
    "all brokers, evenly",
    "leaves, by Zipf's law",
    "everybody wants everything",
)
SETTINGS: Final = {"1000/s, 600 s": (1000.0, 600.0), "100/s, 60 s": (100.0, 60.0)}
REFRESH: Final = 60.0


def placed(weights: Floats, subscriptions: float, rate: float, lifetime: float) -> Rates:
    """Subscriptions by a weight for each broker; publications from all leaves."""
    live = weights / weights.sum() * (subscriptions / CLASSES)
    published = LEAVES * (rate / LEAVES.sum() / CLASSES)
    return rates(
        TREE,
        arrival_rate=(live / lifetime)[:, None],
        departure_rate=1 / lifetime,
        publication_rate=published[:, None],
        copies=CLASSES,
    )


def weights_of(line: str) -> Floats:
    """How much each broker has of a class."""
    weights = LEAVES.copy()
    if line == THIRD:
        first = np.zeros_like(LEAVES)
        first[1] = 1.0
        for broker in range(2, len(TREE.brokers)):
            first[broker] = first[TREE.parents[broker]] if TREE.parents[broker] > 0 else 0.0
        weights *= first
    elif line == ZIPF:
        weights[LEAVES > 0] = 1 / np.arange(1.0, LEAVES.sum() + 1)
    elif line != UNIFORM:
        weights[:] = 1.0
    return weights


def gain_of(found: Rates) -> float:
    """Messages per second less than with flooding."""
    return predict(found, "flooding").total - filtered(found).total


def filtered(found: Rates) -> Traffic:
    """What identity-based routing with leases carries."""
    return predict(found, "identity", HIERARCHICAL, refresh_period=REFRESH)


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    name = parameters["setting"]
    rate, lifetime = SETTINGS[name]
    for line in (UNIFORM, THIRD, ANYWHERE, ZIPF):
        weights = weights_of(line)
        for count in (*GRID[1:], NEVER_ENDING):
            found = placed(weights, count, rate, lifetime)
            measure = f"gain, {name}" if count < NEVER_ENDING else f"limit, {name}"
            yield Observation(measure, line, count if count < NEVER_ENDING else 0.0, gain_of(found))
    if name != next(iter(SETTINGS)):
        return
    for line in (UNIFORM, ANYWHERE, ZIPF):
        at = placed(weights_of(line), 100_000.0, rate, lifetime)
        traffic = filtered(at)
        for measure, value in (
            ("gain at 100,000", gain_of(at)),
            ("notifications at 100,000", traffic.notifications),
            ("leasing at 100,000", traffic.leasing),
        ):
            yield Observation(measure, line, 0.0, value)
        later = filtered(placed(weights_of(line), 300_000.0, rate, lifetime))
        yield Observation("toggles at 300,000", line, 0.0, later.changes)
    everywhere = placed(weights_of(EVERYWHERE), NEVER_ENDING, rate, lifetime)
    traffic = filtered(everywhere)
    yield Observation("notifications", EVERYWHERE, 0.0, traffic.notifications)
    yield Observation("gain", EVERYWHERE, 0.0, gain_of(everywhere))


def _judge(curves: Curves) -> list[Claim]:
    claims = []
    for name, expected in zip(SETTINGS, (76_667, 7_067), strict=True):
        value = curves.mean(f"limit, {name}", THIRD)
        text = f"limit of the gain where a third is interested, {name}"
        claims.append(judged("T3.19", text, round(value) == expected, value, expected))
        least = min(one.mean for one in curves.line(f"gain, {name}", THIRD))
        text = f"filtering pays for every number of subscriptions, {name}"
        claims.append(judged("T3.19", text, least > 0, least, "> 0"))
        text = f"limit where interests are spread evenly, {name}"
        even = curves.mean(f"limit, {name}", UNIFORM)
        claims.append(judged("T3.19", text, round(even) == -2000, even, -2000))
    claims += [_worst_case(curves, measure) for measure in ("gain", "notifications", "leasing")]
    for line, expected in ((UNIFORM, 22_216), (ANYWHERE, 34_460)):
        value = curves.mean("gain at 100,000", line)
        text = f"gain at 100,000, {line}"
        claims.append(judged("T3.20", text, round(value) == expected, value, expected))
    toggles = [curves.mean("toggles at 300,000", line) for line in (UNIFORM, ANYWHERE, ZIPF)]
    claims.append(
        judged(
            "T3.20",
            "toggles alone are not highest for leaves, evenly",
            toggles[0] < min(toggles[1:]) and [round(one) for one in toggles[:2]] == [25, 56],
            toggles,
            [25, 56, 73],
        )
    )
    flooding = CompleteSetting().flooding
    value = curves.mean("notifications", EVERYWHERE)
    is_so = value >= flooding * (1 - 1e-9)
    claims.append(judged("T3.21", "everything goes everywhere", is_so, value, flooding))
    value = curves.mean("gain", EVERYWHERE)
    claims.append(judged("T3.21", "filtering never pays", value <= 0, value, "≤ 0"))
    return claims


def _worst_case(curves: Curves, measure: str) -> Claim:
    values = [curves.mean(f"{measure} at 100,000", line) for line in (UNIFORM, ANYWHERE, ZIPF)]
    is_least = measure == "gain"
    is_so = values[0] < min(values[1:]) if is_least else values[0] > max(values[1:])
    word = "lowest" if is_least else "highest"
    return judged("T3.20", f"{measure} {word} for leaves, evenly", is_so, values, word)


_SIZE: Final = Size(tuple({"setting": name} for name in SETTINGS), 1, 0.2, is_printed=True)

EXPERIMENTS: Final = (
    Experiment(
        name="locality",
        title="Interests that are not spread evenly",
        shows=("T3.19", "T3.20", "T3.21", "P1.3"),
        setup="The recursion for arbitrary trees on a complete ternary tree of five levels, 1,000 "
        "classes, refresh period 60 s: a class wanted below one child of the root only, at the "
        "leaves, at all brokers, at the leaves by Zipf's law, everywhere.",
        quick=_SIZE,
        full=_SIZE,
        measure=_measure,
        judge=_judge,
        figures=tuple(
            Figure(
                f"locality-{number}",
                f"gain, {name}",
                f"Gain over flooding, {name}",
                SUBSCRIPTIONS,
                RATE,
            )
            for number, name in enumerate(SETTINGS, start=1)
        ),
    ),
)
