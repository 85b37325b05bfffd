"""Somebody is heard of in time, or taken for dead; a standstill of this process is forgiven."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.protocol.link.handshake import LINK_CODEC, Ping
from sapwood.protocol.link.keepalive import (
    LOOK_SECONDS_MAX,
    LOOK_SECONDS_MIN,
    excuse_standstill,
    is_dead,
    look_seconds,
    wants_ping,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import LineState
from sapwood.protocol.node import Node
from sapwood.protocol.node_config import NodeConfig


def line(number: int = 1, silence: float = 0.0) -> Line:
    made = Line(number, LineState.OPEN, 100.0)
    made.silence = silence
    return made


@pytest.mark.parametrize(
    ("patience", "silence", "seconds"),
    [
        (10.0, 0.0, LOOK_SECONDS_MAX),
        (2.0, 10.0, 0.25),
        (10.0, 2.0, 0.25),
        (10.0, 0.001, LOOK_SECONDS_MIN),
    ],
)
def test_a_line_is_looked_at_often_enough_for_both(
    patience: float, silence: float, seconds: float
) -> None:
    assert look_seconds(line(silence=silence), patience) == seconds


def test_each_line_is_looked_at_in_its_own_time() -> None:
    node = Node(NodeConfig(id="B1"), Random(1), str)
    keepalive = node.keepalive
    assert keepalive.due == []
    hasty, patient = line(1, silence=0.01), line(2)
    for one in (hasty, patient):
        node.lines[one.number] = one
        keepalive.watch(one, 100.0)
    assert keepalive.due[0] == (100.0 + LOOK_SECONDS_MIN, 1)
    keepalive.tick(100.1)
    assert sorted(number for _, number in keepalive.due) == [1, 2]
    assert (LINK_CODEC.encode(Ping()) in hasty.out, patient.out) == (True, [])
    assert keepalive.next_at == 100.1 + LOOK_SECONDS_MIN


def test_lines_that_are_gone_are_looked_at_no_more() -> None:
    node = Node(NodeConfig(id="B1"), Random(1), str)
    node.keepalive.watch(line(1), 100.0)
    node.keepalive.tick(101.0)
    assert node.keepalive.due == []


def test_silence_is_death_after_the_patience_only() -> None:
    one = line()
    assert [is_dead(one, 10.0, now) for now in (109.0, 110.0, 110.1)] == [False, False, True]


@pytest.mark.parametrize(("silence", "at"), [(0.0, 102.6), (4.0, 101.1)])
def test_a_ping_comes_after_a_quarter_of_what_the_other_side_tolerates(
    silence: float, at: float
) -> None:
    one = line(silence=silence)
    assert (wants_ping(one, 10.0, at - 0.2), wants_ping(one, 10.0, at)) == (False, True)


def test_a_standstill_of_this_process_is_forgiven() -> None:
    one = line()
    excuse_standstill(one, due=110.0, now=110.5)
    assert one.heard_at == 100.0
    excuse_standstill(one, due=110.0, now=200.0)
    assert one.heard_at == 200.0


def beginning(line: Line, size: int = 40_000) -> None:
    """Let the beginning of a long frame come, as it looks when bytes were spoilt."""
    line.read(b"\x02" + size.to_bytes(4, "little") + b"\x00\x00abc")


def test_a_frame_that_does_not_grow_never_ends() -> None:
    one = line()
    beginning(one)
    times = (100.0, 109.0, 111.0)
    assert [one.has_endless_frame(10.0, now) for now in times] == [False, False, True]


def test_a_frame_that_grows_is_waited_for_however_long_it_is() -> None:
    one = line()
    beginning(one)
    for now in range(101, 130):
        one.read(bytes(1024))
        assert not one.has_endless_frame(10.0, float(now))


def test_a_frame_that_begins_in_the_future_is_not_waited_for() -> None:
    one = line()
    beginning(one)
    one.rest_since = 1e9
    assert one.has_endless_frame(10.0, 101.0)
