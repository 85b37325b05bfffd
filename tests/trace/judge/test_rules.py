"""The rules of correctness: at their limits, and the same for numbers, arrays and compiled code."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trace.judge import rules
from sapwood.trace.judge.gaps import Gaps
from sapwood.trace.judge.rules import NEVER, Validity
from sapwood.trace.judge.verdict import EARLY, LOST, UNEXPECTED, UNJUDGED
from tracing.making import Recorder

SETTLE = 2.0
VALID = Validity(0, started=1.0, settled=3.0, ended=10.0, seen=(1.0, 4.0))

quarters = st.integers(0, 60).map(lambda number: number / 4)


def gap(client: str, start: float, end: float) -> Gaps:
    """A gap at the broker of a client."""
    gaps = Gaps()
    gaps.seen(client, "B1")
    gaps.record(Recorder().add(end, "trace_gap"), start)
    return gaps


@pytest.mark.parametrize(
    ("confirmed", "settled"), [(None, 3.0), (1.5, 1.5), (3.0, 3.0), (9.0, 3.0)]
)
def test_settled_when_a_row_says_so_or_when_time_has_passed(
    confirmed: float | None, settled: float
) -> None:
    assert rules.settled_at(1.0, confirmed, SETTLE) == settled


def test_the_limits_of_a_subscription() -> None:
    times = [quarter / 4 for quarter in range(60)]
    assert [at for at in times if VALID.obliges(at, SETTLE)] == [at for at in times if 3 <= at < 8]
    in_force = [at for at in times if VALID.was_in_force(at, SETTLE)]
    assert in_force == [at for at in times if 1 <= at <= 12]
    assert [at for at in times if VALID.is_settled(at)] == [at for at in times if 3 <= at <= 10]
    assert [VALID.last_seen(at) for at in (0.5, 3.0, 4.0, 9.0)] == [1.0, 1.0, 4.0, 4.0]


def test_a_trace_has_to_go_on_to_show_a_delivery() -> None:
    assert rules.is_judged(5.0, SETTLE, 7.0)
    assert not rules.is_judged(5.25, SETTLE, 7.0)


def test_what_did_not_come_is_lost_unless_a_gap_hides_it() -> None:
    assert rules.judge_missing(Gaps(), "ann.1", [VALID], 5.0, SETTLE) == LOST
    assert rules.judge_missing(gap("ann.1", 3.0, 3.75), "ann.1", [VALID], 5.0, SETTLE) == LOST
    assert rules.judge_missing(gap("ann.1", 3.0, 4.0), "ann.1", [VALID], 5.0, SETTLE) == UNJUDGED
    assert rules.judge_missing(gap("ann.1", 7.0, 9.0), "ann.1", [VALID], 5.0, SETTLE) == UNJUDGED
    assert rules.judge_missing(gap("ann.1", 7.25, 9.0), "ann.1", [VALID], 5.0, SETTLE) == LOST


def test_what_came_without_being_owed() -> None:
    assert rules.judge_unasked(Gaps(), "ann.1", [VALID], 2.0, SETTLE) == EARLY
    assert rules.judge_unasked(Gaps(), "ann.1", [VALID], 12.25, SETTLE) == UNEXPECTED
    assert rules.judge_unasked(gap("ann.1", 12.0, 13.0), "ann.1", [], 12.0, SETTLE) == UNJUDGED
    assert rules.judge_unasked(gap("ann.1", 12.5, 13.0), "ann.1", [], 12.0, SETTLE) == UNEXPECTED


def test_what_came_without_being_published() -> None:
    gaps = gap("bob.1", 5.0, 6.0)
    assert rules.judge_unpublished(Gaps(), "bob.1", None, None, 9.0) == UNEXPECTED
    assert rules.judge_unpublished(gaps, "bob.1", None, None, 9.0) == UNJUDGED
    assert rules.judge_unpublished(gaps, "bob.1", None, None, 4.0) == UNEXPECTED
    assert rules.judge_unpublished(gaps, "bob.1", 6.25, None, 9.0) == UNEXPECTED
    assert rules.judge_unpublished(gaps, "bob.1", None, 4.75, 9.0) == UNEXPECTED


@given(quarters, st.one_of(quarters, st.just(NEVER)), st.lists(quarters), quarters)
def test_numbers_and_arrays_are_judged_alike(
    settled: float, ended: float, times: list[float], settle: float
) -> None:
    at = np.array(times, np.float64)
    assert rules.obliges(settled, ended, at, settle).tolist() == [
        rules.obliges(settled, ended, time, settle) for time in times
    ]
    assert rules.is_judged(at, settle, ended).tolist() == [
        rules.is_judged(time, settle, ended) for time in times
    ]


@given(st.integers(0, 2**32))
def test_a_verdict_is_one_of_a_kind(seed: int) -> None:
    """Whatever was owed could also be delivered: no delivery is both owed and unexpected."""
    random = Random(seed)
    started, settle = random.randint(0, 9) / 4, random.randint(0, 9) / 4
    settled = rules.settled_at(started, random.choice([None, started + 0.25]), settle)
    valid = Validity(0, started, settled, started + random.randint(0, 40) / 4, (started,))
    at = random.randint(0, 60) / 4
    if valid.obliges(at, settle):
        assert valid.is_settled(at)
        assert rules.judge_unasked(Gaps(), "ann.1", [valid], at + settle, settle) == EARLY
