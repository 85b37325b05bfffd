"""Somebody is heard of in time, or taken for dead; a standstill of this process is forgiven."""

from __future__ import annotations

import pytest

from sapwood.protocol.link.keepalive import (
    LOOK_SECONDS_MAX,
    LOOK_SECONDS_MIN,
    Keepalive,
    excuse_standstill,
    is_dead,
    look_seconds,
    wants_ping,
)
from sapwood.protocol.link.line import Line
from sapwood.protocol.link.states import LineState


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


def test_one_that_tolerates_little_costs_the_others_nothing() -> None:
    keepalive = Keepalive()
    assert Keepalive().next_at is None
    keepalive.watch(line(1, silence=0.01), 10.0, 100.0)
    keepalive.watch(line(2), 10.0, 100.0)
    assert keepalive.next_at == 100.0 + LOOK_SECONDS_MIN
    assert list(keepalive.lines_due(100.1)) == [1]
    assert list(keepalive.lines_due(100.1)) == []
    assert list(keepalive.lines_due(100.6)) == [2]


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
