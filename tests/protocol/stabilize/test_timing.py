"""The times of the tree, in seconds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.protocol.ports import TICK_SECONDS
from sapwood.protocol.stabilize.settings import TreeSettings
from sapwood.protocol.stabilize.timing import DELAY_SECONDS_MIN, Timing

TIMING = Timing(TreeSettings(), DELAY_SECONDS_MIN)
LONGEST = TIMING.settings.depth_max * DELAY_SECONDS_MIN


def test_with_usual_settings() -> None:
    assert TIMING.lock_seconds == pytest.approx(26 * 0.05 + TICK_SECONDS)
    assert TIMING.age_max(0.4) == pytest.approx(9.4 + 2 * TICK_SECONDS)
    assert TIMING.hold_seconds(0.4) == pytest.approx(0.5 + 1.3 + 3 * TICK_SECONDS)
    assert TIMING.news_seconds(0.4) == pytest.approx(0.45 + 1.3 + 2 * TICK_SECONDS)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_what_is_said_of_the_tree_does_not_make_them_endless(said: float) -> None:
    assert 0.0 <= TIMING.across(said) <= LONGEST
    assert TIMING.age_max(said) <= TIMING.age_max(LONGEST)
    assert TIMING.hold_seconds(said) <= TIMING.hold_seconds(LONGEST)
    assert TIMING.news_seconds(said) <= TIMING.news_seconds(LONGEST)


@pytest.mark.parametrize("said", [-1.0, math.nan, math.inf, LONGEST + 0.1])
def test_what_cannot_be_is_the_longest(said: float) -> None:
    assert TIMING.across(said) == LONGEST


def test_a_link_is_held_for_longer_than_news_take() -> None:
    assert TIMING.hold_seconds(0.4) > TIMING.news_seconds(0.4)
