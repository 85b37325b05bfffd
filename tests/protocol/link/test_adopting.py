"""Streams that go on at another broker: who may go on with them, and what is said meanwhile."""

from __future__ import annotations

from typing import Any

from protocol.joined import CREDIT, Network, hello_of, line_of
from sapwood.protocol.link.adopting import is_adopted
from sapwood.protocol.link.handshake import COUNT_MAX, MOVED, Ack, Goodbye, Resume
from sapwood.protocol.messages import Leaving
from sapwood.protocol.neighbours import MOVES
from sapwood.protocol.ports import ClientOrder, Row

MOVING: dict[str, Any] = {"features": (MOVES,)}
LEAVING = Leaving("B2.1/1", 1)


def handed_over(**config: Any) -> tuple[Network, str]:
    """A reader of B2 that has got one of three notifications, and is at B1 now; its secret."""
    net = line_of(2, recording=True, **config)
    reader = net.client("r", "B2", acknowledges=False, credit=1, order=5, **MOVING)
    reader.subscribe("n >= 0")
    net.client("w", "B1").publish("w.1", 1, 3)
    reader.say(Ack(1, 1))
    net.stop("B2")
    return net, reader.welcome.secret


def test_a_client_without_connection_waits_here_with_what_it_has_not_got() -> None:
    net, secret = handed_over()
    peer = net.nodes["B1"].peers["r.1"]
    assert (peer.is_client, peer.line, peer.away_since) == (True, None, net.now)
    assert (peer.secret, peer.homes) == (secret, (("B2", 1),))
    assert (peer.channel.received, peer.channel.acknowledged) == (1, 1)
    assert peer.channel.is_sound
    assert peer.channel.notifications_waiting == 2
    assert net.nodes["B1"].client_count == 2


def test_the_clients_own_order_goes_on() -> None:
    net, secret = handed_over()
    assert ClientOrder("r.1", 6) in net.asked("B1", ClientOrder), "five before, one at B2"
    assert ClientOrder("r.1", None) not in net.asked("B1", ClientOrder)
    resume = Resume("B2", 1, 1, secret)
    again = net.client("r", "B1", resume=(resume,), **MOVING)
    assert [sequence for _, sequence in again.got] == [2, 3]
    net.advance(0.1)
    kinds = [row.kind for row in net.asked("B1", Row)]
    assert "subscribed" not in kinds, "it had subscribed before"
    assert kinds.count("reconfigured") == 1
    assert [row.kind for row in net.asked("B2", Row)].count("unsubscribed") == 0


def test_only_with_the_secret_and_from_where_it_was() -> None:
    net, secret = handed_over()
    peer = net.nodes["B1"].peers["r.1"]
    assert is_adopted(peer, Resume("B2", 1, 1))
    assert not is_adopted(peer, Resume("B2", 2, 1))
    assert not is_adopted(peer, Resume("B3", 1, 1))
    wrong = net.client("r", "B1", resume=(Resume("B2", 1, 1, "guessed"),), **MOVING)
    assert wrong.goodbye.code == "busy"
    again = net.client("r", "B1", resume=(Resume("B2", 1, 1, secret),), **MOVING)
    assert again.welcome.resumed == 1
    again.leave()
    back = net.client("r", "B1", resume=(Resume("B1", 1, 3, secret),), **MOVING)
    assert back.welcome.resumed == 1, "from now on it knows where it is"


def test_who_comes_too_early_is_told_to_wait() -> None:
    net = line_of(2, addresses=("tcp://b:1",))
    node = net.nodes["B1"]
    node.broker.leaving._leaving("B2", LEAVING, net.now)
    node.peers["B2"].channel.bar()
    resume = Resume("B2", 1, 1, "s")
    early = net.client("r", "B1", resume=(resume,), **MOVING)
    reason = "the stream is being handed over to this broker; try again"
    assert early.goodbye == Goodbye(MOVED, reason, "B1", addresses=("tcp://b:1",))
    ended = Resume("B2", 1, COUNT_MAX, "s")
    assert net.client("q", "B1", resume=(ended,), **MOVING).welcome.resumed is None
    assert net.client("old", "B1", resume=(resume,)).welcome.resumed is None
    assert net.client("new", "B1", **MOVING).welcome.resumed is None


def test_what_was_kept_back_comes_behind_what_it_had() -> None:
    net = line_of(2)
    reader = net.client("r", "B2", acknowledges=False, credit=1, **MOVING).subscribe("n >= 0")
    writer = net.client("w", "B1")
    writer.publish("w.1", 1, 3)
    net.freeze("B1", "B2")
    net.nodes["B1"].broker.leaving._leaving("B2", LEAVING, net.now)
    net.nodes["B1"].peers["B2"].channel.bar()
    writer.publish("w.1", 1, 2)
    assert net.nodes["B1"].peers["B2"].channel.spool.is_barred
    net.nodes["B1"].peers["B2"].channel.lift()
    net.nodes["B1"].broker.leaving.adopting.clear()
    net.thaw("B1", "B2")
    net.stop("B2")
    resume = Resume("B2", 1, reader.received, reader.welcome.secret)
    again = reader.again()
    net.connect(again, "B1").say(hello_of("r", resume=(resume,), credit=CREDIT, **MOVING))
    assert again.got == [("w.1", number) for number in range(1, 6)]
