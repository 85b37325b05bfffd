"""Subscriptions and notifications keep to the topology and the table of their colour."""

from __future__ import annotations

import pytest

from protocol.stabilize.published.trees import config
from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.colour_messages import (
    ColoredNotification,
    ColoredSubscribe,
    ColoredUnsubscribe,
    Deliver,
    Send,
)
from sapwood.protocol.stabilize.published.colour_parts import ColourState
from sapwood.protocol.stabilize.published.coloured_routing import ColouredRouting

WANT = "topic = 1"


def routing(is_hierarchical: bool = True) -> ColouredRouting:
    """A broker below A in colour 0, below Z in colour 1, with the children C and D."""
    state = ColourState(parent=["A", "Z", ""], children=[{"C", "D"}, {"C"}, set()])
    return ColouredRouting(config("B", is_hierarchical=is_hierarchical), state, Filter)


def note(color: int = 0, topic: int = 1, hops: int = 0) -> ColoredNotification:
    return ColoredNotification(color, "P", 7, {"topic": topic}, hops)


@pytest.mark.parametrize(("color", "parent"), [(0, "A"), (1, "Z")])
def test_a_subscription_goes_up_in_its_colour(color: int, parent: str) -> None:
    one = routing()
    effects = one.subscribe("C", ColoredSubscribe(color, "x", WANT))
    assert effects == [Send(parent, ColoredSubscribe(color, "x", WANT, 1))]
    assert list(one.entries(color)) == [("C", "x", WANT)]
    assert list(one.entries(1 - color)) == []


def test_peer_to_peer_it_goes_everywhere_else() -> None:
    effects = routing(False).subscribe("C", ColoredSubscribe(0, "x", WANT))
    assert effects == [
        Send("A", ColoredSubscribe(0, "x", WANT, 1)),
        Send("D", ColoredSubscribe(0, "x", WANT, 1)),
    ]


def test_an_unsubscription_removes_and_goes_on_even_if_nothing_was_there() -> None:
    one = routing()
    one.subscribe("C", ColoredSubscribe(0, "x", WANT))
    gone = [Send("A", ColoredUnsubscribe(0, "x", 1))]
    assert one.unsubscribe("C", ColoredUnsubscribe(0, "x")) == gone
    assert list(one.entries(0)) == []
    assert one.unsubscribe("C", ColoredUnsubscribe(0, "x")) == gone


def test_a_notification_goes_up_and_to_who_wants_it_in_its_colour() -> None:
    one = routing()
    one.subscribe("C", ColoredSubscribe(0, "x", WANT))
    one.subscribe("D", ColoredSubscribe(0, "y", "topic = 2"))
    one.subscribe("@client", ColoredSubscribe(0, "z", WANT))
    up_and_down = [Deliver("client", note()), Send("A", note(hops=1)), Send("C", note(hops=1))]
    assert one.route("D", note()) == up_and_down
    assert one.route("@client", note()) == up_and_down[1:]
    assert one.route("C", note(1)) == [Send("Z", note(1, hops=1))]


def test_peer_to_peer_it_goes_up_only_where_it_is_wanted() -> None:
    one = routing(False)
    assert one.route("C", note()) == []
    one.subscribe("A", ColoredSubscribe(0, "x", WANT))
    assert one.route("C", note()) == [Send("A", note(hops=1))]


def test_nothing_goes_to_a_destination_that_is_no_neighbour_in_the_colour() -> None:
    one = routing()
    one.state.tables[1]["D"] = {"x": WANT}
    assert one.route("Z", note(1)) == []


def test_what_passed_too_many_links_ends() -> None:
    one = routing()
    one.state.tables[0]["C"] = {"x": WANT}
    assert one.route("D", note(hops=7)) != []
    assert one.route("D", note(hops=8)) == []
    assert one.subscribe("C", ColoredSubscribe(0, "x", WANT, 8)) == []


def test_a_spoilt_filter_matches_nothing() -> None:
    one = routing()
    one.state.tables[0]["C"] = {"x": "topic = ("}
    assert one.route("A", note()) == []
