"""Tests for who is here: coming, going away, coming back as before or as a new session."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.link.handshake import (
    BROKER,
    COUNT_MAX,
    LEAVING,
    REPLACED,
    SHUTDOWN,
    Ack,
    GivenUp,
    Goodbye,
    Hello,
    Resume,
    Welcome,
)
from sapwood.protocol.link.limits import ClientLimits, LinkLimits
from sapwood.protocol.messages import CODEC, ClientMoved, Missed, Subscribe, TableComplete
from sapwood.protocol.ports import ClientOrder, Remember, Row
from sapwood.wire.frames import ENVELOPE_SIZE, HEADER_SIZE

PATIENT = LinkLimits(silence_seconds=60.0)


def neighbour(net: Network, session: int = 1, at: str = "B1", **changes: object) -> RawPeer:
    """A scripted broker B2, linked to a node."""
    peer = net.connect(RawPeer(net), at)
    peer.say(hello_of("B2", session, role=BROKER, **changes))
    net.advance(0.2)
    return peer


def network(**config: Any) -> tuple[Network, RawPeer]:
    """B1 with a client p that publishes."""
    net = Network()
    net.add("B1", **config)
    return net, net.client("p", "B1")


# Going away and coming back


def test_who_is_away_is_not_gone() -> None:
    net, publisher = network()
    broker = neighbour(net).subscribe("n >= 0")
    net.advance(0.1)
    broker.leave()
    node = net.nodes["B1"]
    peer = node.peers["B2"]
    assert (peer.line, peer.away_since, node.counts["connections_lost"]) == (None, net.now, 1)
    assert len(node.broker.subscriptions) == 1
    publisher.publish("p.1", 1, 5)
    assert peer.channel.notifications_waiting == 5
    again = net.connect(broker.again(), "B1")
    resume = Resume("B1", 1, broker.received, peer.secret)
    again.say(hello_of("B2", 1, role=BROKER, resume=(resume,)))
    net.advance(0.1)
    assert node.peers["B2"] is peer
    assert again.got == [("p.1", number) for number in range(1, 6)]
    assert (again.welcome.resumed, node.counts["resumed"]) == (1, 1)


def test_a_newer_line_of_the_same_stream_takes_the_place_of_the_older() -> None:
    net, _ = network()
    broker = neighbour(net)
    resume = Resume("B1", 1, broker.received, broker.welcome.secret)
    again = net.connect(broker.again(), "B1")
    again.say(hello_of("B2", 1, role=BROKER, resume=(resume,)))
    assert broker.goodbye == Goodbye(REPLACED, "the other side has connected again")
    assert again.welcome.resumed == 0
    assert net.nodes["B1"].peers["B2"].line is not None


def test_who_leaves_is_gone_with_all_it_wanted() -> None:
    net, publisher = network()
    broker = neighbour(net).subscribe("n >= 0")
    broker.acknowledges = False
    net.advance(0.1)
    publisher.publish("p.1", 1, 5)
    broker.say(Goodbye(LEAVING))
    node = net.nodes["B1"]
    assert ("B2" in node.peers, len(node.broker.subscriptions), broker.is_gone) == (False, 0, True)
    assert node.counts["abandoned"] == 5
    assert node.lines.keys() == {line.number for line in node.lines.values() if line.peer}


def test_who_shuts_down_keeps_its_place() -> None:
    net, _ = network()
    broker = neighbour(net).subscribe("n >= 0").say(Goodbye(SHUTDOWN, lost=3))
    node = net.nodes["B1"]
    peer = node.peers["B2"]
    assert (peer.line, peer.ended_orderly, peer.lost_there) == (None, True, 3)
    assert (len(node.broker.subscriptions), broker.is_gone) == (1, True)


# A new session of a neighbour


def restarted(*, orderly: bool, lost: int = -1) -> tuple[Network, RawPeer, RawPeer]:
    """Five frames acknowledged, five sent, five kept; then the next session of the neighbour."""
    net, publisher = network()
    broker = neighbour(net).subscribe("n >= 0")
    net.advance(0.1)
    publisher.publish("p.1", 1, 5)
    broker.acknowledges = False
    publisher.publish("p.1", 1, 5)
    if orderly:
        broker.say(Goodbye(SHUTDOWN, lost=lost))
    else:
        broker.leave()
    publisher.publish("p.1", 1, 5)
    return net, broker, neighbour(net, session=2)


def sequences(peer: RawPeer) -> list[int]:
    return [sequence for _, sequence in peer.got]


def test_after_a_crash_a_new_session_gets_what_was_never_sent() -> None:
    """What was sent may have been passed on: it is counted, and told as given up."""
    net, broker, again = restarted(orderly=False)
    assert sequences(broker) == list(range(1, 11))
    assert sequences(again) == list(range(11, 16))
    assert [one for one in again.heard if isinstance(one, GivenUp)] == [GivenUp(5)]
    assert net.nodes["B1"].counts["given_up"] == 5
    assert net.nodes["B1"].peers["B2"].channel.is_idle


def test_after_an_orderly_end_a_new_session_gets_what_was_not_acknowledged_too() -> None:
    net, _, again = restarted(orderly=True, lost=0)
    assert sequences(again) == list(range(6, 16))
    assert (again.missed, net.nodes["B1"].counts["given_up"]) == (0, 0)


def gaps(
    *, orderly: bool, lost: int = -1, expected: tuple[str, ...] = ("B1",), former: int = 1
) -> list[int]:
    """What a subscriber at B1 is told of notifications that ended with a session of B2."""
    net, _ = network()
    subscriber = net.client("s", "B1")
    subscriber.tell(Subscribe("1", "n >= 0"))
    broker = neighbour(net)
    net.advance(0.1)
    if orderly:
        broker.say(Goodbye(SHUTDOWN, lost=lost))
    else:
        broker.leave()
    neighbour(net, session=70, expected=expected, former=former)
    net.advance(0.1)
    return [one.count for one in subscriber.told if isinstance(one, Missed)]


def test_what_ended_with_the_old_session_is_told_to_subscribers() -> None:
    assert gaps(orderly=True, lost=0) == []  # nothing, and it is known
    assert gaps(orderly=True, lost=7) == [7]
    assert gaps(orderly=False) == [0]  # nobody knows how many
    assert gaps(orderly=True, lost=0, expected=("B7",)) == [0]  # it takes part without B1
    assert gaps(orderly=True, lost=0, former=69) == [0]  # who knows what that session did


@pytest.mark.parametrize(
    ("former", "session", "expected", "told"),
    [
        ((1,), 1, (), []),
        ((1,), 1, ("B1",), []),
        ((1,), 2, (), [0]),
        ((), 2, (), []),
        ((), 2, ("B1",), [0]),
    ],
    ids=["as before", "as before, restarted", "a new session", "unknown", "forgotten here"],
)
def test_what_ended_with_both_ends_of_a_link_is_told_to_subscribers(
    former: tuple[int, ...], session: int, expected: tuple[str, ...], told: list[int]
) -> None:
    """B1 was restarted, and perhaps B2 while B1 was down: what B2 kept for B1 is gone."""
    names = ("B2",) * len(former)
    net, _ = network(session=9, expected=names, expected_sessions=former)
    subscriber = net.client("s", "B1")
    subscriber.tell(Subscribe("1", "n >= 0"))
    neighbour(net, session=session, expected=expected).tell(TableComplete())
    net.advance(1.0)
    assert [one.count for one in subscriber.told if isinstance(one, Missed)] == told


def test_credit_that_was_withheld_in_the_hello_is_given_with_the_stream() -> None:
    """The tables are restored between hello and welcome: nothing else would say so."""
    net = Network()
    found = net.listen("B2")
    node = net.add("B1", "B2", session=2, expected=("B2", "B3"), former=1, restore_seconds=1.0)
    hello = found[0].last(Hello)
    assert (hello.credit, hello.expected, hello.former) == (0, ("B2", "B3"), 1)
    net.advance_until(lambda: not node.broker.is_restoring)
    found[0].say(Welcome(id="B2", session=1, version=1, credit=2**20))
    net.advance(0.1)
    assert node.peers["B2"].line is not None
    assert found[0].last(Ack).credit > 0


def test_reports_and_moves_for_a_session_go_to_the_next_one() -> None:
    """Behind what is older than the move, too, though where clients are is told anew at once."""
    net, publisher = network()
    third = net.add("B3", "B1")
    net.advance(0.5)
    broker = neighbour(net).subscribe("n >= 0")
    net.advance(0.1)
    broker.leave()
    publisher.publish("p.1", 1, 2)
    net.client("c", "B1", streams=3, is_astray=True).publish("c.1", 1, 1)
    third.peers["B1"].channel.push_control(CODEC.encode(Missed(4, "B4-B3")))
    third.touch(third.peers["B1"])
    net.advance(1.0)
    publisher.publish("p.1", 1, 1)
    again = neighbour(net, session=2)
    told = [one for one in again.told if isinstance(one, Missed | ClientMoved)]
    moved = ClientMoved("c.1", 3, home="B1.1")
    anew = msgspec.structs.replace(moved, again=1)
    assert told == [anew, moved, Missed(4, "B4-B3")]
    assert again.got == [("p.1", 1), ("p.1", 2), ("c.1", 1), ("p.1", 3)]
    moved_at = again.frames.index(CODEC.encode(moved)[HEADER_SIZE:])
    assert sum(len(body) == ENVELOPE_SIZE for body in again.frames[:moved_at]) == 2


def test_a_broker_that_cannot_restart_begins_anew() -> None:
    """An older release: what was kept for it is lost, and so is what it had asked for."""
    net, publisher = network()
    broker = neighbour(net, features=()).subscribe("n >= 0")
    net.advance(0.1)
    broker.leave()
    publisher.publish("p.1", 1, 5)
    again = neighbour(net, session=2, features=())
    assert (again.got, len(net.nodes["B1"].broker.subscriptions)) == ([], 0)
    assert net.nodes["B1"].counts["abandoned"] == 5


# Clients


def test_a_client_that_is_away_is_kept_for_its_grace_and_then_forgotten() -> None:
    net, _ = network(client=ClientLimits(grace_seconds=3.0))
    node = net.nodes["B1"]
    client = net.client("c", "B1").subscribe("n >= 0")
    net.advance(0.1)
    client.leave()
    net.advance(2.9)
    assert (len(node.broker.subscriptions), node.client_count) == (1, 2)
    net.advance(1.0)
    assert ("c.1" in node.peers, len(node.broker.subscriptions), node.client_count) == (False, 0, 1)
    late = net.client("c", "B1", resume=(Resume("B1", 1, client.received, client.welcome.secret),))
    assert late.welcome.resumed is None


def test_the_end_of_a_client_that_was_away_is_when_it_was_last_heard() -> None:
    """Nothing was owed to it while its stream was kept in vain."""
    net, _ = network(recording=True, client=ClientLimits(grace_seconds=3.0))
    client = net.client("c", "B1").subscribe("n >= 0")
    net.advance(0.1)
    heard_at = net.nodes["B1"].peers["c.1"].line.heard_at  # type: ignore[union-attr]
    client.leave()
    net.advance(5.0)
    rows = [row for row in net.asked("B1", Row) if row.kind == "unsubscribed"]
    assert [(row.at, row.fields["client"]) for row in rows] == [(heard_at, "c.1")]
    orders = net.asked("B1", ClientOrder)
    assert orders[-2:] == [ClientOrder("c.1", 0), ClientOrder("c.1", None)]


# Credit


@pytest.mark.slow

# What is remembered


def test_the_neighbours_in_the_tree_are_remembered_and_nobody_else() -> None:
    net = Network()
    net.add("B1")
    net.client("c", "B1")
    assert net.asked("B1", Remember) == []
    net.add("B2", "B1")
    net.advance(0.5)
    net.add("B3", "B2", "B1")
    net.advance(2.0)
    assert net.asked("B1", Remember) == [Remember(("B2",), (1,))]
    net.crash("B2")
    net.run()
    assert net.asked("B1", Remember) == [Remember(("B2",), (1,))]  # it is away, not gone
    leaving = neighbour(net, session=2)
    leaving.say(Goodbye(LEAVING))
    assert net.asked("B1", Remember)[-1] == Remember(())


def test_hellos_name_all_streams_and_their_secrets() -> None:
    net = line_of(3)
    node = net.nodes["B2"]
    secrets = {name: peer.secret for name, peer in node.peers.items()}
    shown = [Resume(name, 1, COUNT_MAX, secrets[name]) for name in ("B1", "B3")]
    assert node.membership.resumes() == tuple(shown)
    net.crash("B1")
    net.run()
    received, secret = node.peers["B1"].channel.received, node.peers["B1"].secret
    assert node.membership.resumes() == (Resume("B1", 1, received, secret), shown[1])
    assert secret == "B1.1-secret-1"


@pytest.mark.slow
@pytest.mark.parametrize("carried", [0, 1, 10, 100, 1000])
def test_a_cut_at_any_byte_loses_and_repeats_nothing(carried: int) -> None:
    net = line_of(2, link=PATIENT)
    left, right = net.client("a", "B1").subscribe("n >= 0"), net.client("b", "B2")
    net.advance(0.2)
    for _ in range(20):
        net.freeze("B2", "B1")
        right.publish("b.1", 1, 10)
        net.cut("B2", "B1", carried)
        right.publish("b.1", 1, 10)
        net.advance(3.0)
    assert sequences(left) == list(range(1, 401))
    assert left.missed == 0


def test_an_acknowledgement_gives_as_much_credit_as_was_used() -> None:
    net, publisher = network()
    publisher.publish("p.1", 1, 10)
    net.advance(0.1)
    size = sum(map(len, RawPeer(net).notes("p.1", 1, 10)))
    assert publisher.last(Ack) == Ack(10, publisher.welcome.credit + size)


@pytest.mark.parametrize(
    ("field", "value"), [("session", -1), ("session", None), ("secret", None), ("name", None)]
)
def test_a_stream_of_which_something_was_spoilt_is_not_shown(field: str, value: object) -> None:
    """The other side would refuse a hello that it cannot read, again and again."""
    net = line_of(2)
    membership = net.nodes["B2"].membership
    assert [one.broker for one in membership.resumes()] == ["B1"]
    setattr(net.nodes["B2"].peers["B1"], field, value)
    assert membership.resumes() == ()
    net.nodes["B2"].peers["B1"].channel.received = -1
    assert membership.resumes() == ()
