"""The baseline that takes a change of the tree for a fault: leases, one table, no coordination."""

from __future__ import annotations

from random import Random

from protocol.stabilize.published.trees import config, place, tell
from sapwood.filters.filter import Filter
from sapwood.protocol.stabilize.published.colour_messages import (
    Change,
    ChangeRequested,
    ClientPublished,
    ClientSubscribed,
    ColoredNotification,
    ColoredSubscribe,
    Recolor,
    Send,
    Tick,
)
from sapwood.protocol.stabilize.published.reconfiguration_as_fault import ReconfigurationAsFault


def broker() -> ReconfigurationAsFault:
    one = ReconfigurationAsFault(config("B"), Random(1), Filter)
    place(one, "A", ("C",))
    return one


def test_an_entry_lives_as_long_as_it_is_refreshed() -> None:
    one = broker()
    assert tell(one, "C", ColoredSubscribe(0, "x", "true")) == [
        Send("A", ColoredSubscribe(0, "x", "true", 1))
    ]
    one.handle(ClientSubscribed("c", "y", "true"), 1.0)
    one.handle(Tick(), 30.0)
    assert {entry[1] for entry in one.routing.entries(0)} == {"x", "y"}
    tell(one, "C", ColoredSubscribe(0, "x", "true"), 40.0)
    one.handle(Tick(), 59.0)
    one.handle(Tick(), 60.0)
    assert [entry[1] for entry in one.routing.entries(0)] == ["x"]
    one.handle(Tick(), 90.0)
    assert one.state.tables[0] == {}


def test_a_change_is_made_at_once_and_the_table_left_alone() -> None:
    one = broker()
    one.handle(ClientSubscribed("c", "y", "true"), 1.0)
    assert one.handle(ChangeRequested(Change("B", "A", "Z")), 1.0) == []
    assert one.state.parent == ["Z"] * 3
    assert one.handle(ClientPublished("p", 1, {}), 1.0)[-1] == Send(
        "Z", ColoredNotification(0, "p", 1, {}, 1)
    )
    one.handle(ChangeRequested(Change("C", "B", "Z")), 1.0)
    assert one.state.children == [set()] * 3
    assert not one.is_linked("C", ColoredNotification(0, "p", 1, {}))


def test_it_knows_nothing_of_colours() -> None:
    one = broker()
    assert tell(one, "A", Recolor(2, (), ("R", "A"))) == []
    assert (one.state.old, one.state.current, one.state.new) == (0, 0, 0)
