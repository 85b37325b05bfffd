"""Rates: interpolation, and events that follow them."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.sim.workloads.rates import RateSchedule, schedule_of

RAMP = RateSchedule(((10.0, 2.0), (20.0, 6.0), (20.0, 1.0), (40.0, 0.0)))


@pytest.mark.parametrize(
    ("at", "rate"),
    [(0, 2), (10, 2), (12.5, 3), (19.999999, 5.9999996), (20, 1), (30, 0.5), (40, 0), (99, 0)],
)
def test_a_rate_is_linear_between_its_points(at: float, rate: float) -> None:
    assert RAMP.rate(at) == pytest.approx(rate)


def events(schedule: RateSchedule, until: float, seed: int) -> list[float]:
    random, found = Random(seed), []
    at = schedule.next_after(0.0, random)
    while at < until:
        found.append(at)
        at = schedule.next_after(at, random)
    return found


def test_events_follow_the_rate() -> None:
    """In each part, as many as the area under the rate, within four standard deviations."""
    parts = [(0, 10, 20), (10, 15, 15), (15, 20, 25), (20, 30, 7.5), (30, 40, 2.5), (40, 90, 0)]
    runs = [events(RAMP, 100, seed) for seed in range(200)]
    for start, end, area in parts:
        seen = sum(start <= at < end for run in runs for at in run)
        assert abs(seen - 200 * area) <= 4 * math.sqrt(200 * area)


def test_a_constant_rate_has_exponential_gaps() -> None:
    found = events(schedule_of("rate", 4), 1000, 1)
    gaps = [right - left for left, right in zip([0.0, *found], found, strict=False)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(0.25, rel=4 / math.sqrt(len(gaps)))
    above = sum(gap > mean for gap in gaps) / len(gaps)
    assert above == pytest.approx(1 / math.e, abs=0.03)


POINTS = st.lists(
    st.tuples(st.floats(0, 100), st.one_of(st.just(0.0), st.floats(1e-6, 1e6))),
    min_size=1,
    max_size=5,
).map(sorted)


@given(POINTS, st.floats(0, 200), st.integers(0, 10**6))
@example([(0.0, 0.0), (1.0, 1.0)], 0.0, 0)
def test_the_next_event_is_never_in_the_past(
    points: list[tuple[float, float]], now: float, seed: int
) -> None:
    schedule = RateSchedule(tuple(points))
    at = schedule.next_after(now, Random(seed))
    assert at >= now
    assert math.isfinite(at) or points[-1][1] == 0


class Fixed(Random):
    """Draws only zeros."""

    def random(self) -> float:
        return 0.0


def test_the_smallest_draw_is_no_division_by_zero() -> None:
    assert RateSchedule(((0.0, 0.0), (1.0, 1.0))).next_after(0.0, Fixed()) == 0.0


def test_a_rate_of_zero_never_happens() -> None:
    assert schedule_of("rate", 0).next_after(3.0, Random(1)) == math.inf


def test_a_schedule_is_its_own() -> None:
    assert schedule_of("rate", RAMP) is RAMP


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        ((), "points: has no points; at least one (time, rate) wanted"),
        (((1, 1), (0, 1)), "points: time 0 after 1; wanted finite times in order"),
        (((0, -1),), "points: rate -1 at time 0; wanted a finite rate, 0 or more"),
    ],
)
def test_what_is_wrong_is_named(points: tuple[tuple[float, float], ...], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        RateSchedule(points)
    assert str(caught.value) == problem


def test_an_impossible_rate_is_refused_by_name() -> None:
    with pytest.raises(ParameterError) as caught:
        schedule_of("arrival_rate", float("nan"))
    assert str(caught.value) == ("arrival_rate: is nan; wanted a finite rate per second, 0 or more")
