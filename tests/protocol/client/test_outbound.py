"""What goes out of a session: calls wait for a flush; a spoilt stream keeps them for the next."""

from __future__ import annotations

from protocol.client.scripted import Broker, Play, got, notification
from sapwood.filters.filter import Filter
from sapwood.protocol.link.handshake import CHECKS, Ack, Ping
from sapwood.protocol.messages import Subscribe, Unsubscribe


def test_calls_wait_for_the_flush_and_leave_in_their_order() -> None:
    broker = Broker()
    play = Play(broker).open()
    inbox, _ = play.session.subscribe(Filter("n >= 0"), settle=False)
    play.session.publish({"n": 1}, published_at=1.0)
    play.session.unsubscribe(inbox.name)
    assert (broker.requests, broker.published, play.session.wants_flush) == ([], [], True)
    play.flush()
    assert broker.requests == [Subscribe("1", "n >= 0"), Unsubscribe("1")]
    assert broker.published == [1]
    assert not play.session.wants_flush


def test_what_came_is_acknowledged_before_what_is_published() -> None:
    broker = Broker()
    play = Play(broker).open()
    inbox, _ = play.session.subscribe(Filter("n >= 0"))
    play.flush()
    broker.send(notification("p.1", 1, n=1))
    play.flush()
    play.session.publish({"n": 1}, published_at=1.0)
    play.flush()
    assert got(inbox) == [("p.1", 1)]
    acks = [one.received for one in broker.heard if isinstance(one, Ack)]
    assert acks[-1] == 2


def test_pings_are_numbered() -> None:
    broker = Broker()
    play = Play(broker).open()
    assert [play.session.ping(), play.session.ping()] == [1, 2]
    play.flush()
    assert [one for one in broker.heard if isinstance(one, Ping)] == [Ping(1), Ping(2)]


def test_no_call_raises_because_the_stream_is_spoilt() -> None:
    broker = Broker(features=(CHECKS,))
    play = Play(broker, raises_faults=False).open()
    channel = play.session.channel
    channel.withheld, channel._taken = True, None  # type: ignore[assignment]
    play.session.make_room()
    channel.spool.control_size = None  # type: ignore[assignment]
    inbox, _ = play.session.subscribe(Filter("n >= 0"))
    play.wait(1.0)
    broker.send(notification("p.1", 1, n=1))
    play.flush()
    assert got(inbox) == [("p.1", 1)]
