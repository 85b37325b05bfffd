"""Tests for back-pressure: who holds back whom, and for how long."""

from __future__ import annotations

import asyncio

from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.flow import BLOCK, DROP_OLDEST, Flow
from sapwood.protocol.link.peer import Peer
from sapwood.wire.frames import ENVELOPE_SIZE, NOTIFICATION, frame

NOTE = frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE))
LIMITS = ChannelLimits(buffer_bytes=8 * len(NOTE))


def peer(name: str, *, is_client: bool = False, slow_policy: str = "") -> Peer:
    made = Peer(name, 1, Channel(LIMITS), is_client=is_client, slow_policy=slow_policy)
    made.channel.connect(0, 0)
    return made


def fill(destination: Peer, notes: int) -> None:
    for _ in range(notes):
        destination.channel.push(NOTE, 1)


def test_sources_wait_until_the_destination_is_down_to_a_quarter() -> None:
    flow, slow, source, other = Flow(5.0), peer("B2"), peer("B3"), peer("B4")
    fill(slow, 5)
    flow.pushed(slow, source, 0.0)
    assert (source.channel.withheld, other.channel.withheld, len(flow)) == (True, False, 1)
    slow.channel.shed(3 * len(NOTE))
    flow.drained(slow)
    assert source.channel.withheld
    slow.channel.shed(2 * len(NOTE))
    flow.drained(slow)
    assert (source.channel.withheld, len(flow)) == (False, 0)


def test_a_source_waits_for_all_of_its_destinations() -> None:
    flow, source = Flow(5.0), peer("B3")
    first, second = peer("B1"), peer("B2")
    flow.pushed(first, source, 0.0)
    flow.pushed(second, source, 0.0)
    flow.release(first)
    assert source.channel.withheld
    flow.release(second)
    assert not source.channel.withheld


def test_nobody_waits_for_someone_who_is_away_or_for_himself() -> None:
    flow, source = Flow(5.0), peer("B3")
    away = peer("B2")
    away.channel.disconnect()
    flow.pushed(away, source, 0.0)
    flow.pushed(source, source, 0.0)
    assert not source.channel.withheld


def test_a_slow_client_holds_back_only_clients_and_only_if_it_says_so() -> None:
    flow = Flow(5.0)
    broker, client = peer("B3"), peer("c.1", is_client=True)
    flow.pushed(peer("d.1", is_client=True, slow_policy=DROP_OLDEST), client, 0.0)
    assert not client.channel.withheld
    blocking = peer("e.1", is_client=True, slow_policy=BLOCK)
    flow.pushed(blocking, broker, 0.0)
    flow.pushed(blocking, client, 0.0)
    assert (broker.channel.withheld, client.channel.withheld) == (False, True)
    assert flow.overdue(100.0) == []  # as long as it takes


def test_a_neighbour_holds_others_back_for_a_stated_time() -> None:
    flow, slow, source = Flow(5.0), peer("B2"), peer("B3")
    flow.pushed(slow, source, 1.0)
    flow.pushed(slow, source, 4.0)
    assert flow.overdue(5.9) == []
    assert flow.overdue(6.0) == [slow]
    flow.release(slow)
    assert flow.overdue(100.0) == []


def test_who_is_gone_holds_nobody_and_is_held_by_nobody() -> None:
    flow, slow, source, other = Flow(5.0), peer("B2"), peer("B3"), peer("B4")
    flow.pushed(slow, source, 0.0)
    flow.pushed(slow, other, 0.0)
    flow.forget(source)
    assert (list(slow.holds), source.channel.withheld) == ([other], False)
    flow.forget(slow)
    assert not other.channel.withheld


def test_peers_are_made_without_a_loop() -> None:
    """So that tests like these need none."""
    assert isinstance(peer("B2").disconnected, asyncio.Event)
