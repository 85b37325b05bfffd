"""Whatever a fault did to what a broker knows for moving links: it does no lasting harm."""

from __future__ import annotations

from random import Random

import pytest

from expecting import expect_none
from sapwood.protocol.invariants import broker_problems
from sapwood.protocol.optimize.decision import DECISIONS_MAX
from sapwood.testing.perturbing import kinds, perturb, walk
from testing.specimens import ROM, SETTINGS, Specimen, optimizing

CLASSES = frozenset(
    {
        "Surroundings",
        "Swapping",
        "Traffic",
        "Bucket",
        "Costs",
        "LinkMeter",
        "PairCost",
        "Told",
        "Probing",
        "Measuring",
        "Proposal",
        "Promise",
        "Watched",
        "Backoff",
        "Decision",
    }
)
HEALED: float = 2 * SETTINGS.audit_seconds + 2 * SETTINGS.refresh_seconds


def unsound(specimen: Specimen) -> list[str]:
    """What is wrong with a broker after a fault, when its time has passed."""
    specimen.run(HEALED)
    broker = specimen.broker
    swapping, surroundings = broker.swapping, broker.surroundings
    problems = broker_problems(broker)
    swapping.report()
    surroundings.report()
    if len(swapping.decisions) > DECISIONS_MAX:
        problems.append(f"{len(swapping.decisions)} decisions")
    if swapping.proposal is not None or swapping.promise is not None:
        problems.append("it waits for a swap that nobody makes")
    if surroundings.measuring or surroundings.probing:
        problems.append("it waits for a cost that nobody tells")
    if not specimen.now <= swapping.decide_at <= specimen.now + 2.0:
        problems.append(f"it decides at {swapping.decide_at}, and it is {specimen.now}")
    if sorted(swapping.since) != sorted(broker.neighbours.tree()):
        problems.append(f"it counts for {sorted(swapping.since)}")
    return problems


def test_without_a_fault_there_is_nothing_wrong() -> None:
    expect_none(unsound(optimizing()))


@pytest.mark.parametrize(
    ("part", "parts"),
    [
        pytest.param(0, 8, marks=pytest.mark.slow),
        *(pytest.param(part, 8, marks=pytest.mark.long) for part in range(1, 8)),
    ],
)
def test_one_place_at_a_time(part: int, parts: int) -> None:
    todo = [
        kind
        for kind, place in kinds(walk(optimizing().broker, ROM))
        if place.field.split(".")[0] in CLASSES
    ]
    assert len(todo) > 80
    problems: list[str] = []
    for kind in todo[part::parts]:
        specimen = optimizing()
        place = dict(kinds(walk(specimen.broker, ROM)))[kind]
        done = perturb(place, Random(f"{kind}"))
        if done is not None:
            problems += [f"{kind}, {done}: {one}" for one in unsound(specimen)]
    expect_none(problems)
