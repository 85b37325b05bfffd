"""Every interleaving of small changes, with the real brokers: a sample here, the rest by hand."""

from __future__ import annotations

from itertools import islice

import pytest

from protocol.reconfigure import suites
from protocol.reconfigure.exploring import Explorer, Found, Setup
from protocol.reconfigure.suites import SUITES

pytestmark = pytest.mark.slow


def explored(setups: list[Setup]) -> list[Found]:
    found = [Explorer(setup).explore() for setup in setups]
    assert [one.problems for one in found if one.problems] == []
    assert all(one.is_complete for one in found)
    return found


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("suite", sorted(SUITES))
def test_rings_of_three(suite: str, k: int) -> None:
    setups = [setup for _, setup in SUITES[suite](3, k)]
    explored(setups[:: max(1, len(setups) // 3)][:3])


def test_the_states_of_one_ring_are_counted() -> None:
    (setup,) = islice((one for _, one in suites.order(3, 2)), 5, 6)
    (found,) = explored([setup])
    assert found.states > 1000
    assert found.ends > 1


def test_a_deadline_at_any_moment() -> None:
    explored([one for _, one in islice(suites.sparse(3, 2, has_deadline=True), 10, 14)])


@pytest.mark.parametrize("dead", [0, 1, 2])
def test_a_crash_at_any_moment(dead: int) -> None:
    explored([one for _, one in islice(suites.sparse(3, 2, crash=dead), 10, 12)])


@pytest.mark.parametrize("away", [(0, 1), (1, 2), (0, 2)])
def test_a_link_that_brings_nothing_for_long(away: tuple[int, int]) -> None:
    explored([one for _, one in islice(suites.sparse(3, 2, away=away), 10, 12)])


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
def test_rings_of_four(k: int) -> None:
    explored([one for _, one in list(suites.sparse(4, k))[::40]])
