"""A client's session against scripted brokers, in virtual time."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from protocol.client.scripted import Broker, Play, gaps, goodbyes, got, notification, publish
from sapwood.filters.filter import Filter
from sapwood.protocol.client.deliveries import Gap
from sapwood.protocol.client.outputs import (
    Accepted,
    Answered,
    Closed,
    Failed,
    Offline,
    Online,
    Ponged,
    PublicationRefused,
    Readable,
    Unconfirmed,
)
from sapwood.protocol.link.handshake import (
    BAD_CREDENTIALS,
    BUSY,
    COUNT_MAX,
    LEAVING,
    LINK_CODEC,
    PROTOCOL,
    SHUTDOWN,
    SLOW_CONSUMER,
    Goodbye,
    Hello,
    Ping,
    Resume,
    Welcome,
)
from sapwood.protocol.link.states import SessionState
from sapwood.protocol.messages import (
    Refused,
    Settled,
    Subscribe,
    Unsubscribe,
)
from sapwood.protocol.ports import (
    Abort,
    Close,
    Connected,
    Data,
    Dial,
    DialFailed,
    Disconnected,
    Stop,
    Unsent,
    Write,
)

ALL = Filter("true")


# Life


def test_the_whole_of_a_short_life() -> None:
    broker = Broker()
    play = Play(broker, silence_seconds=8.0, token="t", network="n").open()
    assert play.outputs() == [Dial(1, "B1"), Online("B1")]
    assert broker.hellos == [
        Hello(
            role="client",
            network="n",
            id="c",
            session=7,
            features=("checks", "refresh", "moves"),
            credentials={"token": "t"},
            credit=play.session.channel.window,
            silence=8.0,
        )
    ]
    inbox, number = play.session.subscribe(ALL)
    play.flush()
    assert broker.requests == [Subscribe(inbox.name, "true", number)]
    assert play.outputs() == [Answered(number, settled=True)]
    inbox.is_awaited = True
    broker.send(notification("p.1", 1), notification("p.1", 2))
    play.flush()
    assert (play.outputs(), got(inbox)) == ([Readable(inbox.name)], [("p.1", 1), ("p.1", 2)])
    publish(play, 3)
    assert (play.outputs(), broker.published) == ([Accepted(3)], [1, 2, 3])
    assert play.session.order == 5
    end = play.session.unsubscribe(inbox.name, settle=True)
    play.flush()
    assert broker.requests[1:] == [Unsubscribe(inbox.name, end)]
    assert play.outputs() == [Answered(end, settled=True)]
    play.session.close(play.now)
    play.flush()
    assert play.outputs() == [Close(1, "left"), Closed()]
    assert goodbyes(broker) == [LEAVING]
    assert play.session.state is SessionState.CLOSED


def test_what_is_published_in_one_turn_leaves_in_one_write() -> None:
    play = Play(Broker()).open()
    wants = [play.session.wants_flush]
    for _ in range(100):
        play.session.publish({"x": 1}, published_at=1.0)
    wants.append(play.session.wants_flush)
    (write,) = play.session.flush(play.now)
    assert isinstance(write, Write)
    assert [*wants, play.session.wants_flush] == [False, True, False]
    assert play.session.flush(play.now) == []


def test_what_came_is_acknowledged_before_what_it_may_have_caused() -> None:
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    broker.send(notification("p.1", 1))
    play.flush()
    publish(play)
    assert broker.channel.is_idle, "the notification was acknowledged with the publication"
    assert broker.published == [1]
    assert got(inbox) == [("p.1", 1)]


def test_what_came_is_acknowledged_soon_without_a_publication() -> None:
    play = Play(broker := Broker()).open()
    play.session.subscribe(ALL)
    play.flush()
    play.wait(0.1)
    broker.send(notification("p.1", 1))
    play.flush()
    assert not broker.channel.is_idle
    play.wait(0.03)
    assert broker.channel.is_idle


def test_a_session_can_be_stopped_by_its_driver() -> None:
    play = Play(broker := Broker()).open()
    effects = play.session.handle(Stop(), play.now)
    assert [type(effect) for effect in effects] == [Write, Close]
    assert play.session.handle(Stop(), play.now) == []
    assert play.session.handle(Disconnected(1, "left"), play.now) == [Closed()]
    assert broker.published == []


@pytest.mark.parametrize(
    "state", [SessionState.DIALING, SessionState.CALLING, SessionState.WAITING]
)
def test_a_session_can_end_before_it_was_connected(state: SessionState) -> None:
    play = Play(broker := Broker())
    broker.is_deaf = state is SessionState.CALLING
    broker.is_up = state is not SessionState.WAITING
    if state is SessionState.DIALING:
        play.session.open(play.now)
    else:
        play.open()
    assert play.session.state is state
    play.session.close(play.now)
    effects = [one for one in play.session.flush(play.now) if not isinstance(one, Dial)]
    aborted = [Abort(1, "left")] if state is SessionState.CALLING else []
    assert effects == [*aborted, Closed()]
    assert play.session.deadline == float("inf")


def test_it_is_plain_data() -> None:
    """A copy goes its own way."""
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(Filter("x > 0"))
    play.flush()
    broker.send(notification("p.1", 1, x=1))
    play.flush()
    before = copy.deepcopy(play.session)
    broker.send(notification("p.1", 2, x=1))
    publish(play, 2)
    other = before.deliveries.get(inbox.name)
    assert other is not None
    assert (got(other), before.publishing.sequence) == ([("p.1", 1)], 0)
    assert (got(inbox), play.session.publishing.sequence) == ([("p.1", 1), ("p.1", 2)], 2)
    assert isinstance(before.handle(Stop(), play.now)[0], Write)


# Finding a broker


def test_servers_are_tried_in_turn_the_last_one_first() -> None:
    brokers = [Broker("B1"), Broker("B2"), Broker("B3")]
    play = Play(*brokers)
    brokers[0].is_up = False
    play.open()
    assert (play.dials, play.session.broker) == (["B1", "B2"], "B2")
    brokers[1].is_up = False
    play.cut()
    assert play.dials[2:] == ["B2", "B3"]


def test_rounds_are_repeated_with_pauses_until_it_is_too_late() -> None:
    broker = Broker()
    broker.is_up = False
    play = Play(broker, connect_seconds=3.0).open().wait(1.0)
    states = [play.session.state]
    play.wait(3.0)
    assert [*states, play.session.state] == [SessionState.WAITING, SessionState.FAILED]
    assert play.outputs(Failed) == [Failed("cannot reach B1")]
    assert 5 <= len(play.dials) <= 9


def test_once_connected_it_tries_for_ever_and_often_while_the_stream_may_be_kept() -> None:
    play = Play(broker := Broker()).open()
    broker.is_up = False
    play.cut().wait(300.0)
    assert 150 <= len(play.dials) <= 310
    broker.is_up = True
    play.wait(2.5)
    assert play.session.is_connected
    assert play.outputs(Online)[-1] == Online("B1", is_resumed=True)


def test_a_refusal_for_good_ends_the_session_and_another_does_not() -> None:
    play = Play(Broker("B1"), Broker("B2"))
    play.session.open(play.now)
    play.session.flush(play.now)
    for dial, goodbye in ((1, Goodbye(BUSY, "full")), (2, Goodbye(BAD_CREDENTIALS, "no", "B2"))):
        play.session.handle(Connected(dial, dial), play.now)
        effects = play.session.handle(Data(dial, LINK_CODEC.encode(goodbye)), play.now)
        assert effects[0] == Abort(dial, goodbye.reason)
    assert effects[1:] == [Failed("no", True, BAD_CREDENTIALS, "B2")]
    assert play.session.state is SessionState.FAILED


def test_a_dial_that_fails_for_good_ends_the_session() -> None:
    play = Play(Broker("B1"), Broker("B2"))
    play.session.open(play.now)
    play.session.flush(play.now)
    effects = play.session.handle(DialFailed(1, "not trusted", is_final=True), play.now)
    assert effects == [Failed("not trusted", True, BAD_CREDENTIALS)]


def test_an_answer_is_not_waited_for_for_ever() -> None:
    silent, other = Broker("B1"), Broker("B2")
    silent.is_deaf = True
    play = Play(silent, other).open().wait(5.1)
    assert play.outputs(Abort, Online) == [
        Abort(1, "B1 does not answer within 5.0 s"),
        Online("B2"),
    ]


def test_a_driver_that_never_answers_is_not_waited_for_for_ever() -> None:
    play = Play(Broker("B1"), Broker("B2"))
    play.session.open(play.now)
    assert play.session.flush(play.now) == [Dial(1, "B1")]
    play.now += 10.0
    assert play.session.handle(Unsent(1, 1), play.now) == []
    assert play.session.deadline <= play.now
    play.wait(0.01)
    assert play.session.broker == "B2"
    late = play.session.handle(Connected(9, 1), play.now)
    assert late == [Abort(9, "nobody waits for this any more")]
    assert play.session.handle(DialFailed(1, "late"), play.now) == []
    assert play.session.handle(Disconnected(9), play.now) == []
    assert play.session.handle(Data(9, b"?"), play.now) == []


def test_an_attempt_that_was_given_up_comes_too_late() -> None:
    play = Play(Broker("B1"), Broker("B2"))
    play.session.open(play.now)
    play.session.flush(play.now)
    assert play.session.handle(DialFailed(1, "no"), play.now) == [Dial(2, "B2")]
    late = play.session.handle(Connected(9, 1), play.now)
    assert late == [Abort(9, "nobody waits for this any more")]
    assert play.session.state is SessionState.DIALING


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Welcome(id="B1", session=1, version=9), "version 9 was never offered; 1-1 was"),
        (Ping(), "a Hello is answered by Welcome or Goodbye"),
    ],
)
def test_a_wrong_answer_is_none(answer: Any, words: str) -> None:
    play = Play(Broker("B1"), connect_seconds=0.01)
    play.session.open(play.now)
    play.session.flush(play.now)
    play.session.handle(Connected(1, 1), play.now)
    effects = play.session.handle(Data(1, LINK_CODEC.encode(answer)), play.now)
    assert effects[1:] == [Close(1, words), Failed(f"B1: connection lost: {words}")]


# The same broker again


def test_a_stream_is_resumed_with_the_secret() -> None:
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    first = broker.secret
    play.cut_after("down", 40)
    play.cut()
    assert not play.session.is_connected
    broker.send(notification("p.1", 1))
    publish(play, 2)
    play.wait(1.0)
    assert [hello.resume for hello in broker.hellos[1:]] == [(Resume("B1", 1, 1, first),)] * 2
    assert broker.secret == first != ""
    assert (got(inbox), gaps(inbox), broker.published) == ([("p.1", 1)], [], [1, 2])
    assert play.outputs(Online)[-1] == Online("B1", is_resumed=True)
    assert play.session.publishing.unconfirmed == 0


def test_what_the_broker_had_is_confirmed_by_the_next_connection_unless_refused() -> None:
    play = Play(broker := Broker()).open()
    broker.acknowledges = False
    publish(play, 2)
    assert play.outputs(Accepted) == []
    broker.tell(Refused("not advertised", sequence=2))
    play.cut()
    refused = PublicationRefused(2, "not advertised")
    assert play.outputs(Accepted, PublicationRefused) == [refused, Accepted(2)]


def test_streams_that_do_not_fit_together_begin_anew() -> None:
    play = Play(broker := Broker()).open()
    inbox, _ = play.session.subscribe(ALL)
    publish(play, 1)
    broker.channel.received += 10**6
    secret = broker.secret
    play.cut()
    assert goodbyes(broker) == [PROTOCOL]
    assert broker.hellos[2].resume == (Resume("B1", 1, COUNT_MAX, secret),)
    assert gaps(inbox) == [Gap(0, "the broker was lost; now connected to B1")]
    assert play.session.is_connected


def test_a_broker_that_insists_on_another_stream_is_not_asked_without_a_pause() -> None:
    play = Play(Broker("B1"), connect_seconds=1.0)
    play.session.open(play.now)
    play.session.flush(play.now)
    play.session.handle(Connected(1, 1), play.now)
    welcome = Welcome(id="B1", session=1, version=1, resumed=5)
    play.session.handle(Data(1, LINK_CODEC.encode(welcome)), play.now)
    assert play.session.state is SessionState.WAITING


def test_a_silent_broker_is_left_and_a_quiet_one_is_not() -> None:
    play = Play(broker := Broker(silence=4.0), silence_seconds=4.0).open().wait(60.0)
    assert play.dials == ["B1"]
    assert any(isinstance(message, Ping) for message in broker.heard)
    broker.is_deaf = True
    is_connected = [play.wait(seconds).session.is_connected for seconds in (3.0, 2.5)]
    assert is_connected == [True, False]
    assert play.outputs(Offline) == [Offline("the broker was silent for 4.0 s")]


def test_time_in_which_this_process_stood_still_does_not_count() -> None:
    play = Play(Broker(), silence_seconds=4.0).open()
    play.now += 1000.0
    play.wait(0.01)
    assert play.session.is_connected
    assert play.dials == ["B1"]


def test_the_other_side_is_told_before_it_takes_this_one_for_dead() -> None:
    Play(broker := Broker(silence=2.0), silence_seconds=3600.0).open().wait(20.0)
    assert len([message for message in broker.heard if isinstance(message, Ping)]) >= 20


def test_nothing_is_handed_over_while_there_is_no_connection() -> None:
    play = Play(broker := Broker()).open()
    broker.is_up = False
    play.cut()
    assert not play.session.channel.connected
    play.session.subscribe(ALL, buffer=1)
    publish(play, 2)
    assert play.session.publishing.waiting == 2


def test_pings_are_answered_both_ways() -> None:
    play = Play(broker := Broker()).open()
    number = play.session.ping()
    play.flush()
    assert play.outputs(Ponged) == [Ponged(number)]
    broker.say(Ping(9))
    play.flush()
    assert broker.heard[-1].number == 9  # type: ignore[union-attr]


# Another broker


def test_another_broker_gets_all_requests_and_every_subscription_a_gap() -> None:
    first, second = Broker("B1"), Broker("B2", advertisements_required=True)
    play = Play(first, second).open()
    inbox, number = play.session.subscribe(ALL)
    request = play.session.advertise(Filter("x = 1"))
    play.flush()
    settled = [inbox.settled]
    first.is_up, second.settles = False, False
    inbox.is_awaited = True
    play.outputs()
    play.cut()
    assert second.requests == [Subscribe(inbox.name, "true", number), request.message]
    assert gaps(inbox) == [Gap(0, "the broker was lost; now connected to B2")]
    assert [*settled, inbox.settled] == [True, None]
    assert play.outputs(Online, Offline, Readable) == [
        Offline("cut"),
        Online("B2"),
        Readable(inbox.name),
    ]
    assert play.session.advertisements_required
    second.tell(Settled(number, settled=False, reason="B3 is away"))
    play.flush()
    assert (inbox.settled, inbox.reason) == (False, "B3 is away")


def test_publications_in_doubt_are_counted_and_others_move_on() -> None:
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    publish(play, 1)
    first.is_deaf = True
    publish(play, 2)
    first.is_up = second.is_up = False
    play.cut()
    publish(play, 1)
    play.outputs()
    second.is_up = True
    play.wait(3.0)
    assert play.outputs(Accepted, Unconfirmed) == [Unconfirmed(2, 3), Accepted(4)]
    assert (second.published, play.session.publishing.unconfirmed) == ([4], 2)
    assert second.hellos[-1].order == 3, "the last one was not handed over yet"
    assert play.session.order == 4


def test_what_a_broker_did_not_look_at_before_its_shutdown_moves_on() -> None:
    """All that it had not acknowledged, though it was handed to the connection."""
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    publish(play, 1)
    first.acknowledges = False
    publish(play, 2)
    assert first.published == [1, 2, 3]
    first.is_up = False
    first.say(Goodbye(SHUTDOWN))
    play.flush()
    assert (second.published, play.session.publishing.unconfirmed) == ([2, 3], 0)
    assert second.hellos[-1].order == 1
    assert play.outputs(Accepted, Unconfirmed) == [Accepted(1), Accepted(3)]


@pytest.mark.parametrize("goodbye", [Goodbye("silent"), None])
def test_without_that_goodbye_it_is_in_doubt(goodbye: Goodbye | None) -> None:
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    first.acknowledges = first.is_up = False
    publish(play, 2)
    if goodbye is None:
        play.cut()
    else:
        first.say(goodbye)
        play.flush()
    assert (second.published, play.session.publishing.unconfirmed) == ([], 2)


def test_what_comes_again_from_another_broker_is_dropped_hours_later() -> None:
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    inbox, _ = play.session.subscribe(ALL)
    play.flush()
    first.send(*(notification("p.1", n) for n in range(1, 2000)))
    play.flush()
    first.is_up = False
    play.cut()
    inbox.items.clear()
    play.wait(3600.0)
    second.send(*(notification("p.1", n) for n in range(1500, 2002)))
    play.flush()
    assert got(inbox) == [("p.1", 2000), ("p.1", 2001)]


def test_going_back_shows_the_secret_of_the_stream_that_was_left() -> None:
    """A broker that kept it would let nobody else take its place."""
    first, second = Broker("B1"), Broker("B2")
    play = Play(first, second).open()
    left = first.secret
    first.is_up = False
    play.cut()
    first.is_up, second.is_up = True, False
    play.cut()
    assert first.hellos[-1].resume == (
        Resume("B2", 1, 0, second.secret),
        Resume("B1", 1, COUNT_MAX, left),
    )
    assert play.session.broker == "B1"


def test_who_is_sent_away_is_told() -> None:
    play = Play(broker := Broker()).open()
    broker.say(Goodbye(SLOW_CONSUMER, "too slow"))
    play.flush().wait(10.0)
    assert play.outputs(Failed, Abort) == [
        Abort(1, "too slow"),
        Failed("broker B1: too slow", True, SLOW_CONSUMER),
    ]
    assert play.dials == ["B1"]
    assert play.session.state is SessionState.FAILED


def test_a_hello_says_whether_one_before_it_was_never_answered() -> None:
    broker = Broker()
    play = Play(broker)
    play.cut_after("down", 0)
    play.open().wait(2.0)
    assert play.session.is_connected
    assert [hello.is_astray for hello in broker.hellos] == [False, True]
    broker.session = 2
    play.cut().wait(2.0)
    assert play.session.is_connected
    assert broker.hellos[-1].is_astray, "others may remember the first one for ever"


def test_a_hello_that_was_refused_is_answered() -> None:
    play = Play(Broker("B1"), broker := Broker("B2"))
    play.session.open(play.now)
    play.session.flush(play.now)
    play.session.handle(Connected(1, 1), play.now)
    play._perform(play.session.handle(Data(1, LINK_CODEC.encode(Goodbye(BUSY))), play.now))
    play.flush()
    assert play.session.is_connected
    assert [hello.is_astray for hello in broker.hellos] == [False]
