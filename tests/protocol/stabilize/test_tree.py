"""One broker and its place in the tree: every beacon that comes, and all that follows from it."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from protocol.brokers import handle
from sapwood.protocol.broker import Broker, BrokerConfig
from sapwood.protocol.effects import CloseLink, Effect, Hold, Say, Send, TreeChanged
from sapwood.protocol.events import (
    BeaconReceived,
    ClientUp,
    ControlReceived,
    DelayMeasured,
    LinkDown,
    LinkUp,
    NeighbourAway,
    NeighbourBack,
    Tick,
)
from sapwood.protocol.messages import BrokerReport, Echo, Missed, Probe, Subscribe, TableComplete
from sapwood.protocol.stabilize.beacon import BEACONS, Beacon
from sapwood.protocol.stabilize.places import Place
from sapwood.protocol.stabilize.settings import TreeSettings

FEATURES = ("restart", BEACONS)
FROM_ROOT = Beacon("A", 1000, 0.0, ("A",), is_whole=True)
"""What the root A says."""
HERE = Beacon("A", 1000, 0.0, ("A", "B"), parent="A")
"""What B says that has the parent A, whose link does not carry yet."""
WHOLE = replace(HERE, carries=True, is_whole=True)
"""The same when it carries."""
CHILD = Beacon("A", 1000, 0.0, ("A", "B", "C"), parent="B")
"""What C says that has the parent B."""
AGED = 20.0
"""More seconds than any information may be old."""


def broker(*candidates: str, **settings: object) -> Broker:
    """B, with links outside the tree."""
    made = Broker(BrokerConfig(id="B", tree=TreeSettings(**settings)))  # type: ignore[arg-type]
    for name in candidates:
        made.handle(LinkUp(name, in_tree=False, features=FEATURES), 0.0)
    made.tree.pulse_at = made.tree.ticked_at = 0.0
    made.handle(Tick(), 0.0)
    return made


def hear(one: Broker, source: str, beacon: Beacon, now: float = 1.0) -> list[Effect]:
    return handle(one, BeaconReceived(source, beacon), now)


def below_root(*others: str, **settings: object) -> Broker:
    """B with the parent A, over a link that carries."""
    made = broker("A", *others, **settings)
    hear(made, "A", FROM_ROOT)
    hear(made, "A", replace(FROM_ROOT, is_carried=True))
    assert (made.tree.parent, made.tree.carries("A")) == ("A", True)
    return made


def with_child(**settings: object) -> Broker:
    """The same, and C below B."""
    made = below_root("C", **settings)
    hear(made, "C", replace(CHILD, asks=True))
    hear(made, "C", replace(CHILD, carries=True, is_carried=True, is_whole=True))
    assert made.tree.carries("C")
    return made


def says(beacon: Beacon, *names: str, **to_all: object) -> list[Effect]:
    return [Say(name, replace(beacon, **to_all)) for name in names]


# The first beacons


def test_the_first_words_at_a_link_are_a_beacon() -> None:
    made = Broker(BrokerConfig(id="B", tree=TreeSettings()))
    alone = Beacon("B", 1000, 0.0, ("B",), is_whole=True)
    assert handle(made, LinkUp("A", in_tree=False, features=FEATURES)) == [Say("A", alone)]


def test_whoever_knows_no_beacons_gets_none() -> None:
    made = Broker(BrokerConfig(id="B", tree=TreeSettings()))
    effects = handle(made, LinkUp("A", in_tree=False, features=("restart",)))
    assert effects == []
    assert hear(made, "A", FROM_ROOT) == []
    assert made.tree.offers == {}


def test_without_the_protocol_nothing_is_said() -> None:
    made = Broker(BrokerConfig(id="B"))
    assert handle(made, LinkUp("A", in_tree=False, features=FEATURES)) == []
    assert hear(made, "A", FROM_ROOT) == []
    assert handle(made, Tick(), 100.0) == []


def test_the_root_sends_a_beacon_every_period_and_nobody_else_does() -> None:
    made = broker("X")
    alone = Beacon("B", 1000, 0.0, ("B",), is_whole=True)
    assert made.next_at == 3.0
    assert handle(made, Tick(), 2.9) == []
    assert handle(made, Tick(), 3.0) == [Say("X", alone)]
    assert handle(made, Tick(), 3.1) == []
    below = below_root()
    assert not any(isinstance(one, Say) for one in handle(below, Tick(), 3.0))


def test_what_the_parent_says_is_passed_on_with_its_age() -> None:
    made = with_child()
    effects = hear(made, "A", replace(FROM_ROOT, age=0.5, is_carried=True), 4.0)
    told = replace(WHOLE, age=0.5, size=2, delay_up=0.05, is_carried=True)
    assert effects == says(told, "A", "C")


# Getting a parent


def test_a_better_root_is_taken_and_its_link_asked_for() -> None:
    """Nobody else is in this fragment, so the survey is answered at once."""
    made = broker("A", "X")
    asking = [Say("A", replace(HERE, asks=True)), Say("X", HERE)]
    assert hear(made, "A", FROM_ROOT) == [*asking, TreeChanged(), *asking]
    assert (made.tree.parent, made.tree.root, made.tree.path) == ("A", "A", ("A",))
    assert not made.neighbours.is_in_tree("A")


def test_the_link_carries_when_the_parent_lets_it() -> None:
    made = broker("A", "X")
    hear(made, "A", FROM_ROOT)
    effects = hear(made, "A", replace(FROM_ROOT, is_carried=True))
    to_parent = Say("A", replace(WHOLE, is_carried=True))
    assert effects == [
        Send("A", TableComplete()),
        TreeChanged(),
        to_parent,
        to_parent,
        Say("X", WHOLE),
    ]


def test_the_parent_lets_it_carry_when_it_is_asked_and_not_before() -> None:
    made = below_root("C")
    assert hear(made, "C", CHILD) == []
    assert not made.neighbours.is_in_tree("C")
    told = replace(WHOLE, size=2, delay_up=0.05, is_carried=True)
    assert hear(made, "C", replace(CHILD, asks=True)) == [
        Send("C", TableComplete()),
        TreeChanged(),
        Say("C", told),
    ]


def test_a_child_with_another_root_has_to_wait() -> None:
    made = below_root("C")
    other = Beacon("0", 1000, 0.0, ("0", "Z", "C"), parent="B", asks=True)
    hear(made, "C", replace(other, root="Z", path=("Z", "B", "C")))
    assert not made.neighbours.is_in_tree("C")


def test_a_child_that_has_stopped_carrying_is_held() -> None:
    made = with_child()
    effects = hear(made, "C", replace(CHILD, carries=False, asks=False, is_kept=True))
    assert effects[0] == Hold("C", is_held=True)
    assert (made.neighbours.is_in_tree("C"), made.tree.carries("C")) == (True, False)
    assert list(made.tree.kept) == ["C"]


def test_a_worse_root_changes_nothing() -> None:
    made = below_root("X")
    assert hear(made, "X", Beacon("X", 1000, 0.0, ("X",), is_whole=True)) == []
    assert made.tree.root == "A"


def test_priority_goes_before_the_id() -> None:
    made = broker("A", "X")
    hear(made, "A", FROM_ROOT)
    hear(made, "X", Beacon("X", 5, 0.0, ("X",), is_whole=True))
    assert (made.tree.root, made.tree.priority, made.tree.parent) == ("X", 5, "X")


def test_equal_priorities_are_no_quarrel() -> None:
    made = broker("A", "C", priority=5)
    hear(made, "C", Beacon("C", 5, 0.0, ("C",), is_whole=True))
    assert made.tree.parent == ""
    hear(made, "A", Beacon("A", 5, 0.0, ("A",), is_whole=True))
    assert made.tree.parent == "A"


def test_a_full_parent_is_the_last_choice() -> None:
    made = broker("C", "D")
    made.tree.offers.clear()
    way = Beacon("A", 1000, 0.0, ("A", "C"), parent="A", full=True)
    made.tree.parent = "A"  # it is gone; both ways are offered before anybody looks
    made.tree.parent = ""
    hear(made, "C", replace(way, root="C", path=("C",), priority=2000))
    hear(made, "C", way)
    assert made.tree.parent == "C"  # better than none
    other = broker("C", "D")
    for name, full in (("C", True), ("D", False)):
        other.tree.offers[name] = made.tree.offers["C"]._replace(
            beacon=replace(way, path=("A", name), full=full)
        )
    handle(other, Tick(), 1.0)
    assert other.tree.parent == "D"


def test_a_broker_with_enough_children_says_so() -> None:
    made = with_child(children_max=1)
    (said, _) = hear(made, "A", replace(FROM_ROOT, is_carried=True))
    assert isinstance(said, Say)
    assert said.beacon.full


def test_a_way_may_be_as_long_as_is_accepted_and_no_longer() -> None:
    made = broker("C", depth_max=3)
    hear(made, "C", Beacon("A", 1000, 0.0, ("A", "X", "C"), parent="X"))
    assert made.tree.parent == ""
    hear(made, "C", Beacon("A", 1000, 0.0, ("A", "C"), parent="A"))
    assert made.tree.parent == "C"


# Keeping it


def test_a_way_through_here_is_no_way() -> None:
    made = with_child()
    handle(made, NeighbourAway("A"), 2.0)
    handle(made, LinkDown("A"), 3.0)
    assert (made.tree.parent, made.tree.root) == ("", "B")


def test_parents_are_sticky() -> None:
    """Another way to the same root is not better, however short."""
    made = broker("C", "A")
    way = Beacon("A", 1000, 0.0, ("A", "X", "C"), parent="X", is_whole=True)
    hear(made, "C", way)
    hear(made, "C", replace(way, is_carried=True))
    assert hear(made, "A", FROM_ROOT) == []
    assert made.tree.parent == "C"


def test_a_way_that_does_not_carry_gives_way_to_one_that_does() -> None:
    made = with_child()
    handle(made, NeighbourAway("A"), 2.0)
    handle(made, NeighbourBack("A", in_place=False), 3.0)
    other = Beacon("A", 1000, 0.0, ("A", "Z", "C"), "Z", carries=True, is_whole=True)
    hear(made, "C", replace(other, is_carried=True), 3.1)
    assert made.tree.parent == "C"


def test_a_superfluous_link_ends() -> None:
    made = with_child()
    turned = Beacon("A", 1000, 0.0, ("A", "C"), parent="A", carries=True, is_whole=True)
    effects = hear(made, "C", replace(turned, is_carried=True))
    assert effects == [CloseLink("C", "it is no part of the tree any more")]


def test_a_link_that_may_be_the_only_one_that_carries_stays() -> None:
    made = with_child()
    turned = Beacon("A", 1000, 0.0, ("A", "C"), parent="A", carries=False, is_whole=False)
    assert hear(made, "C", replace(turned, is_carried=True)) == []
    assert made.tree.carries("C")


def test_a_better_root_of_a_candidate_waits_for_the_survey() -> None:
    """C has to answer: the news may be on its way over the tree."""
    made = with_child()
    made.handle(LinkUp("D", in_tree=False, features=FEATURES), 1.0)
    effects = hear(made, "D", Beacon("0", 1000, 0.0, ("0", "D"), parent="0", is_whole=True), 2.0)
    assert [one.destination for one in effects if isinstance(one, Send)] == ["A", "C"]
    assert (made.tree.parent, made.tree.better_since) == ("A", 2.0)
    seconds = made.tree.timing.news_seconds(made.tree.delay_tree)
    hear(made, "A", replace(FROM_ROOT, is_carried=True), 1.9 + seconds)
    assert made.tree.parent == "A"
    hear(made, "A", replace(FROM_ROOT, is_carried=True), 2.1 + seconds)
    assert (made.tree.parent, made.tree.root) == ("D", "0")


# Losing it


def test_a_candidate_takes_over_when_what_the_root_said_has_aged() -> None:
    made = below_root("C")
    hear(made, "C", Beacon("A", 1000, 0.0, ("A", "C"), parent="A", is_whole=True))
    handle(made, NeighbourAway("A"), 2.0)
    assert made.tree.parent == "A"
    handle(made, Tick(), 5.0)
    assert made.tree.parent == "A"
    hear(made, "C", Beacon("A", 1000, 0.0, ("A", "C"), parent="A", is_whole=True), 9.0)
    handle(made, Tick(), 11.5)
    assert (made.tree.parent, made.tree.root) == ("C", "A")
    assert made.neighbours.is_in_tree("A")
    assert list(made.tree.kept) == ["A"]


def test_clients_are_told_of_a_gap_when_a_child_becomes_the_parent() -> None:
    """The link to C carries all the time, so nothing else would tell that A's was replaced."""
    made = with_child()
    handle(made, ClientUp("c.1"), 1.0)
    handle(made, ControlReceived("c.1", Subscribe("1", "n >= 0")), 1.0)
    handle(made, NeighbourAway("A"), 2.0)
    effects = hear(made, "C", Beacon("0", 1000, 0.0, ("0", "C"), "0", True, is_whole=True), 3.0)
    assert made.tree.parent == "C"
    missed = Missed(0, "A-B", ("n >= 0",))
    assert [one for one in effects if isinstance(one, Send)] == [Send("c.1", missed)]


def test_without_any_offer_a_broker_is_the_root() -> None:
    made = below_root()
    handle(made, NeighbourAway("A"), 2.0)
    handle(made, Tick(), AGED)
    assert (made.tree.parent, made.tree.root, made.tree.path) == ("", "B", ())


def test_what_waits_behind_other_frames_does_not_age() -> None:
    made = below_root()
    now = 1.0
    while now < 30.0:
        now += 0.5
        handle(made, Tick(("A",)), now)
    assert made.tree.parent == "A"
    while now < 30.0 + AGED:
        now += 0.5
        handle(made, Tick(), now)
    assert made.tree.parent == ""


def test_a_lost_link_is_kept_and_goes_on_in_its_place() -> None:
    made = below_root()
    assert handle(made, NeighbourAway("A"), 2.0) == []
    assert made.tree.kept == {"A": 2.0}
    assert made.tree.place_of("A") is Place.PARENT
    told = Say("A", replace(WHOLE, age=2.0, is_carried=True))
    assert handle(made, NeighbourBack("A", in_place=True), 3.0) == [told, told]
    assert made.tree.kept == {}
    assert made.tree.carries("A")


def test_who_is_not_in_its_place_any_more_is_held_and_asks_again() -> None:
    made = below_root()
    handle(made, NeighbourAway("A"), 2.0)
    held = Say("A", replace(HERE, age=2.0, is_kept=True))
    back = handle(made, NeighbourBack("A", in_place=False), 3.0)
    assert back == [Hold("A", is_held=True), held, held]
    asking = Say("A", replace(HERE, asks=True, is_kept=True))
    assert hear(made, "A", replace(FROM_ROOT, is_kept=True), 3.1) == [asking]
    told = Say("A", replace(WHOLE, is_carried=True))
    effects = hear(made, "A", replace(FROM_ROOT, is_carried=True), 3.2)
    assert effects == [Hold("A", is_held=False), told, told]


def test_a_child_that_was_kept_is_in_its_place() -> None:
    made = with_child()
    handle(made, NeighbourAway("C"), 2.0)
    assert made.tree.places() == {"A": "parent", "C": "child"}


def test_a_neighbour_that_is_gone_for_good_is_forgotten() -> None:
    made = with_child()
    handle(made, NeighbourAway("A"), 2.0)
    handle(made, LinkDown("A"), 3.0)
    assert (made.tree.parent, made.tree.root, made.tree.kept) == ("", "B", {})
    assert "A" not in made.tree.offers


def test_nobody_is_kept_for_ever() -> None:
    made = below_root()
    handle(made, NeighbourAway("A"), 2.0)
    away = made.config.away_seconds
    assert not any(isinstance(one, CloseLink) for one in handle(made, Tick(), away))
    closed = CloseLink("A", f"it was away for {away:,.0f} s")
    assert closed in handle(made, Tick(), away + 3.0)


def test_who_is_here_by_another_way_is_kept_no_longer() -> None:
    """C answers a survey though the link to it is lost: it is here by way of A."""
    made = with_child()
    handle(made, NeighbourAway("C"), 2.0)
    now = 2.0
    probes: list[Probe] = []
    while not probes:
        now += 1.0
        hear(made, "A", replace(FROM_ROOT, is_carried=True), now)
        effects = handle(made, Tick(), now)
        messages = [one.message for one in effects if isinstance(one, Send)]
        probes = [one for one in messages if isinstance(one, Probe) and now > 12.0]
        for one in messages:
            if isinstance(one, Probe) and one not in probes:
                handle(made, ControlReceived("A", Echo("B", one.wave)), now)
    reports = (BrokerReport("A", 1, root="A"), BrokerReport("C", 1, root="A", parent="A"))
    echo = Echo("B", probes[0].wave, reports=reports)
    effects = handle(made, ControlReceived("A", echo), now)
    assert CloseLink("C", "it is part of the tree by another way") in effects


# After a restart


def restarted() -> Broker:
    config = BrokerConfig(
        id="B", session=2, expected=("A", "C"), expected_parent="A", tree=TreeSettings()
    )
    return Broker(config)


def test_a_restarted_broker_says_nothing_before_its_parent_is_back() -> None:
    made = restarted()
    assert made.tree.places() == {"A": "parent", "C": "child"}
    assert not made.tree.is_open
    effects = handle(made, LinkUp("C", features=FEATURES, place="child"), 0.0)
    assert not any(isinstance(one, Say) for one in effects)
    effects = handle(made, LinkUp("A", features=FEATURES, place="parent"), 0.5)
    assert not any(isinstance(one, Say) for one in effects)
    hear(made, "A", replace(FROM_ROOT, is_carried=True))
    assert (made.tree.parent, made.tree.root, made.tree.carries("A")) == ("A", "A", True)


def test_it_does_not_wait_for_ever() -> None:
    made = restarted()
    handle(made, LinkUp("C", features=FEATURES, place="child"), 0.0)
    now = 0.0
    while made.is_restoring:
        now += 1.0
        handle(made, Tick(), now)
    handle(made, Tick(), now + AGED)
    assert (made.tree.parent, made.tree.root) == ("", "B")


def test_whoever_has_had_no_parent_believes_the_one_that_says_it_is() -> None:
    made = Broker(BrokerConfig(id="B", session=2, tree=TreeSettings()))
    assert made.tree.is_open
    handle(made, LinkUp("A", features=FEATURES, place="parent"), 0.0)
    assert (made.tree.parent, made.tree.is_open) == ("A", False)


# What nobody should say


LIES = {
    "path without the sender": replace(FROM_ROOT, path=("A", "Z")),
    "path without the root": replace(FROM_ROOT, path=("Z", "X")),
    "no path": replace(FROM_ROOT, path=()),
    "path through the receiver": replace(FROM_ROOT, path=("A", "B", "X")),
    "path too long": Beacon("A", 1000, 0.0, ("A", *(f"P{n}" for n in range(5000)), "X")),
    "from the future": replace(FROM_ROOT, path=("A", "X"), age=-5.0),
    "no number": replace(FROM_ROOT, path=("A", "X"), age=math.nan),
    "without end": replace(FROM_ROOT, path=("A", "X"), age=math.inf),
    "below zero": Beacon("0", -1, 0.0, ("0", "X")),
    "huge": Beacon("0", 2**62, 0.0, ("0", "X"), size=2**62, delay_up=1e308, delay_tree=1e308),
    "child of everybody": replace(CHILD, path=("A", "X"), size=-(2**62), delay_up=math.nan),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_changes_nothing(lie: Beacon) -> None:
    made = with_child()
    made.handle(LinkUp("X", in_tree=False, features=FEATURES), 1.0)
    tree = made.tree
    before = (tree.parent, tree.root, tree.path, dict(tree.kept), made.neighbours.tree())
    effects = hear(made, "X", lie)
    assert [one for one in effects if not isinstance(one, Say)] == []
    handle(made, Tick(), 1.5)
    assert before == (tree.parent, tree.root, tree.path, dict(tree.kept), made.neighbours.tree())
    assert tree.timing.age_max(tree.delay_tree) < 15.0


def test_a_root_that_does_not_exist_is_forgotten_when_nobody_repeats_it() -> None:
    made = broker("X")
    hear(made, "X", Beacon("0", 0, 0.0, ("0", "X"), parent="0"))
    assert made.tree.root == "0"
    handle(made, Tick(), AGED)
    assert made.tree.root == "B"


def test_a_root_that_somebody_invents_again_and_again_is_believed_and_harms_no_link() -> None:
    """X goes on; B has the child C and is its own root. When X stops, B is the root again."""
    made = with_child()
    handle(made, LinkDown("A"), 1.0)
    handle(made, LinkUp("X", in_tree=False, features=FEATURES), 1.0)
    for now in range(2, 40):
        hear(made, "X", Beacon("0", 0, 0.0, ("0", "X"), parent="0", is_whole=True), float(now))
        hear(made, "C", replace(CHILD, root=made.tree.root, is_carried=True), float(now))
        handle(made, Tick(), now + 0.5)
    assert (made.tree.root, made.tree.parent) == ("0", "X")
    assert not made.tree.carries("X"), "it was never let in"
    assert made.tree.carries("C")
    handle(made, Tick(), 40.0 + AGED)
    assert (made.tree.root, made.tree.parent) == ("B", "")


@pytest.mark.parametrize("now", [1e6, -1e6])
def test_a_jump_of_the_clock_does_no_lasting_harm(now: float) -> None:
    """As when a process was suspended; what came before is old then, or of the future."""
    made = with_child()
    handle(made, Tick(), now)
    assert (made.tree.root, made.tree.parent) == ("B", "")
    assert made.tree.carries("C"), "links stay what they are"
    hear(made, "A", replace(FROM_ROOT, is_carried=True), now + 0.1)
    hear(made, "C", replace(CHILD, carries=True, is_carried=True, is_whole=True), now + 0.1)
    handle(made, Tick(), now + 0.5)
    assert (made.tree.root, made.tree.parent) == ("A", "A")
    assert (made.tree.carries("A"), made.tree.carries("C")) == (True, True)
    assert made.next_at is not None
    assert now < made.next_at <= now + 31.0, "nothing waits for a time of the other clock"


@pytest.mark.parametrize("size", [-(2**62), 0, 2**62])
def test_sizes_stay_within_bounds(size: int) -> None:
    made = below_root("C")
    hear(made, "C", replace(CHILD, asks=True, size=size))
    (said, *_) = hear(made, "A", replace(FROM_ROOT, is_carried=True))
    assert isinstance(said, Say)
    assert 1 <= said.beacon.size <= 10**6


@pytest.mark.parametrize("source", ["nobody", "B", "c.1"])
def test_a_beacon_of_somebody_else_is_left_out(source: str) -> None:
    made = below_root()
    assert hear(made, source, Beacon("0", 0, 0.0, ("0", source))) == []
    assert source not in made.tree.offers


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, 1e9])
def test_a_delay_that_cannot_be_is_not_measured(seconds: float) -> None:
    made = below_root()
    handle(made, DelayMeasured("A", seconds), 2.0)
    assert made.tree.delay == 0.05


def test_a_longer_delay_counts_twice_and_fades() -> None:
    made = below_root()
    handle(made, DelayMeasured("A", 1.0), 2.0)
    assert made.tree.delay == 2.0
    handle(made, DelayMeasured("A", 0.1), 3.0)
    assert made.tree.delay == pytest.approx(1.98)


# Looking


def test_the_report_and_what_is_wrong() -> None:
    made = with_child()
    assert made.tree.report() == {
        "root": "A",
        "parent": "A",
        "depth": 1,
        "kept": [],
        "size": 2,
        "delay_seconds": 0.05,
        "delay_tree_seconds": made.tree.delay_tree,
        "slowest_seconds": made.tree.delay_any,
    }
    assert list(made.tree.problems()) == []
    made.tree.parent = "Z"
    made.tree.kept["C"] = 1.0
    assert list(made.tree.problems()) == [
        "the parent Z is no neighbour",
        "C is kept, and is no link of the tree or carries",
    ]
