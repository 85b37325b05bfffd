"""Predicates: what holds, what differs, and what is left open."""

from __future__ import annotations

import math

import pytest

from experiments.judging import curves_of
from sapwood.experiments.claims import (
    DIFFERS,
    HOLDS,
    NOT_JUDGED,
    above,
    between,
    counts,
    fit,
    judged,
    linear,
    near,
    not_judged,
    sign_of,
    within_interval,
)
from sapwood.experiments.curves import Curves, Point, Sample, differences


def two_lines(upper: list[float], lower: list[float], *, is_printed: bool = True) -> Curves:
    samples = [
        Sample("cost", line, 1.0, repeat, value)
        for line, values in (("a", upper), ("b", lower))
        for repeat, value in enumerate(values)
    ]
    return curves_of(samples + differences(samples, [("cost", "a", "b")]), is_printed=is_printed)


def test_near_is_a_share_of_what_is_expected() -> None:
    assert near("c", "t", 100.4, 100.0, 0.005).verdict == HOLDS
    assert near("c", "t", 100.6, 100.0, 0.005).verdict == DIFFERS
    assert near("c", "t", math.nan, 100.0, 0.005).verdict == DIFFERS


def test_between_has_its_ends() -> None:
    found = [between("c", "t", value, 1.0, 2.0).verdict for value in (0.99, 1.0, 2.0, 2.01)]
    assert found == [DIFFERS, HOLDS, HOLDS, DIFFERS]


@pytest.mark.parametrize(
    ("upper", "lower", "verdict"),
    [
        ([3.0, 4.0, 3.5], [1.0, 2.0, 1.5], HOLDS),
        ([1.0, 2.0, 1.5], [3.0, 4.0, 3.6], DIFFERS),
        ([3.0, 1.0, 2.0], [2.9, 1.2, 2.0], NOT_JUDGED),
    ],
)
def test_one_line_above_another_by_equal_seeds(
    upper: list[float], lower: list[float], verdict: str
) -> None:
    assert above(two_lines(upper, lower, is_printed=False), "c", "t", "cost", "a", "b").verdict == (
        verdict
    )


def test_what_is_undecided_at_the_printed_size_differs() -> None:
    curves = two_lines([3.0, 1.0, 2.0], [2.9, 1.2, 2.0])
    assert above(curves, "c", "t", "cost", "a", "b").verdict == DIFFERS


def test_too_few_runs_are_no_verdict() -> None:
    claim = above(two_lines([3.0, 4.0], [1.0, 2.5]), "c", "t", "cost", "a", "b", runs_min=30)
    assert (claim.verdict, claim.why) == (NOT_JUDGED, "no x has 30 runs of both")


def test_the_sign_is_one_sided() -> None:
    # Two runs: t(1) at 90 % is 6.31, so the mean must exceed 4.46 deviations.
    assert sign_of(Point("m", "l", 0.0, 2, 4.5, 1.0, None, None)) == 1
    assert sign_of(Point("m", "l", 0.0, 2, 4.4, 1.0, None, None)) == 0
    assert sign_of(Point("m", "l", 0.0, 2, -4.5, 1.0, None, None)) == -1


def test_a_line_is_straight_or_not() -> None:
    straight = [Sample("m", "l", float(x), 0, 2.0 * x + 0.01 * (x % 2)) for x in range(6)]
    bent = [Sample("m", "l", float(x), 0, float(x % 3)) for x in range(6)]
    falling = [Sample("m", "l", float(x), 0, -2.0 * x) for x in range(6)]
    found = [
        linear(curves_of(samples), "c", "t", "m", "l").verdict
        for samples in (straight, bent, falling, straight[:2])
    ]
    assert found == [HOLDS, DIFFERS, DIFFERS, NOT_JUDGED]


def test_least_squares() -> None:
    slope, reach, share = fit([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)])
    assert (slope, reach, share) == pytest.approx((2.0, 0.0, 1.0))


def test_an_interval_holds_a_value_or_not() -> None:
    point = Point("m", "l", 0.0, 5, 10.0, 1.0, 9.0, 11.0)
    assert within_interval("c", "t", point, 10.9).verdict == HOLDS
    assert within_interval("c", "t", point, 11.1).verdict == DIFFERS
    assert within_interval("c", "t", None, 11.1).verdict == NOT_JUDGED


def test_values_are_what_json_can_hold() -> None:
    assert judged("c", "t", True, math.inf, [1.5, math.nan]).expected == [1.5, "nan"]
    assert judged("c", "t", True, math.inf, 1).value == "inf"


def test_verdicts_are_counted() -> None:
    claims = [near("c", "t", 1.0, 1.0), near("c", "t", 2.0, 1.0), not_judged("c", "t", 1, "why")]
    assert counts([*claims, claims[0]]) == {HOLDS: 2, DIFFERS: 1, NOT_JUDGED: 1}
