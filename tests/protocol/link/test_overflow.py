"""Whoever does not keep up loses the oldest, or goes; a spoilt count is no reason for that."""

from __future__ import annotations

import pytest

from protocol.joined import Network, RawPeer, hello_of, line_of
from sapwood.protocol.link import overflow
from sapwood.protocol.link.handshake import (
    BROKER,
    BUSY,
    CONTRADICTION,
    PROTOCOL,
    SLOW_CONSUMER,
    GivenUp,
    Goodbye,
)
from sapwood.protocol.link.limits import ClientLimits
from sapwood.protocol.link.overflow import EXCESS_MAX
from sapwood.protocol.ports import Abort, Unsent
from sapwood.wire.frames import HEADER, NOTIFICATION

SMALL = ClientLimits(buffer_bytes=64 * 1024, control_bytes=64 * 1024, window_bytes=8 * 1024)


def network() -> Network:
    return line_of(1, client=SMALL)


def test_a_client_that_asked_for_it_is_sent_away() -> None:
    net = network()
    slow = net.client("s", "B1", acknowledges=False, slow_policy="disconnect", credit=0)
    slow.subscribe("n >= 0")
    writer = net.client("w", "B1")
    for number in range(20):
        writer.publish("w.1", number, payload=bytes(8000))
    assert slow.goodbye.code == SLOW_CONSUMER
    assert net.nodes["B1"].counts["slow_clients_disconnected"] == 1
    assert net.nodes["B1"].overflow.condemned == []


def test_the_oldest_are_given_up_and_counted() -> None:
    net = network()
    slow = net.client("s", "B1", acknowledges=False, credit=0).subscribe("n >= 0")
    writer = net.client("w", "B1")
    for number in range(20):
        writer.publish("w.1", number, payload=bytes(8000))
    node = net.nodes["B1"]
    assert node.counts["given_up"] == node.peers["s.1"].channel.given_up > 0
    assert not slow.is_gone


def test_a_spoilt_count_does_not_send_a_client_away_for_good() -> None:
    """To a client, being too slow is final; what is wrong here is not its fault."""
    for field, policy in (("size", "disconnect"), ("control_size", "drop_oldest")):
        net = network()
        reader = net.client("r", "B1", slow_policy=policy).subscribe("n >= 0")
        node = net.nodes["B1"]
        net.is_spoilt = True
        setattr(node.peers["r.1"].channel.spool, field, 2**40)
        node.peers["r.1"].channel.connected = field != "size"
        net.client("w", "B1").publish("w.1", 1)
        net.advance(1.0)
        assert (reader.goodbye.code, node.counts[CONTRADICTION]) == (CONTRADICTION, 1)


def test_whoever_does_not_read_is_cut_off() -> None:
    net = network()
    net.client("s", "B1")
    limit = SMALL.buffer_bytes + SMALL.control_bytes + EXCESS_MAX
    assert net.bring("B1", Unsent(1, limit)) == []
    ended = net.bring("B1", Unsent(1, limit + 1))
    assert [type(effect) for effect in ended] == [Abort]


def test_more_than_there_can_be_is_given_up_by_nobody() -> None:
    net = network()
    far = net.connect(RawPeer(net), "B1").say(hello_of("B2", role=BROKER))
    net.advance(0.2)
    far.say(GivenUp(2**63 - 1))
    assert not far.is_gone
    far.say(GivenUp(2**63 - 1))
    assert (far.goodbye.code, "more than there can be" in far.goodbye.reason) == (PROTOCOL, True)


def test_a_client_that_seems_to_give_up_publications_begins_a_new_stream() -> None:
    """It never does so by itself; only so does whoever published them learn of it."""
    net = network()
    client = net.client("c", "B1").say(GivenUp(1))
    assert client.goodbye.code == CONTRADICTION
    assert net.nodes["B1"].peers["c.1"].is_over


def test_parts_of_frames_of_all_together_take_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may have a frame under way; whoever has the most of one goes first."""
    monkeypatch.setattr(overflow, "PARTIAL_BYTES_MAX", 250_000)
    net = network()
    clients = {name: net.client(name, "B1") for name in ("small", "large", "other")}
    header = HEADER.pack(NOTIFICATION, 10_000_000, 100)
    for name, size in (("small", 60_000), ("large", 150_000), ("other", 60_000)):
        clients[name].send(header + b"x" * size)
    net.advance(1.0)
    assert clients["large"].goodbye.code == BUSY
    assert [name for name, one in clients.items() if one.count(Goodbye)] == ["large"]
    assert sum(line.rest_size for line in net.nodes["B1"].lines.values()) <= 250_000


@pytest.mark.parametrize("seen", [2**70, -1])
def test_what_cannot_have_been_given_up_is_not_counted(seen: int) -> None:
    """Others are told the sum, and could not read it."""
    node = line_of(2).nodes["B1"]
    peer = node.peers["B2"]
    peer.given_up_seen = seen
    node.overflow.count(peer)
    assert (node.counts["given_up"], peer.given_up_seen) == (0, 0)
