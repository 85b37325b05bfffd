"""A client that goes on at another broker: what its old broker still has of it is not delivered."""

from __future__ import annotations

from protocol.wiring import Line, notification
from sapwood.protocol.drops import Drop
from sapwood.protocol.effects import Dismiss, Forward, Send
from sapwood.protocol.events import (
    ClientArrived,
    ClientUp,
    ControlReceived,
    FramesReceived,
    LinkDown,
    LinkUp,
    Tick,
)
from sapwood.protocol.fences import ANYWHERE, Fence
from sapwood.protocol.messages import ClientMoved, Missed
from sapwood.protocol.moves import REPEATED_MAX
from sapwood.protocol.neighbours import RESTART


def moved_from_first_to_last() -> Line:
    """B1 - B2 - B3 with a reader at B2; alice was at B1 and has moved to B3."""
    wired = Line(3)
    wired.connect("alice.1", "B1")
    wired.connect("reader.1", "B2")
    wired.subscribe("reader.1", "all", "n >= 0")
    wired.run()
    wired.publish("alice.1", {"n": 1})
    wired.run()
    wired.handle("B3", ClientUp("alice.1"))
    return wired


def test_everybody_is_told_and_the_old_broker_dismisses_the_client() -> None:
    wired = moved_from_first_to_last()
    assert wired.handle("B3", ClientArrived("alice.1", 1)) == [
        Send("B2", ClientMoved("alice.1", 1, home="B3.1"))
    ]
    effects = wired.handle("B2", FramesReceived("B3", wired.queues["B3", "B2"].popleft()))
    assert effects == [Send("B1", ClientMoved("alice.1", 1, home="B3.1"))]
    effects = wired.handle("B1", FramesReceived("B2", wired.queues["B2", "B1"].popleft()))
    assert effects == [Dismiss("alice.1", "the client goes on at another broker")]


def test_what_comes_from_the_old_broker_is_dropped_and_reported() -> None:
    wired = moved_from_first_to_last()
    # The old broker has taken this, and its neighbour does not get it before the client has moved.
    late = notification("alice.1", {"n": 2}, 2)
    wired.handle("B1", FramesReceived("alice.1", late))
    stale = wired.queues["B1", "B2"].popleft()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.run()
    wired.handle("B3", FramesReceived("alice.1", notification("alice.1", {"n": 3}, 3)))
    wired.run()
    assert wired.handle("B2", FramesReceived("B1", stale)) == []
    assert wired.brokers["B2"].drops.counts == {Drop.STALE: 1}
    assert wired.got["reader.1"] == [("alice.1", 1), ("alice.1", 3)], "never the second after it"
    missed = Send("reader.1", Missed(1, "B1-B2", ("n = 2",)))
    assert wired.handle("B2", Tick()) == [missed]
    assert wired.handle("B2", Tick()) == []
    wired.check()


def test_what_came_before_the_message_is_delivered_in_order() -> None:
    wired = moved_from_first_to_last()
    wired.handle("B1", FramesReceived("alice.1", notification("alice.1", {"n": 2}, 2)))
    wired.run()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.handle("B3", FramesReceived("alice.1", notification("alice.1", {"n": 3}, 3)))
    wired.run()
    assert wired.got["reader.1"] == [("alice.1", 1), ("alice.1", 2), ("alice.1", 3)]


def test_those_who_did_not_move_are_not_concerned() -> None:
    wired = moved_from_first_to_last()
    wired.connect("bob.1", "B1")
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.run()
    frames = notification("bob.1", {"n": 5}) + notification("bob.1", {"n": 5}, 2)
    (forward,) = wired.handle("B1", FramesReceived("bob.1", frames))
    assert isinstance(forward, Forward)
    wired.run()
    assert wired.got["reader.1"][1:] == [("bob.1", 1), ("bob.1", 2)]


def test_a_client_may_come_back() -> None:
    wired = moved_from_first_to_last()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.run()
    wired.disconnect("alice.1")  # as the old broker was told
    wired.connect("alice.1", "B1")
    wired.handle("B1", ClientArrived("alice.1", 2))
    wired.run()
    wired.handle("B1", FramesReceived("alice.1", notification("alice.1", {"n": 4}, 4)))
    wired.run()
    assert wired.got["reader.1"] == [("alice.1", 1), ("alice.1", 4)]
    assert [row for _, row in wired.rows if isinstance(row, Dismiss)] == [
        Dismiss("alice.1", "the client goes on at another broker")
    ] * 2


def test_a_neighbour_that_comes_is_told_who_has_moved() -> None:
    wired = moved_from_first_to_last()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.run()
    wired.sent.clear()
    wired.cut("B1", "B2")
    wired.link("B1", "B2")
    told = [one for one in wired.sent if isinstance(one[2], ClientMoved)]
    moved = ClientMoved("alice.1", 1, home="B3.1")
    assert told == [("B2", "B1", moved)], "and nobody in whose direction it is"
    wired.handle("B2", LinkDown("B3"))
    assert wired.brokers["B2"].fences.homes["alice.1"].source == ANYWHERE


def test_somebody_who_is_not_here_cannot_have_arrived() -> None:
    wired = Line(2)
    assert wired.handle("B1", ClientArrived("nobody.1", 1)) == []
    assert wired.brokers["B1"].drops.counts == {Drop.CLIENT_UNKNOWN: 1}


def test_news_that_were_overtaken_say_nothing() -> None:
    """The client is back at the first broker before that hears that it had gone."""
    wired = moved_from_first_to_last()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.handle("B1", ClientArrived("alice.1", 2))
    wired.run()
    assert wired.brokers["B1"].fences.homes == {"alice.1": Fence("alice.1", 2, 0, "B1.1")}
    assert wired.brokers["B3"].fences.homes == {"alice.1": Fence("B2", 2, 0, "B1.1")}
    dismissed = [(name, row) for name, row in wired.rows if isinstance(row, Dismiss)]
    assert [name for name, _ in dismissed] == ["B3"]


def test_a_restarted_neighbour_is_told_of_clients_on_its_side() -> None:
    wired = moved_from_first_to_last()
    wired.handle("B3", ClientArrived("alice.1", 1))
    wired.run()
    back = LinkUp("B3", session=2, features=(RESTART,), restarted=True)
    sent = [one for one in wired.handle("B2", back) if isinstance(one, Send)]
    told = [one for one in sent if isinstance(one.message, ClientMoved)]
    assert told == [Send("B3", ClientMoved("alice.1", 1, is_behind=True, home="B3.1"))]


def test_until_its_place_is_known_nothing_is_taken_of_a_client() -> None:
    """The broker was restarted; what B1 has kept may be older than what others have got."""
    wired = Line(3)
    wired.connect("reader.1", "B2")
    wired.subscribe("reader.1", "all", "n >= 0")
    wired.run()
    wired.handle("B2", ControlReceived("B3", ClientMoved("alice.1", 1, is_behind=True)))
    wired.handle("B2", FramesReceived("B1", notification("alice.1", {"n": 1})))
    assert wired.brokers["B2"].drops.counts == {Drop.STALE: 1}
    wired.handle("B2", ControlReceived("B1", ClientMoved("alice.1", 1)))
    wired.handle("B2", FramesReceived("B1", notification("alice.1", {"n": 2}, 2)))
    wired.run()
    assert wired.got["reader.1"] == [("alice.1", 2)]
    wired.check()


def test_a_client_that_is_here_is_not_behind() -> None:
    wired = Line(2)
    wired.connect("alice.1", "B2")
    wired.handle("B2", ControlReceived("B1", ClientMoved("alice.1", 1, is_behind=True)))
    assert not wired.brokers["B2"].fences


def test_a_neighbour_is_not_told_of_a_client_whose_place_is_not_known() -> None:
    wired = Line(2)
    wired.handle("B2", ControlReceived("B1", ClientMoved("alice.1", 1, is_behind=True)))
    sent = wired.handle("B2", LinkUp("B3"))
    assert not [one for one in sent if isinstance(one, Send)]


def many_moved(count: int) -> Line:
    """B1 - B2 - B3; many clients have moved to B3."""
    wired = Line(3)
    for number in range(count):
        wired.connect(f"c{number}.1", "B3")
        wired.handle("B3", ClientArrived(f"c{number}.1", 1))
    wired.run()
    return wired


def repeat(wired: Line, name: str) -> None:
    """A broker says again where its clients are."""
    for effect in wired.brokers[name].moves.repeat():
        wired._do(name, effect)
    wired.run()


def test_a_broker_says_for_all_its_clients_at_once_where_they_are() -> None:
    wired = many_moved(200)
    wired.sent.clear()
    homes = wired.brokers["B2"].fences.homes
    homes.update({one: fence._replace(source="B1") for one, fence in homes.items()})
    repeat(wired, "B3")
    assert len(wired.sent) <= 2 * (1 + REPEATED_MAX)
    assert {fence.source for fence in homes.values()} == {"B3"}


def test_whoever_has_lost_what_it_knew_of_clients_learns_it_in_turn() -> None:
    count = 2 * REPEATED_MAX + 1
    wired = many_moved(count)
    wired.brokers["B1"].fences.homes.clear()
    wired.brokers["B1"].moves.fences_changed()
    for _ in range(4):
        repeat(wired, "B3")
    assert len(wired.brokers["B1"].fences) == count
