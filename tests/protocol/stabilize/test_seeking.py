"""Looking for brokers by addresses that were heard of."""

from __future__ import annotations

import math

import pytest

from protocol.brokers import handle
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, OpenLink, SaveBook, Send
from sapwood.protocol.events import (
    BeaconReceived,
    ControlReceived,
    LinkUp,
    NeighbourAway,
    Tick,
)
from sapwood.protocol.messages import BrokerReport, Echo, Probe
from sapwood.protocol.ports import Hint
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.protocol.stabilize.book import BOOK_MAX, BOOK_SECONDS, Known
from sapwood.protocol.stabilize.seeking import (
    LEARN_SOON_SECONDS,
    SAVE_SECONDS,
    SAVE_SOON_SECONDS,
    Seeking,
)
from sapwood.protocol.stabilize.settings import TreeSettings

FEATURES = ("restart", BEACONS)
FROM_HUB = Beacon("A", 1000, 0.0, ("A",), is_carried=True, is_whole=True)


def seeking_of(broker: Broker) -> Seeking:
    (found,) = (one for one in broker.machines if isinstance(one, Seeking))
    return found


def broker() -> Broker:
    """B below the hub A, with a neighbour C."""
    made = Broker(BrokerConfig(id="B", tree=TreeSettings()))
    made.handle(LinkUp("A", features=FEATURES, addresses=("tcp://a:1",), place="parent"), 0.0)
    made.handle(BeaconReceived("A", FROM_HUB), 0.0)
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
    assert seeking_of(made).book == {"A": Known(("tcp://a:1",), 0.0)}


def test_nobody_keeps_its_own_address_or_none() -> None:
    seeking = seeking_of(broker())
    seeking.learn("B", ("tcp://b:1",), 0.0)
    seeking.learn("D", (), 0.0)
    assert list(seeking.book) == ["A"]


def test_the_book_ends_somewhere() -> None:
    seeking = seeking_of(broker())
    for number in range(BOOK_MAX + 5):
        seeking.learn(f"X{number}", ("tcp://x:1",), 0.0)
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
    assert seeking_of(made).book["D"].addresses == ("tcp://d:1",)


def test_when_the_hub_is_away_for_long_others_are_dialled_one_at_a_time() -> None:
    made = broker()
    seeking = seeking_of(made)
    seeking.learn("D", ("tcp://d:1",), 0.0)
    seeking.learn("E", ("tcp://e:1",), 0.0)
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
    made.handle(BeaconReceived("A", FROM_HUB), 6.9)
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
    assert seeking_of(made).state() == {
        "book": {"A": ["tcp://a:1"]},
        "sought": {},
        "awaited": [],
    }


# What outlives a restart


def saved(made: Broker, now: float) -> list[tuple[Hint, ...]]:
    return [one.hints for one in handle(made, Tick(), now) if isinstance(one, SaveBook)]


def test_the_book_is_saved_when_it_says_something_new_and_now_and_then() -> None:
    made = broker()
    assert saved(made, 1.0) == [(Hint("A", ("tcp://a:1",), 1.0),)]
    seeking_of(made).learn("D", ("tcp://d:1",), 2.0)
    assert saved(made, 2.0) == [], "not so soon again"
    (hints,) = saved(made, 1.0 + SAVE_SOON_SECONDS)
    assert [one.broker for one in hints] == ["A", "D"]
    seeking_of(made).learn("A", ("tcp://a:1",), 20.0)
    assert saved(made, 21.0) == [], "nothing but a time"
    (hints,) = saved(made, 7.0 + SAVE_SECONDS)
    assert [one.broker for one in hints] == ["D", "A"]


def restarted(age: float = 60.0) -> Broker:
    """B after a restart, which had the hub A and had heard of D."""
    hints = (Hint("D", ("tcp://d:1",), age), Hint("A", ("tcp://a:1",), age))
    config = BrokerConfig(
        id="B", tree=TreeSettings(), expected=("A",), expected_parent="A", book=hints
    )
    return Broker(config)


def dialled(made: Broker, seconds: float) -> list[str]:
    now, found = 0.0, []
    while now < seconds:
        found += [one.broker for one in handle(made, Tick(), now) if isinstance(one, OpenLink)]
        now += 0.5
    return found


def test_a_restarted_broker_whose_hub_does_not_come_back_dials_whom_it_had_heard_of() -> None:
    made = restarted()
    patience = made.tree.patience
    assert dialled(made, patience - 1.0) == []
    assert set(dialled(made, 100.0)) == {"A", "D"}


def test_what_was_heard_long_ago_is_not_believed() -> None:
    assert dialled(restarted(BOOK_SECONDS + 1.0), 100.0) == []
    assert dialled(restarted(-1.0), 100.0) == []


def test_a_restarted_broker_whose_hub_is_back_dials_nobody() -> None:
    made = restarted()
    made.handle(LinkUp("A", features=FEATURES, addresses=("tcp://a:1",), place="parent"), 0.0)
    seeking = seeking_of(made)
    for number in range(100):
        made.handle(BeaconReceived("A", Beacon("A", 1000, 0.0, ("A",), is_whole=True)), number)
        effects = handle(made, Tick(), float(number))
        assert not any(isinstance(one, OpenLink) for one in effects)
    assert (seeking.awaited, sorted(seeking.book)) == ({}, ["A", "D"])


def test_who_is_not_back_is_looked_for_as_long_as_somebody_is_kept() -> None:
    config = BrokerConfig(id="B", tree=TreeSettings(), expected=("A",), away_seconds=50.0)
    made = Broker(config)
    dialled(made, 60.0)
    assert seeking_of(made).awaited == {}


@pytest.mark.parametrize("since", [math.inf, math.nan, 1e9])
def test_since_when_somebody_is_missing_is_clamped(since: float) -> None:
    made = restarted()
    seeking_of(made).awaited["A"] = since
    assert "D" in dialled(made, 100.0)
