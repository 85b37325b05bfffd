"""Tests for a neighbour or client as the node sees it."""

from __future__ import annotations

from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.handshake import Ack
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.wire.frames import CONTROL, frame


def used(*, comes: bool, arrives: bool) -> Peer:
    peer = Peer(Introduction(name="B2", session=1, is_client=False), Channel(ChannelLimits()))
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


def test_a_new_one_is_nowhere_and_has_lost_nothing() -> None:
    peer = Peer(Introduction(name="B2", session=1, is_client=False), Channel(ChannelLimits()))
    assert (peer.line, peer.away_since, peer.ended_orderly, peer.lost_there) == (
        None,
        None,
        False,
        -1,
    )
    assert (peer.holds, peer.holders, peer.secret, peer.in_tree) == ({}, {}, "", True)


def test_it_shows_what_it_is() -> None:
    assert (
        repr(Peer(Introduction(name="c.7", session=7, is_client=True), Channel(ChannelLimits())))
        == "<client c.7>"
    )
    assert (
        repr(Peer(Introduction(name="B2", session=3, is_client=False), Channel(ChannelLimits())))
        == "<broker B2.3>"
    )


def test_only_a_stream_with_a_name_and_sound_counts_is_told_of() -> None:
    assert used(comes=True, arrives=True).can_be_shown
    nameless, unsound = used(comes=True, arrives=True), used(comes=True, arrives=True)
    nameless.session = 0
    unsound.channel.acknowledged = 5
    assert not nameless.can_be_shown
    assert not unsound.can_be_shown
