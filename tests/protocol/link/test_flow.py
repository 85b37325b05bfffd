"""Tests for back-pressure: who holds back whom, and for how long."""

from __future__ import annotations

from sapwood.protocol.link.channel import Channel, ChannelLimits
from sapwood.protocol.link.flow import BLOCK, DROP_OLDEST, Flow
from sapwood.protocol.link.peer import Introduction, Peer
from sapwood.wire.frames import CONTROL, ENVELOPE_SIZE, NOTIFICATION, frame

NOTE = frame(NOTIFICATION, b"", bytes(ENVELOPE_SIZE))
LIMITS = ChannelLimits(buffer_bytes=8 * len(NOTE))


def peer(name: str, *, is_client: bool = False, slow_policy: str = "") -> Peer:
    made = Peer(
        Introduction(name=name, session=1, is_client=is_client, slow_policy=slow_policy),
        Channel(LIMITS),
    )
    made.channel.connect(0, 0)
    return made


def flow_of(*peers: Peer) -> Flow:
    return Flow(5.0, {one.name: one for one in peers})


def fill(destination: Peer, notes: int) -> None:
    for _ in range(notes):
        destination.channel.push(NOTE, 1)


def send_one(destination: Peer) -> None:
    """Something that it has not acknowledged."""
    destination.channel.push_control(frame(CONTROL, b"", b""))
    destination.channel.take()


def test_sources_wait_until_the_destination_is_down_to_a_quarter() -> None:
    slow, source, other = peer("B2"), peer("B3"), peer("B4")
    flow = flow_of(slow, source, other)
    fill(slow, 5)
    flow.pushed(slow, source, 0.0)
    assert (source.channel.withheld, other.channel.withheld, len(flow)) == (True, False, 1)
    slow.channel.shed(3 * len(NOTE))
    assert flow.drained(slow) == []
    assert source.channel.withheld
    slow.channel.shed(2 * len(NOTE))
    assert flow.drained(slow) == [source]
    assert (source.channel.withheld, len(flow)) == (False, 0)


def test_a_source_waits_for_all_of_its_destinations() -> None:
    source, first, second = peer("B3"), peer("B1"), peer("B2")
    flow = flow_of(source, first, second)
    flow.pushed(first, source, 0.0)
    flow.pushed(second, source, 0.0)
    assert flow.release(first) == []
    assert source.channel.withheld
    assert flow.release(second) == [source]
    assert not source.channel.withheld


def test_nobody_waits_for_someone_who_is_away_or_for_themselves() -> None:
    source, away = peer("B3"), peer("B2")
    flow = flow_of(source, away)
    away.channel.disconnect()
    flow.pushed(away, source, 0.0)
    flow.pushed(source, source, 0.0)
    assert (source.channel.withheld, len(flow)) == (False, 0)


def test_a_slow_client_holds_back_only_clients_and_only_if_it_says_so() -> None:
    broker, client = peer("B3"), peer("c.1", is_client=True)
    dropping = peer("d.1", is_client=True, slow_policy=DROP_OLDEST)
    blocking = peer("e.1", is_client=True, slow_policy=BLOCK)
    flow = flow_of(broker, client, dropping, blocking)
    flow.pushed(dropping, client, 0.0)
    assert not client.channel.withheld
    flow.pushed(blocking, broker, 0.0)
    flow.pushed(blocking, client, 0.0)
    assert (broker.channel.withheld, client.channel.withheld) == (False, True)
    assert flow.stuck(100.0) == []  # as long as it takes


def test_a_neighbour_without_progress_holds_others_back_for_a_stated_time() -> None:
    slow, source = peer("B2"), peer("B3")
    flow = flow_of(slow, source)
    send_one(slow)
    flow.pushed(slow, source, 1.0)
    flow.pushed(slow, source, 4.0)
    assert flow.stuck(5.9) == []
    assert flow.stuck(6.0) == [slow]
    flow.release(slow)
    assert flow.stuck(100.0) == []


def test_a_neighbour_that_makes_progress_is_not_stuck_however_slow_it_is() -> None:
    slow, source = peer("B2"), peer("B3")
    flow = flow_of(slow, source)
    send_one(slow)
    flow.pushed(slow, source, 0.0)
    for at in range(4, 400, 4):
        slow.progress_at = float(at)
        assert flow.stuck(at + 4.9) == []
    assert flow.stuck(slow.progress_at + 5.0) == [slow]


def test_a_neighbour_that_has_acknowledged_everything_is_not_stuck() -> None:
    """It gives no credit, since somebody behind it does not keep up."""
    waiting, source = peer("B2"), peer("B3")
    flow = flow_of(waiting, source)
    flow.pushed(waiting, source, 0.0)
    assert flow.stuck(100.0) == []


def test_who_is_gone_holds_nobody_and_is_held_by_nobody() -> None:
    slow, source, other = peer("B2"), peer("B3"), peer("B4")
    flow = flow_of(slow, source, other)
    flow.pushed(slow, source, 0.0)
    flow.pushed(slow, other, 0.0)
    assert flow.forget(source) == []
    assert (list(slow.holds), source.channel.withheld) == (["B4"], False)
    assert flow.forget(slow) == [other]
    assert not other.channel.withheld


def test_a_destination_for_which_nobody_waits_any_more_is_not_congested() -> None:
    slow, first, second = peer("B2"), peer("B3"), peer("B4")
    flow = flow_of(slow, first, second)
    flow.pushed(slow, first, 0.0)
    flow.pushed(slow, second, 0.0)
    flow.forget(first)
    assert ([*slow.holds], slow.congested_since, [*flow.congested]) == (["B4"], 0.0, ["B2"])
    flow.forget(second)
    assert ([*slow.holds], slow.congested_since, [*flow.congested]) == ([], None, [])
    assert [*flow.problems(slow)] == []


def test_a_source_that_is_gone_meanwhile_is_passed_over() -> None:
    slow, source = peer("B2"), peer("B3")
    flow = Flow(5.0, {"B2": slow})
    flow.pushed(slow, source, 0.0)
    assert flow.release(slow) == []
