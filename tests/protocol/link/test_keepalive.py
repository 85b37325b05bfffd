"""Tests for keep-alive: who is looked at when, and who is dead."""

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
    made = Line(number, LineState.OPEN, 0.0)
    made.silence = silence
    return made


@pytest.mark.parametrize(
    ("silence", "patience", "seconds"),
    [
        (0.0, 30.0, LOOK_SECONDS_MAX),
        (0.0, 0.8, 0.1),
        (1.6, 30.0, 0.2),
        (60.0, 30.0, LOOK_SECONDS_MAX),
        (1e-3, 30.0, LOOK_SECONDS_MIN),
    ],
)
def test_a_line_is_looked_at_as_often_as_its_two_ends_need(
    silence: float, patience: float, seconds: float
) -> None:
    assert look_seconds(line(silence=silence), patience) == pytest.approx(seconds)


def test_lines_are_looked_at_each_in_its_own_time() -> None:
    keepalive = Keepalive()
    keepalive.watch(line(1, silence=60.0), 30.0, 0.0)
    keepalive.watch(line(2, silence=0.4), 30.0, 0.0)
    assert keepalive.next_at == pytest.approx(0.05)
    assert list(keepalive.lines_due(0.04)) == []
    assert list(keepalive.lines_due(0.05)) == [2]
    assert list(keepalive.lines_due(0.5)) == [1]
    assert keepalive.next_at is None


def test_who_is_silent_for_too_long_is_dead() -> None:
    one = line()
    one.heard_at = 10.0
    assert not is_dead(one, 5.0, 15.0)
    assert is_dead(one, 5.0, 15.1)


def test_a_ping_goes_out_after_a_quarter_of_what_the_other_side_tolerates() -> None:
    one = line(silence=8.0)
    one.wrote_at = 10.0
    assert not wants_ping(one, 100.0, 12.0)
    assert wants_ping(one, 100.0, 12.1)
    any_silence = line(silence=0.0)
    assert not wants_ping(any_silence, 100.0, 25.0)
    assert wants_ping(any_silence, 100.0, 25.1)


def test_a_silence_during_which_this_process_stood_still_is_forgiven() -> None:
    one = line()
    excuse_standstill(one, due=99.5, now=100.0)
    assert one.heard_at == 0.0
    excuse_standstill(one, due=98.0, now=100.0)
    assert one.heard_at == 100.0
