"""A broker takes part in a change only where it is what the ring says."""

from __future__ import annotations

import pytest

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import LinkUp, NeighbourAway, Tick
from sapwood.protocol.reconfigure.fitness import misfit


def middle() -> Broker:
    broker = Broker(BrokerConfig(id="B"))
    for name in ("A", "C"):
        broker.handle(LinkUp(name), 0.0)
    broker.handle(LinkUp("D", in_tree=False), 0.0)
    return broker


def test_a_broker_between_two_neighbours_fits() -> None:
    assert misfit(middle(), ("A", "B", "C"), 1, "A") == ""
    assert misfit(middle(), ("B", "C", "D"), 1, "") == ""


@pytest.mark.parametrize(
    ("path", "k", "source", "problem"),
    [
        (("A", "B"), 1, "A", "a ring of 2 brokers; there may be 3 to 12"),
        (("A", "B", "A"), 1, "A", "the ring makes no sense"),
        (("A", "B", "C"), 3, "A", "the ring makes no sense"),
        (("A", "X", "C"), 1, "A", "the ring makes no sense"),
        (("A", "B", "C"), 1, "C", "the lock comes from somewhere else"),
        (("A", "B", "D"), 1, "A", "D is no neighbour in the tree"),
        (("B", "C", "A"), 1, "", "A is a neighbour in the tree already"),
        (("B", "C", "E"), 1, "", "there is no link to E"),
    ],
)
def test_who_does_not_fit_says_why(
    path: tuple[str, ...], k: int, source: str, problem: str
) -> None:
    assert misfit(middle(), path, k, source) == problem


def test_whoever_is_away_cannot_be_locked() -> None:
    broker = middle()
    broker.handle(NeighbourAway("C"), 0.0)
    assert misfit(broker, ("A", "B", "C"), 1, "A") == "C cannot be reached"


def test_edges_that_flood_and_others_do_not_go_together() -> None:
    broker = middle()
    broker.handle(LinkUp("C", sends="flooding", receives="covering"), 0.0)
    assert misfit(broker, ("A", "B", "C"), 1, "A") == (
        "routing: some edges of the ring flood, and others do not"
    )


def test_nobody_takes_part_over_a_link_that_is_congested() -> None:
    broker = middle()
    broker.handle(Tick(congested=("C",)), 0.0)
    assert broker.report().congested == ("C",)
    problem = "C does not keep up with what is sent to it"
    assert misfit(broker, ("A", "B", "C"), 1, "A") == problem
    broker.handle(Tick(), 1.0)
    assert misfit(broker, ("A", "B", "C"), 1, "A") == ""
