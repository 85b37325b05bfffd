"""What a broker knows of its part of the tree, and what it says of it."""

from __future__ import annotations

from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.events import BeaconReceived, LinkUp, NeighbourAway
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.protocol.stabilize.places import Place
from sapwood.protocol.stabilize.settings import StabilizationSettings, TreeSettings
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN

FEATURES = ("restart", BEACONS)


def below(parent: str = "A", **config: object) -> Broker:
    """B with a parent and a child C, over links that carry."""
    made = Broker(BrokerConfig(id="B", tree=TreeSettings(), **config))  # type: ignore[arg-type]
    made.handle(LinkUp(parent, features=FEATURES, place="parent"), 0.0)
    made.handle(LinkUp("C", features=FEATURES, place="child"), 0.0)
    said = Beacon(parent, 1000, 0.5, (parent,), is_carried=True, is_whole=True, delay_tree=0.7)
    made.handle(BeaconReceived(parent, said), 1.0)
    child = Beacon(parent, 1000, 0.5, (parent, "B", "C"), "B", carries=True, size=3, delay_up=0.2)
    made.handle(BeaconReceived("C", child), 1.0)
    return made


def test_a_beacon_says_how_the_tree_is_from_here() -> None:
    assert below().tree.beacon(2.0) == Beacon(
        root="A",
        priority=1000,
        age=1.5,
        path=("A", "B"),
        parent="A",
        carries=True,
        is_whole=True,
        size=4,
        delay_up=0.2 + DELAY_SECONDS_MIN,
        delay_tree=0.7,
    )


def test_the_root_knows_the_longest_way() -> None:
    made = Broker(BrokerConfig(id="A", tree=TreeSettings()))
    for name, delay in (("B", 0.1), ("C", 0.3), ("D", 0.2)):
        made.handle(LinkUp(name, features=FEATURES, place="child"), 0.0)
        child = Beacon("A", 1000, 0.0, ("A", name), "A", carries=True, delay_up=delay)
        made.handle(BeaconReceived(name, child), 0.0)
    assert made.tree.delay_tree == 0.3 + 0.2 + 2 * DELAY_SECONDS_MIN


def test_places_are_those_from_before_an_outage() -> None:
    made = below()
    assert made.tree.places() == {"A": "parent", "C": "child"}
    made.handle(NeighbourAway("A"), 2.0)
    made.handle(NeighbourAway("C"), 2.0)
    assert made.tree.places() == {"A": "parent", "C": "child"}
    made.tree.adopted_at = 3.0  # it became the parent since: nothing is as it was
    assert made.tree.place_of("A") is Place.NONE


def test_after_a_restart_they_are_those_that_were_remembered() -> None:
    config = BrokerConfig(id="B", tree=TreeSettings(), expected=("A", "C"), expected_parent="A")
    tree = Broker(config).tree
    assert tree.places() == {"A": "parent", "C": "child"}
    assert (tree.is_open, tree._awaits_parent()) == (False, True)
    assert Broker(BrokerConfig(id="B", tree=TreeSettings())).tree.is_open


def test_delays_are_as_set_or_as_measured() -> None:
    made = below()
    assert made.tree.delay == DELAY_SECONDS_MIN
    made.neighbours["C"].delay = 0.4
    assert made.tree.delay == 0.4
    settings = StabilizationSettings(refresh="off", delay_max=1.5)
    assert below(stabilization=settings).tree.delay == 1.5


def test_it_says_what_is_wrong_and_changes_nothing() -> None:
    made = below()
    assert list(made.tree.problems()) == []
    made.tree.parent = "Z"
    made.tree.kept = {"C": 1.0}
    before = made.tree.state()
    assert list(made.tree.problems()) == [
        "the parent Z is no neighbour",
        "C is kept, and is no link of the tree or carries",
    ]
    assert made.tree.state() == before
    report = made.tree.report()
    assert {key: report[key] for key in ("root", "parent", "depth", "kept")} == {
        "root": "A",
        "parent": "Z",
        "depth": 1,
        "kept": ["C"],
    }
