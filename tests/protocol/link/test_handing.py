"""A broker hands its clients over: what they and the neighbour are told, and what arrives."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol.joined import CREDIT, Network, RawPeer, hello_of, line_of
from sapwood.protocol.effects import HandOver
from sapwood.protocol.link import handing
from sapwood.protocol.link.handing import PART_BYTES, UNDER_WAY_BYTES, Stage, joined, successor
from sapwood.protocol.link.handshake import (
    BUSY,
    MOVED,
    SHUTDOWN,
    Ack,
    Goodbye,
    Resume,
)
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.neighbours import MOVES
from sapwood.protocol.ports import Stop, Stopped

MOVING: dict[str, Any] = {"features": (MOVES,)}


def two(**config: Any) -> Network:
    """B1 - B2, of which B2 has dialled B1."""
    return line_of(2, **config)


def resumed(net: Network, peer: RawPeer, name: str = "r", at: str = "B1") -> RawPeer:
    """A client that goes on at another broker, by the secret of the first."""
    resume = Resume("B2", 1, peer.received, peer.welcome.secret)
    again = peer.again()
    net.connect(again, at)
    return again.say(hello_of(name, resume=(resume,), **MOVING))


def test_a_client_is_told_where_it_goes_on_and_does() -> None:
    net = two()
    reader = net.client("r", "B2", acknowledges=False, **MOVING).subscribe("n >= 0")
    writer = net.client("w", "B1")
    writer.publish("w.1", 1, 3)
    reader.say(Ack(1, CREDIT))
    net.stop("B2")
    reason = "broker B2 leaves; go on at B1"
    assert reader.goodbye == Goodbye(MOVED, reason, "B1", addresses=("B1",))
    assert reader.last(Ack).received == 1
    writer.publish("w.1", 1, 2)
    again = resumed(net, reader)
    assert (again.welcome.id, again.welcome.resumed) == ("B1", 1)
    writer.publish("w.1", 1)
    assert again.got == [("w.1", number) for number in range(1, 7)]


def test_what_a_client_published_without_an_answer_it_sends_again() -> None:
    net = two()
    reader = net.client("r", "B1").subscribe("n >= 0")
    writer = net.client("w", "B2", **MOVING)
    writer.publish("w.1", 1, 3)
    net.stop("B2")
    again = resumed(net, writer, "w")
    assert again.welcome.resumed == 3
    again.publish("w.1", 1, 2)
    assert reader.got == [("w.1", number) for number in range(1, 6)]


def test_the_broker_ends_when_its_clients_know_and_leaves_no_place_behind() -> None:
    net = two()
    reader = net.client("r", "B2", **MOVING).subscribe("n >= 0")
    net.stop("B2")
    node = net.nodes["B2"]
    assert node.handing is not None
    assert node.handing.stage is Stage.ADOPTED
    assert net.asked("B2", Stopped) == [], "the client may still be reading"
    reader.leave()
    net.advance(0.1)
    assert net.asked("B2", Stopped) == [Stopped()]
    assert "B2" not in net.nodes["B1"].peers
    assert net.nodes["B2"].counts["handed_over"] == net.nodes["B1"].counts["adopted"] == 1


def test_who_reads_nothing_is_waited_for_only_so_long() -> None:
    net = two(hand_over_seconds=3.0)
    net.client("r", "B2", acknowledges=False, **MOVING)
    net.stop("B2")
    net.advance(2.9)
    assert net.asked("B2", Stopped) == []
    net.advance(1.0)
    assert net.asked("B2", Stopped) == [Stopped()]


def test_a_client_of_an_older_release_begins_anew() -> None:
    net = two()
    old = net.client("o", "B2").subscribe("n >= 0")
    new = net.client("r", "B2", **MOVING)
    net.stop("B2")
    new.leave()
    net.advance(0.1)
    assert new.goodbye.code == MOVED
    assert old.goodbye.code == SHUTDOWN
    assert "o.1" not in net.nodes["B1"].peers


def test_nobody_new_comes_in_while_clients_are_handed_over() -> None:
    net = two()
    known = net.client("r", "B2", **MOVING)
    net.freeze("B1", "B2")
    net.bring("B2", Stop())
    assert net.client("late", "B2").goodbye == Goodbye(BUSY, "broker B2 is leaving")
    known.leave()
    back = resumed(net, known, at="B2")
    assert back.welcome.resumed == 0, "whoever is here may come back"
    net.thaw("B1", "B2")
    assert back.goodbye.code == MOVED
    assert resumed(net, back, at="B2").goodbye.code == MOVED


def test_without_an_answer_the_broker_ends_as_it_would_have() -> None:
    net = two(hand_over_seconds=1.0, leave_seconds=1.0)
    client = net.client("r", "B2", **MOVING).subscribe("n >= 0")
    net.freeze("B1", "B2")
    net.stop("B2")
    net.advance(0.9)
    assert net.nodes["B2"].stopping is None
    net.advance(2.5)
    assert client.goodbye.code == SHUTDOWN
    assert net.asked("B2", Stopped) == [Stopped()]


def test_who_has_nobody_to_hand_over_to_does_not() -> None:
    net = line_of(3)
    net.client("r", "B2", **MOVING)
    assert successor(net.nodes["B2"]) is None, "it is between others"
    assert successor(net.nodes["B1"]) is not None
    net.client("q", "B1", **MOVING)
    assert successor(net.nodes["B1"]) is None, "B2 has dialled it, and says no address"
    off = two(hand_over_seconds=0.0)
    assert successor(off.nodes["B2"]) is None
    alone = Network()
    alone.add("B1")
    assert successor(alone.nodes["B1"]) is None


def test_a_leaf_without_clients_leaves_in_the_same_way() -> None:
    net = two()
    net.stop("B2")
    assert net.asked("B2", Stopped) == [Stopped()]
    assert "B2" not in net.nodes["B1"].peers
    assert net.nodes["B1"].broker.leaving.has_left("B2", 1)


def test_a_large_stream_is_sent_in_parts_and_only_as_fast_as_it_is_taken() -> None:
    net = two()
    reader = net.client("r", "B2", acknowledges=False, credit=0, **MOVING).subscribe("n >= 0")
    writer = net.client("w", "B2")
    for _ in range(12):
        writer.publish("w.1", 1, 1, bytes(PART_BYTES))
    net.stop("B2")
    assert resumed(net, reader).goodbye.code == MOVED, "it is to try again"
    net.advance(0.5)
    again = resumed(net, reader)
    assert again.got == [("w.1", number) for number in range(1, 13)]


def test_what_is_under_way_is_bounded() -> None:
    net = two()
    net.client("r", "B2", acknowledges=False, credit=0, **MOVING).subscribe("n >= 0")
    writer = net.client("w", "B2")
    for _ in range(12):
        writer.publish("w.1", 1, 1, bytes(PART_BYTES))
    node = net.nodes["B2"]
    neighbour = node.peers["B1"]
    net.bring("B2", Stop())
    assert node.handing is not None
    net.freeze("B1", "B2")
    node.handing.flushed(HandOver("B1", node.handing.change), net.now)
    node.handing.look(net.now)
    assert node.handing.stage is Stage.HANDING
    assert UNDER_WAY_BYTES <= neighbour.channel.control_buffered < UNDER_WAY_BYTES + 2 * PART_BYTES


RUNS = st.lists(
    st.one_of(
        st.builds(
            lambda size, frames: FrameRun(bytes(size), frames, size),
            st.integers(1, 3 * PART_BYTES),
            st.integers(1, 9),
        ),
        st.builds(lambda size: FrameRun(bytes(size), 1, 0), st.integers(1, 99)),
        st.builds(
            lambda frames, doubt: FrameRun(None, frames, 0, doubt), st.integers(1, 9), st.booleans()
        ),
    ),
    max_size=6,
)


@given(RUNS)
def test_runs_are_cut_and_joined(runs: list[FrameRun]) -> None:
    pieces = [piece for _, piece, _ in handing._cut(runs)]
    assert all(piece is not None and len(piece.data or b"") <= PART_BYTES for piece in pieces)
    assert joined(tuple(piece for piece in pieces if piece is not None)) == runs


def test_a_neighbour_that_has_forgotten_the_broker_has_its_clients() -> None:
    """Its last word was lost: whoever of the two dials, it comes to the same."""
    net = two()
    client = net.client("r", "B2", **MOVING)
    net.freeze("B1", "B2")
    net.bring("B2", Stop())
    net.thaw("B1", "B2")
    node = net.nodes["B2"]
    assert node.handing is not None
    assert node.handing.stage is Stage.ADOPTED
    assert net.nodes["B1"].broker.leaving.has_left("B2", 1)
    client.leave()
    peer = net.dial("B1")
    peer.say(hello_of("B2", role="broker"))
    assert (peer.goodbye.code, peer.goodbye.lost) == ("adopted", 0)
