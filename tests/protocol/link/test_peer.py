"""Tests for a neighbour or client as the driver sees it."""

from __future__ import annotations

from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import Ack
from sapwood.protocol.link.peer import Peer
from sapwood.wire.frames import CONTROL, frame


def test_without_connection_nothing_is_sent_and_nothing_lost() -> None:
    peer = Peer("B2", 1, Channel(ChannelLimits()), is_client=False)
    peer.channel.push_control(frame(CONTROL, b"", b""))
    peer.flush()
    peer.acknowledge()
    assert (peer.channel.waiting, peer.channel.sent) == (1, 0)


def used(*, comes: bool, arrives: bool) -> Peer:
    peer = Peer("B2", 1, Channel(ChannelLimits()), is_client=False)
    peer.channel.connect(0, 0)
    peer.channel.push_control(frame(CONTROL, b"", b""))
    peer.channel.take()
    if arrives:
        peer.channel.acknowledge(Ack(1, 0))
    if comes:
        peer.channel.count(1, 0)
    return peer


def test_a_stream_is_untouched_until_something_has_come_or_arrived() -> None:
    assert used(comes=False, arrives=False).is_untouched
    assert not used(comes=True, arrives=False).is_untouched
    assert not used(comes=False, arrives=True).is_untouched


def test_it_shows_what_it_is() -> None:
    assert repr(Peer("c.7", 7, Channel(ChannelLimits()), is_client=True)) == "<client c.7>"
    assert repr(Peer("B2", 3, Channel(ChannelLimits()), is_client=False)) == "<broker B2.3>"
