"""The example of 5.4.3, and the constants of the evaluation (Tables 5.1 and 5.2).

Three brokers, eleven notifications: the cheapest links make the dearest tree, what is shared most
makes a better one, and cost with interest the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from sapwood.analysis.delivery.cost import Delivery, Prices, delivery_tree
from sapwood.analysis.overlay import (
    associativity_by_history,
    exhaustive,
    local_search,
    maximum_interest_tree,
    minimum_spanning_tree,
    situation,
    tree_cost,
)
from sapwood.analysis.traffic.tree import rooted_tree
from sapwood.experiments.claims import Claim, near
from sapwood.experiments.curves import Curves, Observation
from sapwood.experiments.experiment import Experiment, Figure, Parameters, Size
from sapwood.protocol.optimize.published.settings import HeuristicSettings
from sapwood.sim.optimizing.setup import TICK_SECONDS, SetupParameters

EXAMPLES: Final = ((3, 1, 0, 5, 3, 6), (4, 1, 1, 4, 2, 5), (5, 1, 2, 3, 1, 4), (6, 1, 3, 2, 0, 3))
"""p1, p2, p3, c12, c13, c23: all whole numbers that fit; the print gives none."""

TREES: Final = {
    "cheapest links (MST)": 129.0,
    "most shared (MIT)": 119.0,
    "one exchange from it (CI)": 113.0,
    "best of all trees": 113.0,
}
CONSTANTS: Final = {
    ("T5-T5.1", "brokers"): 100.0,
    ("T5-T5.1", "jobs"): 50.0,
    ("T5-T5.1", "subscribers of a job"): 9.0,
    ("T5-T5.1", "ticks between publications"): 5.0,
    ("T5-T5.1", "ticks between reassignments"): 2500.0,
    ("T5-T5.2", "ticks between broadcasts"): 250.0,
    ("T5-T5.2", "update interval: 250 + 3·10 + 1"): 281.0,
    ("T5-T5.2", "horizon"): 3.0,
    ("T5-T5.2", "cache: 18·256"): 4608.0,
    ("T5-T5.2", "bits of the filter: 12 an id"): 55_296.0,
    ("T5-T5.2", "hash functions"): 7.0,
}


def _measure(parameters: Parameters, seed: int) -> Iterator[Observation]:
    for number, numbers in enumerate(EXAMPLES):
        for line, value in zip(TREES, _costs(numbers), strict=True):
            yield Observation("cost", line, float(number), value)
    path = rooted_tree([("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B5")], "B1")
    brokers, _ = delivery_tree(path, ("B2", "B5"))
    yield Observation("delivery tree", "brokers", 0.0, float(len(brokers)))
    for (_, text), value in zip(CONSTANTS, _constants(), strict=True):
        yield Observation("constant", text, 0.0, value)


def _costs(numbers: tuple[int, ...]) -> tuple[float, ...]:
    p1, p2, p3, c12, c13, c23 = numbers
    links = np.array([[0, c12, c13], [c12, 0, c23], [c13, c23, 0]], dtype=float)
    prices = Prices(("B1", "B2", "B3"), np.array([p1, p2, p3], dtype=float), links)
    around = situation(
        prices,
        [
            Delivery(("B2", "B1", "B3"), 5.0),
            Delivery(("B2", "B3"), 5.0),
            Delivery(("B1", "B2"), 1.0),
        ],
    )
    minimum = minimum_spanning_tree(around)
    interest = maximum_interest_tree(around, associativity_by_history(around))
    return (
        tree_cost(around, minimum),
        tree_cost(around, interest),
        local_search(around, interest).cost,
        exhaustive(around).cost,
    )


def _constants() -> tuple[float, ...]:
    setup, heuristic = SetupParameters(), HeuristicSettings()
    return (
        setup.brokers,
        setup.jobs,
        setup.subscribers,
        setup.publication_interval,
        setup.reassignment_interval,
        heuristic.broadcast_interval / TICK_SECONDS,
        heuristic.update_interval / TICK_SECONDS,
        heuristic.horizon,
        heuristic.cache_size,
        heuristic.filter_bits,
        heuristic.hashes,
    )


def _judge(curves: Curves) -> list[Claim]:
    claims = [
        near(
            "T5.2",
            f"{line}, prices {number + 1} of {len(EXAMPLES)}",
            curves.mean("cost", line, float(number)),
            expected,
        )
        for number in range(len(EXAMPLES))
        for line, expected in TREES.items()
    ]
    claims.append(
        near(
            "T5.1", "brokers of B2 … B5's delivery tree", curves.mean("delivery tree", "brokers"), 4
        )
    )
    claims += [
        near(claim_id, text, curves.mean("constant", text), expected)
        for (claim_id, text), expected in CONSTANTS.items()
    ]
    return claims


_SIZE: Final = Size(({},), 1, 0.1, is_printed=True)

EXPERIMENTS: Final = (
    Experiment(
        name="cost-example",
        title="Three trees for three brokers, and the constants of the evaluation",
        shows=("T5.1", "T5.2", "T5-T5.1", "T5-T5.2", "example-5.4.3"),
        setup="B2 publishes ten notifications for B3, five of them for B1 too; B1 publishes one "
        "for B2. All whole prices that give the printed costs.",
        quick=_SIZE,
        full=_SIZE,
        measure=_measure,
        judge=_judge,
        figures=(
            Figure(
                "cost-example",
                "cost",
                "Example 5.4.3: cost of eleven notifications",
                "",
                "cost",
                is_bars=True,
                own=("best of all trees",),
            ),
        ),
        corrections=(
            "The dearest link is B2-B3, not B1-B3, and the text names the brokers inconsistently.",
        ),
    ),
)
