"""A session lets its broker compare, behind all that it has sent, over every connection."""

from __future__ import annotations

from protocol.client.scripted import Broker, Play
from sapwood.filters.filter import Filter
from sapwood.protocol.messages import Refresh, Repeat, Subscribe, Whole
from sapwood.protocol.stabilize.digest import digest


def test_the_broker_can_compare_behind_all_that_was_sent() -> None:
    broker = Broker(features=("refresh",), refresh=20.0)
    play = Play(broker).open()
    inbox, number = play.session.subscribe(Filter("x = 1"))
    play.flush()
    said = Refresh(subscriptions=digest([(f"c.7/{inbox.name}", "x = 1")]))
    assert broker.requests == [Subscribe(inbox.name, "x = 1", number)]
    play.wait(20.5)
    assert broker.requests[1:] == [said]
    broker.tell(Repeat("s"))
    play.flush()
    assert broker.requests[2:] == [Whole("s", ((inbox.name, "x = 1"),), said.subscriptions)]
    play.cut()
    play.wait(1.0)
    assert broker.requests[3:] == [said]  # the stream goes on, and so it is compared
    broker.session, broker.resumes = 2, False
    play.cut()
    play.wait(1.0)
    assert broker.requests[4:] == [Subscribe(inbox.name, "x = 1", number), said]
