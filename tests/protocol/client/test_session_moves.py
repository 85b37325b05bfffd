"""A client whose broker hands its stream over: it goes on elsewhere, and nobody notices."""

from __future__ import annotations

from protocol.client.scripted import Broker, Play, gaps, goodbyes, got, notification, publish
from sapwood.filters.filter import Filter
from sapwood.protocol.client.outputs import Accepted, Failed, Online, Unconfirmed
from sapwood.protocol.link.handshake import MOVED, SHUTDOWN, WRONG_NETWORK, Goodbye, Hello
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import SessionState
from sapwood.protocol.neighbours import MOVES

ALL = Filter("true")
GO = Goodbye(MOVED, "go on there", "B2", addresses=("B2",))


def cast() -> tuple[Broker, Broker, Broker]:
    """The broker of the session, the one that goes on with its stream, and another one."""
    return Broker("B1"), Broker("B2", features=(MOVES,)), Broker("B3")


def play_of(*brokers: Broker) -> Play:
    """A session that knows the first of them and the last."""
    first, *_, last = brokers
    return Play(*brokers, servers=(first.name, last.name)).open()


def test_the_stream_goes_on_and_the_application_sees_nothing() -> None:
    first, second, third = cast()
    play = play_of(first, second, third)
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    first.send(notification("p.1", 1), notification("p.1", 2))
    publish(play, 2)
    first.acknowledges = False
    publish(play, 1)
    play.outputs()
    first.is_up = False
    first.channel.received -= 1  # it had not looked at the last one
    first.published.pop()
    second.adopt(first)
    second.channel.push(notification("p.1", 3), 1)
    first.say(GO)
    play.flush()
    assert play.dials == ["B1", "B2"]
    assert (play.session.broker, play.session.is_connected) == ("B2", True)
    assert (first.published, second.published) == ([1, 2], [3])
    assert got(inbox) == [("p.1", 1), ("p.1", 2), ("p.1", 3)]
    assert gaps(inbox) == []
    assert inbox.settled is True
    assert play.outputs(Online, Unconfirmed, Failed) == [Online("B2", is_resumed=True)]
    publish(play, 1)
    assert play.outputs(Accepted)[-1] == Accepted(4)


def test_from_then_on_the_stream_is_with_the_new_broker() -> None:
    first, second, third = cast()
    play = play_of(first, second, third)
    second.adopt(first)
    first.is_up = False
    first.say(GO)
    play.flush()
    play.cut()
    assert play.dials == ["B1", "B2", "B2"], "it is dialled before those that were given"
    resume = second.hellos[-1].resume[0]
    assert (resume.broker, resume.session) == ("B2", 1)
    assert play.session.is_connected


def test_whoever_comes_too_early_tries_again_and_nowhere_else() -> None:
    first, second, third = cast()
    play = play_of(first, second, third)
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    second.refusal = Goodbye(MOVED, "in a moment", "B2")
    first.is_up = False
    first.say(GO)
    play.flush()
    assert play.session.state is SessionState.WAITING
    assert play.dials == ["B1", "B2"]
    play.wait(0.5)
    assert {*play.dials[2:]} == {"B2"}
    second.refusal = None
    second.adopt(first)
    play.wait(3.0)
    assert (play.session.broker, gaps(inbox)) == ("B2", [])
    assert third.hellos == []


def test_where_the_next_broker_cannot_be_found_a_new_stream_begins() -> None:
    first, second, third = cast()
    play = play_of(first, second, third)
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    first.acknowledges = False
    publish(play, 2)
    play.outputs()
    first.is_up = second.is_up = False
    first.say(GO)
    play.flush()
    assert play.session.broker == "B3"
    assert [one.count for one in gaps(inbox)] == [0], "nobody knows how much is missing"
    assert third.published == [1, 2], "the broker that left had not looked at them"
    assert play.outputs(Unconfirmed) == []
    assert third.hellos[-1].is_astray, "the other one may have the stream, and has to hear of it"
    play.dials.clear()
    play.cut()
    assert play.dials == ["B3"], "nothing goes on anywhere else"


def test_the_next_broker_cannot_end_the_session() -> None:
    """What it says may be about an address that was never meant for this client."""
    first, second, third = cast()
    play = play_of(first, second, third)
    second.refusal = Goodbye(WRONG_NETWORK, "who are you?")
    first.is_up = False
    first.say(GO)
    play.flush()
    assert (play.session.broker, play.outputs(Failed)) == ("B3", [])


def test_a_broker_that_cannot_take_over_streams_is_not_believed() -> None:
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    second.adopt(first)
    first.is_up = False
    play.cut()
    assert goodbyes(second) == ["protocol-broken"]
    assert len(second.hellos) == 2
    assert play.session.broker == "B2"


def test_a_client_without_a_stream_is_not_sent_anywhere() -> None:
    first, second, third = cast()
    first.refusal = GO
    play = Play(first, second, third, servers=("B1", "B3")).open()
    assert play.dials == ["B1", "B3"]


class Leaver(Broker):
    """A broker that says goodbye to whoever comes back, right behind its welcome."""

    last_words: Goodbye | None = None

    def _greet(self, line: Line, hello: Hello) -> None:
        super()._greet(line, hello)
        if self.last_words is not None:
            line.say(self.last_words)
            self.is_up = False


def test_who_waits_is_told_when_a_broker_leaves_before_it_has_confirmed() -> None:
    """It has taken a publication, says so in its welcome, and a refusal may still be under way."""
    first = Leaver("B1")
    _, second, third = cast()
    play = play_of(first, second, third)
    first.acknowledges = False
    publish(play, 1)
    play.outputs()
    first.last_words = GO
    second.adopt(first)
    play.cut()
    assert play.session.broker == "B2"
    assert (first.published, second.published) == ([1], [])
    assert play.outputs(Accepted, Unconfirmed) == [Accepted(1)]


def test_who_waits_is_told_when_a_broker_shuts_down_before_it_has_confirmed() -> None:
    first, last = Leaver("B1"), Broker("B3")
    play = play_of(first, last)
    first.acknowledges = False
    publish(play, 1)
    play.outputs()
    first.last_words = Goodbye(SHUTDOWN, "over")
    play.cut()
    assert play.session.broker == "B3"
    assert (first.published, last.published) == ([1], [])
    assert play.outputs(Accepted, Unconfirmed) == [Unconfirmed(1, 1)]
    publish(play, 1)
    assert play.outputs(Accepted) == [Accepted(2)]
