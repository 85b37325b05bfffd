"""Cases of the swarm: a seed gives one, of every kind there is, and it is valid."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.routing.algorithms import FLOODING, check_edge_routing
from sapwood.sim.swarm.case import draw_case
from sapwood.sim.swarm.oracle import Oracle
from sapwood.sim.swarm.plan import TELLING, Case, Do, Variant, components


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [draw_case(seed) for seed in range(150)]


def test_a_seed_gives_one_case() -> None:
    assert draw_case(5) == draw_case(5)
    assert draw_case(5) != draw_case(6)


@pytest.mark.slow
def test_every_kind_of_case_is_drawn(cases: list[Case]) -> None:
    assert {case.variant for case in cases} == set(Variant)
    assert {case.advertisements_required for case in cases} == {True, False}
    assert {case.is_cut for case in cases} == {True, False}
    assert {case.replaces for case in cases} == {True, False}
    assert {case.has_one_attribute for case in cases} == {True, False}
    assert {step.do for case in cases for step in case.steps} == set(Do)
    assert {len(case.topology.brokers) for case in cases} == set(range(2, 17))
    mixed = Counter(name for case in cases for name in case.mix.values())
    assert set(mixed) == {FLOODING, *TELLING}
    assert any(Oracle(case).expiring() for case in cases)


@pytest.mark.parametrize("seed", range(40))
def test_routing_is_valid_and_links_form_no_cycle(seed: int) -> None:
    case = draw_case(seed)
    for algorithm in (FLOODING, *case.algorithms()):
        check_edge_routing(case.routing(algorithm))
    links = list(case.topology.links)
    for step in case.steps:
        if step.do is Do.CUT:
            links.remove(step.link)
        elif step.do is Do.JOIN:
            parts = components(case.topology.brokers, links)
            assert parts[step.link[0]] != parts[step.link[1]]
            links.append(step.link)
