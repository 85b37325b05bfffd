"""Who is linked and connected to a broker, and who is told of it."""

from __future__ import annotations

import pytest

from protocol.brokers import new_broker
from sapwood.protocol.broker import Broker
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import CloseLink, Effect, Hold
from sapwood.protocol.events import (
    ClientBack,
    ClientDown,
    ClientUp,
    Event,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
)
from sapwood.protocol.machine import Machine

TOLD = (
    "link_up",
    "link_down",
    "link_away",
    "link_back",
    "line_up",
    "line_lost",
    "neighbour_gone",
    "client_up",
    "client_back",
    "client_down",
)


class Listener(Machine):
    """Notes what machines are told."""

    name = "listener"

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.told: list[str] = []
        for what in TOLD:
            setattr(self, what, self._noting(what))

    def _noting(self, what: str):  # type: ignore[no-untyped-def]
        def note(name: str, now: float) -> list[Effect]:
            self.told.append(f"{what} {name}")
            return []

        return note


def listened() -> tuple[Broker, list[str]]:
    broker = new_broker()
    listener = Listener(broker)
    broker.machines = (*broker.machines, listener)
    return broker, listener.told


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([LinkUp("X")], ["link_up X"]),
        ([LinkUp("X"), LinkDown("X")], ["link_up X", "link_down X", "neighbour_gone X"]),
        ([NeighbourAway("N")], ["link_away N", "line_lost N"]),
        ([NeighbourAway("N"), NeighbourAway("N")], ["link_away N", "line_lost N", "line_lost N"]),
        (
            [NeighbourAway("N"), NeighbourBack("N")],
            ["link_away N", "line_lost N", "link_back N", "line_up N"],
        ),
        (
            [NeighbourAway("N"), NeighbourBack("N", in_place=False)],
            ["link_away N", "line_lost N", "link_away N", "line_up N"],
        ),
        ([ClientUp("e.1"), ClientDown("e.1")], ["client_up e.1", "client_down e.1"]),
        ([ClientBack("c.1")], []),
        ([NeighbourAway("nobody"), NeighbourBack("nobody")], []),
    ],
)
def test_machines_are_told_of_what_happens(events: list[Event], told: list[str]) -> None:
    broker, found = listened()
    for event in events:
        broker.handle(event, 0.0)
    assert found == told


@pytest.mark.parametrize(
    ("event", "drop"),
    [
        (LinkUp("B"), Drop.LINK_IMPOSSIBLE),
        (LinkUp("c.1"), Drop.LINK_IMPOSSIBLE),
        (LinkDown("nobody"), Drop.LINK_UNKNOWN),
        (ClientUp("N"), Drop.CLIENT_TWICE),
        (ClientUp("c.1"), Drop.CLIENT_TWICE),
        (ClientDown("nobody"), Drop.CLIENT_UNKNOWN),
    ],
)
def test_what_cannot_be_is_dropped_and_nobody_is_told(event: Event, drop: Drop) -> None:
    broker, told = listened()
    broker.handle(event, 0.0)
    assert (dict(broker.drops.counts), told) == ({drop: 1}, [])


def test_links_of_the_tree_are_held_go_on_and_leave_as_the_tree_says() -> None:
    broker, told = listened()
    assert broker.hold_link("N", 0.0)[0] == Hold("N", is_held=True)
    assert broker.is_held("N")
    assert broker.resume_link("N", 0.0)[0] == Hold("N", is_held=False)
    broker.stand_aside("N", 0.0)
    assert not broker.neighbours.is_in_tree("N")
    broker.enter_tree("N", 0.0)
    assert told == ["link_away N", "link_back N", "link_down N", "link_up N"]
    assert broker.leave_tree("N", "superfluous", 0.0) == [CloseLink("N", "superfluous")]
