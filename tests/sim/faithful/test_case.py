"""Cases of the faithful swarm: complete, possible, and drawn from the seed alone."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.sim.faithful.case import FAULTS, Case, Do, draw_case


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [draw_case(seed) for seed in range(150)]


def test_a_seed_makes_one_case() -> None:
    assert draw_case(5) == draw_case(5)
    assert draw_case(5) != draw_case(6)


def test_every_edge_is_dialled_by_somebody_who_can(cases: list[Case]) -> None:
    for case in cases:
        assert len(case.edges) == len(case.brokers) - 1
        for left, right in case.edges:
            diallers = [a for a, b in ((left, right), (right, left)) if b in case.joins[a]]
            assert diallers
            dialled = [b for a, b in ((left, right), (right, left)) if b in case.joins[a]]
            assert not set(dialled) & set(case.hidden)


def test_steps_are_in_order_and_before_the_calm(cases: list[Case]) -> None:
    for case in cases:
        times = [step.at for step in case.steps]
        assert times == sorted(times)
        assert times[-1] <= case.calm_at
        assert {step.do for step in case.calm} == {Do.PUBLISH}


def test_there_are_cases_of_every_kind(cases: list[Case]) -> None:
    kinds = Counter(step.do for case in cases for step in case.faults)
    assert set(kinds) == set(FAULTS)
    assert any(case.hidden for case in cases)
    assert any(case.is_lossless and list(case.faults) for case in cases)
    assert any(len(client.brokers) > 1 for case in cases for client in case.clients)
    assert any(case.has_crash for case in cases)
    both = [edge for case in cases for edge in case.edges if _both_dial(case, *edge)]
    assert both


def _both_dial(case: Case, left: str, right: str) -> bool:
    return right in case.joins[left] and left in case.joins[right]


def test_a_case_is_described() -> None:
    assert draw_case(2).describe().startswith(f"{len(draw_case(2).brokers)} brokers, ")
