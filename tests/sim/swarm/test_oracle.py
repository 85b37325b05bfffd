"""The oracle of the swarm reads a plan rightly."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.sim.swarm.oracle import Oracle
from sapwood.sim.swarm.plan import Do, Step
from sim.swarm.planning import BEGIN, case_of, published


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
