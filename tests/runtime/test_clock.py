"""Tests for the time of a broker."""

from __future__ import annotations

import time

import pytest

from sapwood.runtime.clock import Clock


def test_it_begins_with_the_time_of_the_wall() -> None:
    assert abs(Clock().now() - time.time()) < 1.0


def test_it_does_not_care_when_somebody_sets_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0.0 <= clock.now() - before < 1.0


def test_it_says_how_far_it_is_from_a_clock_that_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 5_000.0)
    clock = Clock()
    assert clock.skew == pytest.approx(0.0, abs=1.0)
    monkeypatch.setattr(time, "time", lambda: 1_400.0)
    assert clock.skew == pytest.approx(-3_600.0, abs=1.0)
