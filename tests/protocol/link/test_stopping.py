"""Tests for an orderly end: nothing is lost that neighbours and clients could keep."""

from __future__ import annotations

from protocol.joined import CREDIT, Network, RawPeer, hello_of, line_of
from sapwood.protocol.link.handshake import BROKER, LEAVING, SHUTDOWN, Ack, Goodbye
from sapwood.protocol.link.keepalive import LINGER_SECONDS
from sapwood.protocol.messages import Missed, TableComplete
from sapwood.protocol.ports import Stop, Stopped


def sequences(peer: RawPeer) -> list[int]:
    return [sequence for _, sequence in peer.got]


def test_a_node_alone_is_stopped_at_once() -> None:
    net = Network()
    node = net.add("B1")
    assert net.bring("B1", Stop()) == [Stopped()]
    assert net.bring("B1", Stop()) == []
    assert node.is_stopping


def test_clients_have_what_is_theirs_before_the_goodbye() -> None:
    net = Network()
    net.add("B1")
    reader = net.client("r", "B1", acknowledges=False).subscribe("n >= 0")
    net.client("p", "B1").publish("p.1", 1, 20)
    net.stop("B1")
    assert (len(reader.got), reader.count(Goodbye), net.asked("B1", Stopped)) == (20, 0, [])
    reader.say(Ack(20, CREDIT))
    assert reader.goodbye == Goodbye(SHUTDOWN, "broker B1 is shutting down", lost=0)
    assert net.asked("B1", Stopped) == []  # the others may end their lines first
    net.advance(LINGER_SECONDS)
    assert net.asked("B1", Stopped) == [Stopped()]
    assert net.nodes["B1"].lines == {}


def test_who_does_not_acknowledge_is_waited_for_only_so_long_and_told_what_was_lost() -> None:
    net = Network()
    net.add("B1", leave_seconds=2.0)
    reader = net.client("r", "B1", acknowledges=False, credit=1).subscribe("n >= 0")
    net.client("p", "B1").publish("p.1", 1, 20)
    assert len(reader.got) == 1  # for more there is no credit
    net.stop("B1")
    net.advance(1.9)
    assert net.asked("B1", Stopped) == []
    net.advance(0.2)
    assert reader.goodbye.lost == 19
    assert net.asked("B1", Stopped) == [Stopped()]


def test_nothing_that_comes_after_the_stop_is_acknowledged_or_passed_on() -> None:
    net = Network()
    net.add("B1")
    reader = net.client("r", "B1", acknowledges=False).subscribe("n >= 0")
    publisher = net.client("p", "B1")
    publisher.publish("p.1", 1, 5)
    net.stop("B1")
    assert publisher.last(Ack).received == 5  # what was taken is acknowledged at once
    publisher.publish("p.1", 1, 70)
    net.advance(1.0)
    assert publisher.last(Ack).received == 5
    assert sequences(reader) == [1, 2, 3, 4, 5]
    reader.say(Ack(5, CREDIT))
    assert publisher.goodbye.code == SHUTDOWN


def test_a_leaf_leaves_and_a_broker_between_others_may_be_back() -> None:
    net = line_of(3)
    net.stop("B2")
    net.advance(0.1)
    for name in ("B1", "B3"):
        peer = net.nodes[name].peers["B2"]
        assert (peer.line, peer.ended_orderly, peer.lost_there) == (None, True, 0)
    leaf = line_of(3)
    leaf.stop("B3")
    leaf.advance(0.1)
    assert "B3" not in leaf.nodes["B2"].peers


def test_the_goodbye_of_a_leaf() -> None:
    net = Network()
    net.add("B1")
    first = net.dial("B1").say(hello_of("B2", role=BROKER))
    net.advance(0.2)
    net.stop("B1")
    assert first.goodbye == Goodbye(LEAVING, "broker B1 shuts down", lost=0)


def test_whoever_has_not_introduced_themselves_is_sent_away() -> None:
    net = Network()
    net.add("B1")
    stranger = net.dial("B1")
    net.stop("B1")
    assert stranger.goodbye == Goodbye(SHUTDOWN, "broker B1 shuts down")
    net.advance(LINGER_SECONDS)
    assert net.asked("B1", Stopped) == [Stopped()]


def test_nobody_is_dialled_any_more_and_no_tick_is_wanted_again_and_again() -> None:
    """The network checks that a node never wants a tick for a time that is over."""
    net = Network()
    net.mute.add("B2")
    net.add("B1", "B2", leave_seconds=10.0)
    reader = net.client("r", "B1", acknowledges=False).subscribe("n >= 0")
    net.client("p", "B1").publish("p.1", 1)
    net.advance(1.0)
    net.stop("B1")
    dials, ticks = len(net.dials), net.ticks["B1"]
    net.advance(9.0)
    assert len(net.dials) == dials
    assert net.ticks["B1"] - ticks < 60
    reader.say(Ack(1, CREDIT))
    net.advance(LINGER_SECONDS)
    assert net.asked("B1", Stopped) == [Stopped()]


def test_what_neighbours_kept_reaches_the_next_session() -> None:
    """A middle broker is stopped under load and started again: nothing is lost."""
    net = line_of(3)
    left, right = net.client("a", "B1").subscribe("n >= 0"), net.client("b", "B3")
    net.advance(0.5)
    count = 0
    for step in range(60):
        right.publish("b.1", 1, 10)
        count += 10
        if step == 20:
            net.bring("B2", Stop())
        if step == 40:
            assert net.asked("B2", Stopped) == [Stopped()]
            net.crash("B2")
            net.add("B2", "B1", session=2)
        net.advance(0.05)
    net.advance(5.0)
    assert sequences(left) == list(range(1, count + 1))
    assert left.missed == 0


def expecting(net: Network) -> list[RawPeer]:
    """B1, which was restarted and expects three neighbours, and two of them."""
    net.add("B1", session=5, expected=("B2", "B3", "B4"), restore_seconds=2.0, leave_seconds=1.0)
    around = [net.dial("B1").say(hello_of(name, role=BROKER)) for name in ("B2", "B3")]
    net.advance(0.1)
    return around


def test_who_was_still_to_be_told_of_a_loss_is_told_that_its_extent_is_not_known() -> None:
    net = Network()
    second, third = expecting(net)
    second.tell(Missed(3, "X-B2"))  # it waits for B4, which may be concerned
    net.stop("B1")
    assert (second.goodbye.lost, third.goodbye.lost) == (-1, -1)


def test_whose_table_came_too_late_may_have_missed_something_at_the_end() -> None:
    net = Network()
    second, third = expecting(net)
    second.tell(TableComplete())
    net.advance(2.0)
    assert not net.nodes["B1"].broker.is_restoring
    net.stop("B1")
    assert (second.goodbye.lost, third.goodbye.lost) == (0, -1)
