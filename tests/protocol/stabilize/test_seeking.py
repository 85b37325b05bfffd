"""Looking for brokers by addresses that were heard of."""

from __future__ import annotations

import math

import pytest

from protocol.brokers import handle
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, OpenLink, Send
from sapwood.protocol.events import (
    BeaconReceived,
    ControlReceived,
    LinkUp,
    NeighbourAway,
    Tick,
)
from sapwood.protocol.messages import BrokerReport, Echo, Probe
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.protocol.stabilize.seeking import BOOK_MAX, LEARN_SOON_SECONDS, Seeking
from sapwood.protocol.stabilize.settings import TreeSettings

FEATURES = ("restart", BEACONS)


def seeking_of(broker: Broker) -> Seeking:
    (found,) = (one for one in broker.machines if isinstance(one, Seeking))
    return found


def broker() -> Broker:
    """B below the hub A, with a neighbour C."""
    made = Broker(BrokerConfig(id="B", tree=TreeSettings()))
    made.handle(LinkUp("A", features=FEATURES, addresses=("tcp://a:1",), place="parent"), 0.0)
    made.handle(BeaconReceived("A", Beacon("A", 1000, 0.0, ("A",), is_whole=True)), 0.0)
    return made


def survey(made: Broker, now: float) -> list[Probe]:
    effects = handle(made, Tick(), now)
    return [
        one.message
        for one in effects
        if isinstance(one, Send) and isinstance(one.message, Probe) and one.message.survey
    ]


def test_a_neighbour_says_where_it_is() -> None:
    made = broker()
    assert seeking_of(made).book == {"A": ("tcp://a:1",)}


def test_nobody_keeps_its_own_address_or_none() -> None:
    seeking = seeking_of(broker())
    seeking.learn("B", ("tcp://b:1",))
    seeking.learn("D", ())
    assert list(seeking.book) == ["A"]


def test_the_book_ends_somewhere() -> None:
    seeking = seeking_of(broker())
    for number in range(BOOK_MAX + 5):
        seeking.learn(f"X{number}", ("tcp://x:1",))
    assert len(seeking.book) == BOOK_MAX
    assert "X0" not in seeking.book
    assert f"X{BOOK_MAX + 4}" in seeking.book


def test_a_survey_tells_the_addresses_of_the_others() -> None:
    made = broker()
    assert survey(made, 1.0) == []
    (probe,) = survey(made, LEARN_SOON_SECONDS)
    there = BrokerReport("D", 1, addresses=("tcp://d:1",))
    echo = Echo(probe.origin, probe.wave, session=probe.session, reports=(there,))
    assert not any(
        isinstance(one, OpenLink) for one in handle(made, ControlReceived("A", echo), 5.1)
    )
    assert seeking_of(made).book["D"] == ("tcp://d:1",)


def test_when_the_hub_is_away_for_long_others_are_dialled_one_at_a_time() -> None:
    made = broker()
    seeking = seeking_of(made)
    seeking.learn("D", ("tcp://d:1",))
    seeking.learn("E", ("tcp://e:1",))
    handle(made, NeighbourAway("A"), 1.0)
    dialled: list[str] = []
    now = 1.0
    while now < 80.0:
        now += 0.5
        dialled += [one.broker for one in handle(made, Tick(), now) if isinstance(one, OpenLink)]
        if now < 9.0:
            assert dialled == []
    assert dialled[:4] == ["A", "D", "E", "A"]
    assert 3 <= len(dialled) <= 6


def test_a_link_to_the_same_tree_is_closed_again() -> None:
    made = broker()
    seeking = seeking_of(made)
    seeking.sought["D"] = 0.0
    made.handle(LinkUp("D", in_tree=False, features=FEATURES), 1.0)
    made.handle(BeaconReceived("D", Beacon("A", 1000, 0.0, ("A", "D"), parent="A")), 1.0)
    assert not any(isinstance(one, CloseLink) for one in handle(made, Tick(), 2.0))
    made.handle(BeaconReceived("A", Beacon("A", 1000, 0.0, ("A",), is_whole=True)), 6.9)
    assert CloseLink("D", "it leads to the same tree") in handle(made, Tick(), 7.0)
    assert seeking.sought == {}


@pytest.mark.parametrize("at", [math.inf, math.nan, 1e9])
def test_a_time_that_makes_no_sense_stops_nothing(at: float) -> None:
    made = broker()
    seeking_of(made).seek_at = at
    assert len(survey(made, 6.0)) == 1


def test_without_a_link_nobody_is_asked() -> None:
    made = Broker(BrokerConfig(id="B", tree=TreeSettings()))
    seeking = seeking_of(made)
    handle(made, Tick(), 100.0)
    assert seeking.seek_at is None


def test_the_report() -> None:
    made = broker()
    assert seeking_of(made).report() == {"addresses": 1, "sought": []}
    assert seeking_of(made).state() == {"book": {"A": ["tcp://a:1"]}, "sought": {}}
