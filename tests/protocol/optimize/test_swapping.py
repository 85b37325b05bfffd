"""The broker in the middle decides, asks both others, and lets the exchange begin."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.optimize.middle import Middle, decision, told
from sapwood.protocol.effects import Effect, Send
from sapwood.protocol.events import LinkDown
from sapwood.protocol.optimize.costs import PairCost
from sapwood.protocol.optimize.messages import (
    LinkCost,
    LinkProbe,
    Neighbourhood,
    SwapAnswer,
    SwapCancelled,
    SwapPropose,
)
from sapwood.protocol.optimize.surroundings import Room
from sapwood.protocol.optimize.traffic import Bucket
from sapwood.protocol.reconfigure.messages import BeginChange, ChangeEnded

X = ("sapwood://x:1",)


def said(effects: list[Effect]) -> list[Effect]:
    """All but what is told regularly."""
    return [
        one
        for one in effects
        if not isinstance(one, Send) or not isinstance(one.message, Neighbourhood)
    ]


def measured(**values: Any) -> Middle:
    """A sends to b by way of v; a link between them would cost 1, and all is known and counted."""
    middle = Middle("a", "b", **values)
    middle.hear("a", slots=0)
    middle.hear("b")
    middle.want("b", "x = 1")
    middle.pass_on("a", 400, x=1)
    middle.broker.surroundings.ask("a", "b", 0.0)
    middle.tell("a", LinkCost(1, "b", 1.0, linked=True))
    return middle


def proposing() -> tuple[Middle, list[Effect]]:
    middle = measured()
    for _ in range(60):
        effects = said(middle.wait(0.5))
        if effects:
            return middle, effects
    raise AssertionError("nothing was proposed")


def test_both_others_are_asked_and_then_the_exchange_begins() -> None:
    middle, asked = proposing()
    (found,) = middle.broker.swapping.decisions
    assert (found.mover, found.onto, found.outcome) == ("a", "b", "proposed")
    seconds = found.window
    rate = 400 / seconds
    assert found.gain == pytest.approx(rate * (5 - 1) + rate * (1 + 2))
    numbers = (found.moved, found.joint, found.gain, found.sigma, found.score - found.threshold)
    proposal = SwapPropose("v.1/s1", "a", "b", *numbers, X, "", 5.0)
    assert asked == [Send("a", proposal), Send("b", proposal)]
    assert middle.tell("b", SwapAnswer("v.1/s1")) == []
    begun = middle.tell("a", SwapAnswer("v.1/s1"))
    wanted = BeginChange("v", -1_000_001, ("b", "v", "a"), 2, ("v", "b"), ("b", "v"), X)
    assert begun == [Send("b", wanted)]
    middle.bring(LinkDown("a"))
    ended = ChangeEnded("v", -1_000_001, "completed", change="b.1/1")
    assert said(middle.tell("b", ended)) == []
    assert (found.outcome, found.exchange) == ("completed", "b.1/1")
    assert middle.broker.swapping.gain_predicted == found.gain


def test_links_without_a_cost_are_left_alone() -> None:
    """Costs are given, and the one of b is missing."""
    middle = measured(link_costs=(("a", 5.0), ("c", 1.0)))
    told = [one for one in said(middle.wait(60.0)) if isinstance(one, Send)]
    assert told == []
    assert middle.broker.swapping.decisions == []
    assert middle.broker.swapping.considered is None


@pytest.mark.parametrize("source", ["a", "b"])
def test_if_one_refuses_both_are_told_and_it_is_left_for_longer_each_time(source: str) -> None:
    middle, _ = proposing()
    effects = middle.tell(source, SwapAnswer("v.1/s1", "undialable"))
    cancelled = SwapCancelled("v.1/s1")
    assert effects == [Send("a", cancelled), Send("b", cancelled)]
    (found,) = middle.broker.swapping.decisions
    assert (found.outcome, found.reason) == ("refused", f"{source}: undialable")
    backoff = middle.broker.swapping.backoffs["a", "b"]
    assert (backoff.until, backoff.periods) == (middle.now + 20.0, 2)
    middle.pass_on("a", 400, x=1)
    again = said(middle.wait(19.0))
    assert not any(isinstance(one.message, SwapPropose) for one in again if isinstance(one, Send))
    proposals = said(middle.wait(14.0))
    assert [one.destination for one in proposals if isinstance(one, Send)] == ["a", "b"]
    middle.tell(source, SwapAnswer("v.1/s2", "undialable"))
    assert middle.broker.swapping.backoffs["a", "b"].periods == 4


def test_whoever_is_locked_is_asked_again_in_the_next_period() -> None:
    """That says nothing of the swap: it is not left for longer, and costs none of the changes."""
    middle, _ = proposing()
    tokens = middle.broker.swapping.tokens
    for number in range(1, 4):
        middle.tell("a", SwapAnswer(f"v.1/s{number}", "locked"))
        backoff = middle.broker.swapping.backoffs["a", "b"]
        assert (backoff.until, backoff.periods) == (middle.now + 5.0, 1)
        assert middle.broker.swapping.tokens >= tokens
        waited = 0.0
        while middle.broker.swapping.proposal is None:
            middle.wait(0.5)
            waited += 0.5
        assert 5.0 <= waited <= 12.5


def test_a_swap_that_is_only_proposed_gives_way_to_one_that_gains_more() -> None:
    middle, _ = proposing()
    (own,) = middle.broker.swapping.decisions
    assert asked(middle, gain=own.gain - 1) == [Send("a", SwapAnswer("a.1/s1", "locked"))]
    assert own.outcome == "proposed"
    cancelled = SwapCancelled("v.1/s1")
    assert asked(middle, gain=own.gain + 1) == [
        Send("a", cancelled),
        Send("b", cancelled),
        Send("a", SwapAnswer("a.1/s1")),
    ]
    assert (own.outcome, own.reason) == ("refused", "a better one came")
    assert middle.broker.swapping.proposal is None
    assert middle.broker.swapping.promise is not None


def test_a_swap_that_was_agreed_to_gives_way_to_nothing() -> None:
    middle, _ = proposing()
    middle.tell("b", SwapAnswer("v.1/s1"))
    middle.tell("a", SwapAnswer("v.1/s1"))
    assert asked(middle, gain=1e5) == [Send("a", SwapAnswer("a.1/s1", "locked"))]


def test_what_room_costs_is_known_from_whoever_has_none() -> None:
    """Else it would be asked again and again."""
    middle, _ = proposing()
    middle.tell("b", SwapAnswer("v.1/s1", "full", 1e5))
    assert middle.broker.surroundings.told["b"].message.slot_price == 1e5
    assert said(middle.wait(20.0)) == []
    (proposed, _) = said(middle.tell("b", told()))
    assert isinstance(proposed, Send)
    assert isinstance(proposed.message, SwapPropose), "as soon as there is room"


def test_nobody_is_waited_for_for_ever() -> None:
    middle, _ = proposing()
    effects = said(middle.wait(5.0))
    assert effects == [Send("a", SwapCancelled("v.1/s1")), Send("b", SwapCancelled("v.1/s1"))]
    assert middle.broker.swapping.proposal is None


def test_where_only_is_observed_nothing_is_sent() -> None:
    middle = measured(mode="observe")
    assert said(middle.wait(60.0)) == []
    (found,) = middle.broker.swapping.decisions
    assert (found.mover, found.onto, found.outcome) == ("a", "b", "observed")
    assert middle.broker.swapping.counts["observed"] == 1


def test_costs_that_are_missing_are_asked_for() -> None:
    middle = Middle("a", "b")
    middle.hear("a", "b")
    middle.want("b", "x = 1")
    middle.pass_on("a", 400, x=1)
    (asked,) = said(middle.wait(30.0))
    assert asked == Send("a", LinkProbe(1, "b", X))


def test_so_many_changes_a_minute_and_no_more() -> None:
    swapping = Middle(changes_per_minute=6.0, changes_burst=2).broker.swapping
    assert [swapping._take_token(at) for at in (0, 0, 0, 9, 10, 10)] == [1, 1, 0, 0, 1, 0]


# Limits of the middle


@pytest.mark.parametrize(
    "limits",
    [
        {"forbidden": (("b", "a"),)},
        {"pinned": ("a",)},
        {"pinned": ("b",)},
        {"pinned": ("v",)},
        {"gain_min": 1e6},
    ],
)
def test_limits_are_kept_by_the_middle(limits: dict[str, Any]) -> None:
    assert said(measured(**limits).wait(40.0)) == []


@pytest.mark.parametrize(
    "news", [{"pinned": True}, {"slots": 0}, {"slots": 0, "slot_price": 1e5}, {"addresses": ()}]
)
def test_what_neighbours_tell_is_regarded(news: dict[str, Any]) -> None:
    middle = measured()
    middle.hear("a", slots=0, addresses=news.get("addresses", X))
    middle.hear("b", **news)
    assert said(middle.wait(40.0)) == []


# Being asked


def asked(middle: Middle, **values: Any) -> list[Effect]:
    usual: dict[str, Any] = {"change": "a.1/s1", "mover": "d", "onto": "v", "addresses": X}
    return said(middle.tell("a", SwapPropose(**{**usual, **values})))


def test_who_agrees_is_locked_until_it_is_over() -> None:
    middle = Middle()
    assert asked(middle) == [Send("a", SwapAnswer("a.1/s1"))]
    assert asked(middle, change="a.1/s2") == [Send("a", SwapAnswer("a.1/s2", "locked"))]
    middle.tell("b", SwapCancelled("a.1/s1"))  # b has nothing to say about it
    assert middle.broker.swapping.promise is not None
    middle.tell("a", SwapCancelled("a.1/s1"))
    assert asked(middle, change="a.1/s3") == [Send("a", SwapAnswer("a.1/s3"))]
    middle.wait(61.0)
    assert middle.broker.swapping.promise is None


@pytest.mark.parametrize(
    ("limits", "proposed", "reason"),
    [
        ({"mode": "observe"}, {}, "observe"),
        ({"pinned": ("v",)}, {}, "pinned"),
        ({"pinned": ("d",)}, {}, "pinned"),
        ({"forbidden": (("d", "v"),)}, {}, "forbidden"),
        (
            {"forbidden": (("zone:east", "v"),), "zones": (("east", 1.0),)},
            {"zone": "east"},
            "forbidden",
        ),
        ({}, {"mover": "x", "onto": "y"}, "forbidden"),
        ({"degree_max": 3}, {}, "full"),
        ({"changes_burst": 1}, {}, ""),
    ],
)
def test_limits_are_kept_by_the_others(
    limits: dict[str, Any], proposed: dict[str, Any], reason: Any
) -> None:
    middle = Middle(**limits)
    assert asked(middle, **proposed) == [Send("a", SwapAnswer("a.1/s1", reason))]


def test_too_many_changes_are_refused() -> None:
    middle = Middle(changes_burst=1)
    asked(middle)
    middle.tell("a", SwapCancelled("a.1/s1"))
    assert asked(middle, change="a.1/s2") == [Send("a", SwapAnswer("a.1/s2"))], "none was made"
    middle.broker.swapping.promise = None
    assert asked(middle, change="a.1/s3") == [Send("a", SwapAnswer("a.1/s3", "rate"))]


def test_a_busy_broker_takes_nobody() -> None:
    middle = Middle(costs="measured", link_costs=())
    surroundings = middle.broker.surroundings
    surroundings.processing, surroundings.utilisation = 1.0, 0.5
    less = asked(middle, moved=250.0, joint=100.0)
    assert less == [Send("a", SwapAnswer("a.1/s1"))]
    middle.tell("a", SwapCancelled("a.1/s1"))
    more = asked(middle, moved=350.0, joint=100.0)
    assert more == [Send("a", SwapAnswer("a.1/s1", "utilisation"))]
    lie = asked(middle, moved=float("nan"))
    assert lie == [Send("a", SwapAnswer("a.1/s1", "utilisation"))]


def test_room_is_made_by_whoever_is_paid_for_it() -> None:
    middle = Middle("a", "b", "c", degree_max=3)
    middle.hear("a", "b", "c")
    middle.wait(12.0)
    middle.broker.surroundings.ask("b", "c", middle.now)
    middle.tell("b", LinkCost(1, "c", 1.0))
    middle.broker.surroundings.rooms = [Room(0.5, "a", "c"), Room(0.7, "b", "c")]
    full = SwapAnswer("a.1/s1", "full", 0.7)
    assert asked(middle, pay=0.6) == [Send("a", full)]
    effects = asked(middle, pay=0.8)
    assert effects[0] == Send("a", full)
    proposals = [one.message for one in effects[1:] if isinstance(one, Send)]
    assert [type(one) for one in proposals] == [SwapPropose, SwapPropose]
    (found,) = middle.broker.swapping.decisions
    assert (found.mover, found.onto, found.reason) == ("b", "c", "to make room for a")
    middle.bring(LinkDown("b"))
    slots = middle.broker.surroundings.slots
    assert (slots("a", middle.now), slots("c", middle.now)) == (1, 0), "it is for whoever paid"
    assert slots("c", middle.now + 41.0) == 1


# Faults


def test_spoilt_costs_of_links_that_might_be_are_not_believed() -> None:
    """In the joint swarm (seed 107) a cost of -3 moved a link to and fro for ever."""
    surroundings = Middle().broker.surroundings
    for cost in (-3.0, float("nan"), float("inf"), 1e7):
        surroundings.heard["a", "b"] = PairCost(cost, 0.0, linked=True)
        assert surroundings.pair_cost("a", "b", 1.0) is None
    surroundings.in_use("b", "a", 4.0, 1.0)
    assert surroundings.pair_cost("a", "b", 1.0) == 4.0
    surroundings.in_use("b", "a", -4.0, 1.0)
    assert surroundings.pair_cost("a", "b", 1.0) == 4.0


def test_counts_of_a_time_to_come_are_dropped_though_the_broker_is_locked() -> None:
    """In the joint swarm (seed 115) they were counted with when their time had come."""
    middle = Middle()
    asked(middle)
    assert middle.broker.swapping.promise is not None
    spoilt = Bucket(middle.now + 40.0, {("a", "b"): [10**6, 10**6]})
    middle.broker.swapping.traffic.buckets.append(spoilt)
    middle.wait(25.0)
    assert middle.broker.swapping.promise is not None
    assert all(one.begin <= middle.now for one in middle.broker.swapping.traffic.buckets)
    assert ("a", "b") not in middle.sets


def test_the_last_decisions_are_remembered() -> None:
    swapping = Middle().broker.swapping
    for number in range(70):
        swapping._keep(decision(at=float(number)))
    assert [one.at for one in swapping.decisions] == [float(number) for number in range(6, 70)]


def test_answers_to_something_else_change_nothing() -> None:
    middle, _ = proposing()
    before = middle.broker.swapping.state()
    for source, change in (("c", "v.1/s1"), ("a", "v.1/s9"), ("b", "")):
        assert middle.tell(source, SwapAnswer(change)) == []
        assert middle.tell(source, SwapCancelled(change)) == []
    assert middle.tell("b", ChangeEnded("v", -1_000_009, "completed")) == []
    assert middle.broker.swapping.state() == before
