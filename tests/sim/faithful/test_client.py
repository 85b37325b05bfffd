"""Simulated clients: what an application does, and what it notes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.messages import CODEC, Settled
from sapwood.sim.faithful.client import _Cutter
from sapwood.sim.faithful.driver import Crash
from sapwood.wire.frames import encode_head, encode_notification
from sim.faithful.loading import client, line

FRAMES = [
    CODEC.encode(Settled(1, settled=True)),
    encode_notification(encode_head("a.1", {"n": 1}), 1, 0.0, b"x" * 20),
    encode_notification(encode_head("a.1", {}), 2, 0.0),
]


@given(
    which=st.lists(st.sampled_from(FRAMES), max_size=8),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_reads_are_cut_where_frames_end(which: list[bytes], cuts: list[int]) -> None:
    data = b"".join(which)
    ends = {0}
    for frame in which:
        ends.add(max(ends) + len(frame))
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    cutter, at = _Cutter(), 0
    for start, end in pairwise(places):
        pieces = list(cutter.cut(data[start:end]))
        assert b"".join(pieces) == data[start:end]
        for piece in pieces[:-1]:
            at += len(piece)
            assert at in ends
        at += len(pieces[-1])
        for piece in pieces:
            assert piece
    assert at == len(data)


def test_a_notification_counts_once_however_many_subscriptions_it_is_for() -> None:
    network = line(1)
    got = client(network, "a.1", "B1", "n >= 0", "n < 5", "n = 7")
    for number in (1, 7):
        network.publish("a.1", {"n": number})
    network.driver.run(1)
    assert [one.sequence for one in got.deliveries] == [1, 2]
    assert {name: sorted(wanted.got) for name, wanted in got.subscriptions.items()} == {
        "n >= 0": [("a.1", 1), ("a.1", 2)],
        "n < 5": [("a.1", 1)],
        "n = 7": [("a.1", 2)],
    }
    assert [type(event).__name__ for event in got.events].count("Publication") == 2


def test_publications_wait_for_room() -> None:
    network = line(1)
    busy = client(network, "a.1", "B1", buffer_bytes=500)
    network.freeze("a.1", "B1")
    for number in range(20):
        network.publish("a.1", {"n": number}, bytes(100))
    network.driver.run(0.1)
    assert 0 < len(busy.publications) < 20
    assert not busy.is_idle
    network.thaw("a.1", "B1")
    network.driver.run(1)
    assert len(busy.publications) == 20
    assert busy.is_idle


def test_a_new_broker_answers_again_and_until_then_nothing_is_settled() -> None:
    network = line(1)
    waiting = client(network, "a.1", "B1", "n >= 0")
    wanted = waiting.subscriptions["n >= 0"]
    settled_at = network.kernel.now
    network.crash("B1", Crash.RESET)
    network.driver.run(1)
    network.restart("B1")
    network.driver.run(3)
    assert [answer.is_settled for answer in wanted.answers] == [True, None, True]
    assert wanted.had_settled(settled_at + 0.01)
    assert not wanted.had_settled(0.0)
    assert len(wanted.reports) == 1


def test_a_subscription_under_the_same_name_takes_the_place_of_the_other() -> None:
    network = line(1)
    one = client(network, "a.1", "B1", "n >= 0")
    network.subscribe("a.1", "n >= 0", "n = 3")
    network.unsubscribe("a.1", "never there")
    network.driver.run(1)
    assert [str(wanted.filter) for wanted in one.all_subscriptions] == ["n >= 0", "n = 3"]
    assert [wanted.ended_at < 1e9 for wanted in one.all_subscriptions] == [True, False]
