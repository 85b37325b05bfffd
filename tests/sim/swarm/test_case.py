"""Cases of the swarm: everything in them is possible, and the oracle reads a plan rightly."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from sapwood.protocol.tree import Topology
from sapwood.routing.algorithms import FLOODING, check_edge_routing
from sapwood.sim.swarm.case import (
    TELLING,
    Case,
    Do,
    Oracle,
    Step,
    Variant,
    components,
    draw_case,
)
from sapwood.sim.topology.delays import ConstantDelay

CASES = [draw_case(seed) for seed in range(150)]


def case_of(*steps: Step, advertisements: bool = False) -> Case:
    """Two brokers, a second apart at most, and these steps."""
    return Case(
        seed=1,
        topology=Topology(("A", "B"), (("A", "B"),)),
        delay=ConstantDelay(0.5),
        variant=Variant.PEER_TO_PEER,
        root="A",
        mix={},
        advertisements_required=advertisements,
        advertisement_algorithm="simple",
        settle=1.0,
        phases=(steps,),
        links_ever=(("A", "B"),),
    )


def published(at: float, expires_at: float = 0.0) -> Step:
    return Step(at, Do.PUBLISH, "P", attributes={"n": 1}, expires_at=expires_at)


BEGIN = (
    Step(0, Do.CONNECT, "P", "A"),
    Step(0, Do.CONNECT, "S", "B"),
    Step(0, Do.SUBSCRIBE, "S", "1", "n = 1"),
)


# --- drawing --------------------------------------------------------------------------------


def test_a_seed_gives_one_case() -> None:
    assert draw_case(5) == draw_case(5)
    assert draw_case(5) != draw_case(6)


def test_every_kind_of_case_is_drawn() -> None:
    assert {case.variant for case in CASES} == set(Variant)
    assert {case.advertisements_required for case in CASES} == {True, False}
    assert {case.is_cut for case in CASES} == {True, False}
    assert {case.replaces for case in CASES} == {True, False}
    assert {case.has_one_attribute for case in CASES} == {True, False}
    assert {step.do for case in CASES for step in case.steps} == set(Do)
    assert {len(case.topology.brokers) for case in CASES} == set(range(2, 17))
    mixed = Counter(name for case in CASES for name in case.mix.values())
    assert set(mixed) == {FLOODING, *TELLING}
    assert any(Oracle(case).expiring() for case in CASES)


@pytest.mark.parametrize("case", CASES[:40], ids=lambda case: str(case.seed))
def test_a_plan_can_be_done(case: Case) -> None:
    connected: dict[str, set[str]] = {}
    last = 0.0
    for step in case.steps:
        assert step.at >= last
        last = step.at
        if step.do is Do.CONNECT:
            assert step.client not in connected
            connected[step.client] = set()
        elif step.do is Do.DISCONNECT:
            del connected[step.client]
        elif step.do in (Do.SUBSCRIBE, Do.ADVERTISE):
            connected[step.client].add(step.name)
        elif step.do in (Do.UNSUBSCRIBE, Do.UNADVERTISE):
            connected[step.client].remove(step.name)
        elif step.do is Do.PUBLISH:
            assert step.client in connected


@pytest.mark.parametrize("case", CASES[:40], ids=lambda case: str(case.seed))
def test_routing_is_valid_and_links_form_no_cycle(case: Case) -> None:
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


def test_in_the_last_phase_nothing_changes_but_publishers() -> None:
    for case in CASES:
        assert {step.do for step in case.phases[-1]} <= {Do.CONNECT, Do.ADVERTISE, Do.PUBLISH}


def test_a_case_describes_itself() -> None:
    assert case_of(*BEGIN).describe() == (
        "2 brokers, peer-to-peer, advertisements off, 3 steps, fixed tree"
    )


# --- the oracle -----------------------------------------------------------------------------


def expected(*steps: Step, advertisements: bool = False) -> set[tuple[str, int, str]]:
    return Oracle(case_of(*BEGIN, *steps, advertisements=advertisements)).expected()


def test_what_is_published_once_a_subscription_has_settled_is_expected() -> None:
    assert expected(published(0.9), published(1.0), published(2.0)) == {
        ("P", 2, "S"),
        ("P", 3, "S"),
    }


def test_what_does_not_match_is_not() -> None:
    other = msgspec.structs.replace(published(2.0), attributes={"n": 2})
    assert expected(other) == set()


@pytest.mark.parametrize(
    "end",
    [
        Step(3.0, Do.UNSUBSCRIBE, "S", "1"),
        Step(3.0, Do.DISCONNECT, "S"),
        Step(3.0, Do.SUBSCRIBE, "S", "1", "n = 2"),
    ],
)
def test_what_is_published_just_before_the_end_is_not(end: Step) -> None:
    assert expected(published(1.9), published(2.1), end, published(4.5)) == {("P", 1, "S")}


def test_subscribing_again_changes_nothing() -> None:
    again = Step(1.5, Do.SUBSCRIBE, "S", "1", "n = 1")
    assert expected(again, published(1.6)) == {("P", 1, "S")}


def test_a_tree_that_changes_obliges_nobody() -> None:
    cut, join = Step(3, Do.CUT, link=("A", "B")), Step(6, Do.JOIN, link=("A", "B"))
    steps = (
        published(1.5),
        published(2.5),
        cut,
        published(4.5),
        join,
        published(6.5),
        published(7),
    )
    assert expected(*steps) == {("P", 1, "S"), ("P", 5, "S")}


def test_what_is_under_way_when_a_link_comes_back_elsewhere_is_known() -> None:
    """Half of a settling time is as long as anything can be under way."""
    cut, join = Step(3, Do.CUT, link=("A", "B")), Step(6, Do.JOIN, link=("A", "B"))
    steps = (published(2.9), cut, published(5.4), published(5.5), published(6), join, published(6))
    case = case_of(*BEGIN, *steps, published(6.1))
    assert Oracle(case).moved() == set()  # it comes back as it was: nothing goes over it twice
    elsewhere = msgspec.structs.replace(case, links_ever=(("A", "B"), ("B", "A")))
    assert Oracle(elsewhere).moved() == {("P", 3), ("P", 4), ("P", 5)}


def test_what_expires_soon_obliges_nobody() -> None:
    steps = (published(2, expires_at=2.5), published(3, expires_at=9))
    assert expected(*steps) == {("P", 2, "S")}
    assert Oracle(case_of(*BEGIN, *steps)).expiring() == {("P", 1): 2.5}


def test_an_advertisement_has_to_settle_too() -> None:
    offer = Step(1, Do.ADVERTISE, "P", "1", "n > 0")
    end = Step(3, Do.UNADVERTISE, "P", "1")
    steps = (published(0.5), offer, published(1.5), published(2.5), end, published(3.5))
    assert expected(*steps, advertisements=True) == {("P", 3, "S")}


def test_parts_of_a_network() -> None:
    parts = components(("A", "B", "C"), [("A", "B")])
    assert parts["A"] == parts["B"] != parts["C"]
