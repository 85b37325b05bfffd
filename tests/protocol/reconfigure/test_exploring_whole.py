"""Every interleaving of small changes, whole suites of them: for ``make test-long``.

Rings of three with every suite, of four with the order suite, of five by samples; deadlines, a
crash of each broker and each link that brings nothing, at any moment, for three. How many states
there were is in the properties of each test (``--junitxml``) and in its output (``-rP``);
docs/decisions/turning-waves.md has the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from protocol.reconfigure import suites
from protocol.reconfigure.exploring import Explorer, Setup
from protocol.reconfigure.suites import SUITES

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]

Record = Callable[[str, object], None]

TRIPLES = [(0, 1), (1, 2), (0, 2)]
"""The links of a ring of three, the new one last."""


def explore(setups: Iterable[tuple[str, Setup]], record: Record) -> None:
    """Explore setups to their ends; none of them has anything wrong."""
    wrong, count, states = [], 0, 0
    for label, setup in setups:
        found = Explorer(setup).explore()
        count, states = count + 1, states + found.states
        if found.problems or not found.is_complete:
            wrong.append(f"{label}: {found.problems[:2]}")
    record("setups", count)
    record("states", states)
    print(f"{count} setups, {states} states")
    assert count
    assert wrong == []


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("suite", sorted(SUITES))
def test_rings_of_three(suite: str, k: int, record_property: Record) -> None:
    explore(SUITES[suite](3, k), record_property)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rings_of_four(k: int, record_property: Record) -> None:
    explore(suites.order(4, k), record_property)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(("suite", "every"), [("order", 40), ("sparse", 150), ("simple", 100)])
def test_samples_of_rings_of_five(suite: str, every: int, k: int, record_property: Record) -> None:
    explore(list(SUITES[suite](5, k))[::every], record_property)


def _faulty(k: int, **fault: Any) -> list[tuple[str, Setup]]:
    return [*suites.order(3, k, **fault), *suites.sparse(3, k, **fault)]


@pytest.mark.parametrize("k", [1, 2])
def test_a_deadline_at_any_moment(k: int, record_property: Record) -> None:
    explore(_faulty(k, has_deadline=True), record_property)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("dead", [0, 1, 2])
def test_a_crash_at_any_moment(dead: int, k: int, record_property: Record) -> None:
    explore(_faulty(k, crash=dead), record_property)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("away", TRIPLES)
def test_a_link_that_brings_nothing_for_long(
    away: tuple[int, int], k: int, record_property: Record
) -> None:
    explore(_faulty(k, away=away), record_property)
