"""Tests for rows of a trace: who and why, and nothing twice."""

from __future__ import annotations

from collections import Counter
from random import Random

from protocol.joined import Network
from sapwood.protocol.effects import Record
from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import Ack
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.protocol.link.rows import ABANDONED, IN_DOUBT, NO_ROOM, Rows
from sapwood.protocol.link.spool import FrameRun
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig
from sapwood.protocol.ports import Row
from sapwood.wire.frames import decode_envelope, encode_head, encode_notification, split


class Written:
    """The rows of a node B1, and what was written."""

    def __init__(self) -> None:
        self.node = Node(NodeConfig(id="B1", recording=True), Random(1), lambda: "secret")
        self.rows = Rows(self.node)

    @property
    def all(self) -> list[object]:
        return list(self.node._effects)


def note(sequence: int) -> bytes:
    return encode_notification(encode_head("a.1", {"x": 1}), sequence, 1.0)


def run_of(sequence: int, *, in_doubt: bool = False) -> FrameRun:
    data = note(sequence)
    return FrameRun(data, 1, len(data), in_doubt)


def peer(name: str, *, is_client: bool) -> Peer:
    return Peer(Introduction(name=name, session=1, is_client=is_client), Channel(ChannelLimits()))


CLIENT, NEIGHBOUR = peer("a.1", is_client=True), peer("B2", is_client=False)


def test_what_comes_from_a_client_is_published_and_what_goes_to_a_neighbour_forwarded() -> None:
    written = Written()
    written.rows.published(CLIENT, note(1), 1, len(note(1)), 1.0)
    written.rows.published(NEIGHBOUR, note(2), 1, len(note(2)), 1.0)
    written.rows.forwarded(NEIGHBOUR, note(1), 2.0)
    written.rows.forwarded(CLIENT, note(1), 2.0)
    assert written.all == [
        Row(1.0, "published", {"client": "a.1"}, note(1)),
        Row(2.0, "forwarded", {"source": "B1", "target": "B2"}, note(1)),
    ]


def test_only_what_a_client_has_acknowledged_is_delivered() -> None:
    written = Written()
    runs = [run_of(1), FrameRun(b"control", 1, 0), FrameRun(None, 3, 0)]
    written.rows.delivered(CLIENT, runs, 3.0)
    written.rows.delivered(NEIGHBOUR, runs, 3.0)
    fields = {"client": "a.1", "target": "a.1"}
    assert written.all == [Row(3.0, "delivered", fields, note(1), 0, 1, len(note(1)))]


def test_what_was_given_up_says_why() -> None:
    written = Written()
    runs = [run_of(2), run_of(3, in_doubt=True), FrameRun(None, 3, 0)]
    written.rows.dropped(NEIGHBOUR, runs, 4.0, is_abandoned=False)
    written.rows.dropped(NEIGHBOUR, runs[:1], 5.0, is_abandoned=True)
    fields = {"source": "B1", "target": "B2"}
    assert written.all == [
        Row(4.0, "dropped", {**fields, "message": NO_ROOM}, note(2)),
        Row(4.0, "dropped", {**fields, "message": IN_DOUBT}, note(3)),
        Row(5.0, "dropped", {**fields, "message": ABANDONED}, note(2)),
    ]


def test_a_client_that_asks_again_has_ended_what_it_asked_elsewhere() -> None:
    """Once for each filter; what it asks for the first time there is no end of."""
    written = Written()
    client = peer("a.1", is_client=True)
    client.claimed_again = set()
    written.node.peers["a.1"] = client
    wish = {"client": "a.1", "filter": "x > 1"}
    for kind in ("subscribed", "subscribed", "settled"):
        written.rows.asked(Record(kind, wish), 6.0)
    assert written.all == [
        Row(6.0, "unsubscribed", wish),
        Row(6.0, "subscribed", wish),
        Row(6.0, "subscribed", wish),
        Row(6.0, "settled", wish),
    ]


def test_a_client_that_was_never_lost_ends_nothing() -> None:
    written = Written()
    written.node.peers["a.1"] = peer("a.1", is_client=True)
    wish = {"client": "a.1", "filter": "x > 1"}
    written.rows.asked(Record("subscribed", wish), 6.0)
    assert written.all == [Row(6.0, "subscribed", wish)]


def test_every_notification_for_a_slow_client_ends_in_one_row() -> None:
    """Delivered, given up for want of room, or given up when the client was gone."""
    net = Network()
    limits = ClientLimits(buffer_bytes=2**16, grace_seconds=1.0)
    node = net.add("B1", recording=True, client=limits)
    slow = net.client("slow", "B1", acknowledges=False, credit=20_000).subscribe("n >= 0")
    publisher = net.client("p", "B1")
    net.advance(0.1)
    for _ in range(300):
        publisher.publish("p.1", 1, 1, bytes(1000))
    slow.say(Ack(7, 20_000))
    slow.leave()
    publisher.publish("p.1", 1, 10)
    net.advance(2.0)
    rows = [row for row in net.asked("B1", Row) if row.kind in {"delivered", "dropped"}]
    ends = [number for row in rows for number in numbers_of(row)]
    assert sorted(ends) == list(range(1, 311))
    why = Counter(row.fields.get("message") for row in rows for _ in numbers_of(row))
    assert why[NO_ROOM] + why[IN_DOUBT] == node.counts["given_up"] > 0
    assert (why[ABANDONED], why[None]) == (node.counts["abandoned"], 7)


def numbers_of(row: Row) -> list[int]:
    """The sequence numbers of the notifications that a row is about."""
    frames = list(split(row.data))[row.first : row.end]
    return [decode_envelope(body).sequence for _, _, body in frames]
