"""Algorithms 9 to 15 as printed, on whole lists of effects."""

from __future__ import annotations

import math

import pytest

from protocol.stabilize.published.trees import printed, tell
from sapwood.protocol.stabilize.published.colour_messages import (
    Acknowledge,
    AskForPlace,
    Change,
    ChangeRequested,
    ClientPublished,
    ClientSubscribed,
    ClientUnsubscribed,
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Connect,
    Place,
    Recolor,
    Rejected,
    RequestChange,
    Send,
    Tick,
    TryThere,
)

MOVE = Change("C", "B", "R")


def test_the_root_recolours_every_period() -> None:
    root = printed("R", "", ("A", "B"))
    assert root.handle(Tick(), 0.0) == [Send("A", Recolor(2)), Send("B", Recolor(2))]
    assert (root.state.old, root.state.current, root.state.new) == (0, 1, 2)
    assert root.next_at == 30.0
    assert root.handle(Tick(), 29.9) == []


@pytest.mark.parametrize("spoilt", [math.nan, 1e9, -1e9])
def test_a_spoilt_timer_runs_out_at_once(spoilt: float) -> None:
    broker = printed("B", "R")
    broker.state.timer_at = spoilt
    assert broker.handle(Tick(), 5.0) == [Send("R", AskForPlace())]


def test_a_recolour_message_of_the_parent_is_acknowledged_and_passed_on() -> None:
    broker = printed("B", "R", ("C",))
    assert tell(broker, "R", Recolor(2), 9.0) == [
        Send("R", Acknowledge()),
        Send("C", Recolor(2)),
    ]
    assert (broker.state.old, broker.state.current, broker.state.new) == (0, 1, 2)
    assert broker.next_at == 9.0 + broker.config.timeout


def test_a_recolour_message_of_anybody_else_is_not_taken() -> None:
    broker = printed("B", "R", ("C",))
    assert tell(broker, "C", Recolor(2)) == []
    assert broker.state.current == 0


def test_a_child_that_did_not_acknowledge_is_removed() -> None:
    root = printed("R", "", ("A", "B"))
    root.handle(Tick(), 0.0)
    tell(root, "A", Acknowledge())
    tell(root, "X", Acknowledge())
    assert root.handle(Tick(), 30.0) == [Send("A", Recolor(0))]
    assert root.state.children == [{"A"}, {"A"}, {"A"}]
    assert root.state.flags == set()


def test_who_times_out_asks_from_the_root_downwards() -> None:
    broker = printed("B", "A")
    assert broker.handle(Tick(), broker.config.timeout) == [Send("R", AskForPlace())]
    assert tell(broker, "X", TryThere("Z")) == []
    assert tell(broker, "R", TryThere("C")) == [Send("C", AskForPlace())]
    assert tell(broker, "R", Place()) == []
    assert tell(broker, "C", Place()) == [Send("C", Connect())]
    assert broker.state.parent == ["A", "C", "A"]


def test_a_place_or_a_child_is_named() -> None:
    broker = printed("B", "R", ("C",))
    assert tell(broker, "X", AskForPlace()) == [Send("X", Place())]
    assert tell(broker, "X", Connect()) == []
    assert broker.state.children == [{"C"}, {"C", "X"}, {"C"}]
    [effect] = tell(broker, "Y", AskForPlace())
    assert effect in [Send("Y", TryThere("C")), Send("Y", TryThere("X"))]


def test_a_child_that_joins_is_removed_before_it_is_ever_recoloured() -> None:
    """Why nothing ever joins: algorithm 12, line 7."""
    root = printed("R", "", ("A",))
    tell(root, "X", Connect())
    assert root.handle(Tick(), 30.0) == [Send("A", Recolor(2))]
    assert "X" not in set().union(*root.state.children)


def test_a_broker_may_be_given_itself() -> None:
    """A full root names a child at random, and that may be the one who asks (algorithm 15)."""
    root = printed("R", "", ("A",), degree_max=1)
    assert tell(root, "A", AskForPlace()) == [Send("A", TryThere("A"))]
    broker = printed("A", "R")
    broker.handle(Tick(), broker.config.timeout)
    assert tell(broker, "R", TryThere("A")) == [Send("A", AskForPlace())]
    assert tell(broker, "A", AskForPlace()) == [Send("A", Place())]
    tell(broker, "A", Place())
    assert broker.state.parent[broker.state.new] == "A"


def test_a_change_goes_to_the_root_and_along_with_the_next_recolouring() -> None:
    broker, root = printed("B", "R", ("C",)), printed("R", "", ("B",))
    asked = broker.handle(ChangeRequested(MOVE), 1.0)
    assert asked == [Send("R", RequestChange(MOVE))]
    assert tell(root, "B", RequestChange(MOVE)) == []
    assert tell(broker, "X", RequestChange(MOVE)) == []
    assert root.handle(Tick(), 30.0) == [Send("B", Recolor(2, (MOVE,)))]
    assert (root.state.children, root.state.requests) == ([{"B"}, {"B"}, {"B", "C"}], [])
    assert tell(broker, "R", Recolor(2, (MOVE,))) == [
        Send("R", Acknowledge()),
        Send("C", Recolor(2, (MOVE,))),
    ]
    assert broker.state.children == [{"C"}, {"C"}, set()]
    moved = printed("C", "B")
    tell(moved, "B", Recolor(2, (MOVE,)))
    assert moved.state.parent == ["B", "B", "R"]


def test_a_contradicting_change_is_rejected_and_one_that_touches_waits() -> None:
    root = printed("R", "", ("B",))
    other, touching = Change("C", "B", "D"), Change("D", "B", "C")
    for change in (MOVE, MOVE, touching):
        assert tell(root, "B", RequestChange(change)) == []
    assert tell(root, "X", RequestChange(other)) == [Send("X", Rejected(other))]
    assert root.handle(Tick(), 30.0) == [Send("B", Recolor(2, (MOVE,)))]
    assert root.state.requests == [touching]


def test_the_root_keeps_only_so_many_changes() -> None:
    root = printed("R")
    for number in range(64):
        assert tell(root, "B", RequestChange(Change(f"X{number}", "B", "R"))) == []
    late = Change("Y", "B", "R")
    assert tell(root, "B", RequestChange(late)) == [Send("B", Rejected(late))]


@pytest.mark.parametrize(
    ("first_color", "colors"), [("new", [1]), ("current", [0]), ("both", [1, 0])]
)
def test_a_new_subscription_is_coloured_as_configured(first_color: str, colors: list[int]) -> None:
    broker = printed("B", "R", first_color=first_color)
    told = broker.handle(ClientSubscribed("c", "x", "true"), 1.0)
    assert told == [Send("R", ColoredSubscribe(color, "x", "true", 1)) for color in colors]
    again = broker.handle(ClientSubscribed("c", "x", "true", is_refresh=True), 2.0)
    assert again == [Send("R", ColoredSubscribe(1, "x", "true", 1))]


def test_an_unsubscription_is_coloured_new_and_a_notification_current() -> None:
    broker = printed("B", "R")
    gone = broker.handle(ClientUnsubscribed("c", "x"), 1.0)
    assert gone == [Send("R", ColoredUnsubscribe(1, "x", 1))]
    published = broker.handle(ClientPublished("c", 3, {"topic": 1}), 1.0)
    assert published == [Send("R", ColoredNotification(0, "c", 3, {"topic": 1}, 1))]
