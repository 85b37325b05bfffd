"""What a broker asks of its node about links, and that it is done."""

from __future__ import annotations

from protocol.joined import Network, line_of
from sapwood.protocol.effects import CloseLink, Hold, OpenLink, Say
from sapwood.protocol.link.handshake import OUTSIDE_TREE
from sapwood.protocol.link.orders import DELAY_LOOK_SECONDS
from sapwood.protocol.stabilize.beacon import Beacon

BEACON = Beacon("B1", 1000, 0.0, ("B1",))


def joined() -> Network:
    """B1 and B2, whose link is part of the tree."""
    net = line_of(2)
    net.advance(1.0)
    assert net.nodes["B1"].broker.tree.carries("B2")
    return net


def test_a_beacon_goes_to_whoever_is_connected_and_is_never_kept() -> None:
    net = joined()
    node = net.nodes["B1"]
    peer = node.peers["B2"]
    sent = peer.channel.last
    node.carry_out([Say("B2", BEACON), Say("nobody", BEACON)], net.now, None)
    assert peer.line is not None
    assert peer.line.out
    assert peer.channel.last == sent


def test_delays_are_measured_now_and_then() -> None:
    net = joined()
    net.advance(2 * DELAY_LOOK_SECONDS)
    delays = [net.nodes[here].broker.neighbours[there].delay for here, there in (["B1", "B2"],)]
    assert all(0.0 <= delay < 1.0 for delay in delays)
    asked = net.nodes["B1"].peers["B2"].line
    assert asked is not None
    assert net.now - asked.ping_at <= DELAY_LOOK_SECONDS + 3.0


def test_what_is_held_waits_and_goes_when_it_is_not() -> None:
    net = joined()
    node = net.nodes["B1"]
    channel = node.peers["B2"].channel
    reader = net.client("r", "B2").subscribe("n >= 0")
    net.advance(0.5)
    writer = net.client("w", "B1")
    net.is_spoilt = True  # the broker has not asked for this, and does not agree
    node.carry_out([Hold("B2", is_held=True)], net.now, None)
    writer.publish("w.1", 1)
    net.run()
    assert (channel.notifications_waiting, reader.got) == (1, [])
    node.carry_out([Hold("B2", is_held=False)], net.now, None)
    net.advance(1.0)
    assert len(reader.got) == 1


def test_a_link_that_is_closed_ends_its_stream_and_may_begin_anew() -> None:
    net = joined()
    node = net.nodes["B1"]
    before = node.peers["B2"]
    node.carry_out([CloseLink("B2", "it leads nowhere")], net.now, None)
    assert "B2" not in node.peers
    net.advance(2.0)
    assert node.peers["B2"] is not before
    assert OUTSIDE_TREE == "outside-tree"


def test_somebody_who_was_heard_of_is_dialled_once() -> None:
    net = joined()
    node = net.nodes["B1"]
    node.carry_out([OpenLink("B9", ("B9", "B9"))], net.now, None)
    net.advance(0.1)
    assert [where for _, who, where in net.dials if where == "B9"] == ["B9"]
    net.advance(30.0)
    assert [target.address for target in node.dialing.targets if target.is_sought] == []
