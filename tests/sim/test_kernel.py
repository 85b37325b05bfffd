"""Virtual time: total order, and no way back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.sim.kernel import Kernel


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans())))
def test_things_happen_in_the_order_of_time_and_ties_in_the_order_they_were_scheduled(
    times: list[tuple[int, bool]],
) -> None:
    """However they were scheduled: for some time, or for soon."""
    kernel = Kernel()
    happened: list[tuple[float, int]] = []
    for number, (time, is_soon) in enumerate(times):
        schedule = kernel.soon if is_soon else kernel.at
        schedule(time, lambda number, _: happened.append((kernel.now, number)), number, None)
    assert len(kernel) == len(times)
    kernel.run()
    assert happened == sorted((float(time), number) for number, (time, _) in enumerate(times))
    assert kernel.steps == len(times)
    assert len(kernel) == 0


def test_what_happens_can_schedule_more_even_for_now() -> None:
    kernel = Kernel()
    happened: list[str] = []

    def first() -> None:
        happened.append("first")
        kernel.soon(kernel.now, lambda *texts: happened.extend(texts), "third", "third too")
        kernel.at(kernel.now + 1, happened.append, "fourth")

    kernel.at(1.0, first)
    kernel.at(1.0, happened.append, "second")
    kernel.run()
    assert happened == ["first", "second", "third", "third too", "fourth"]
    assert kernel.now == 2.0


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=8), st.integers(0, 4))
def test_what_is_scheduled_under_way_takes_its_place(
    children: list[tuple[int, bool]], until: int
) -> None:
    """Whatever is scheduled by whatever happens: the order is that of time, then of scheduling."""
    kernel = Kernel()
    scheduled: list[tuple[float, int]] = []
    happened: list[tuple[float, int]] = []

    def schedule(delay: float, is_soon: bool, generation: int) -> None:
        entry = (kernel.now + delay, len(scheduled))
        scheduled.append(entry)
        (kernel.soon if is_soon else kernel.at)(entry[0], happen, entry, generation)

    def happen(entry: tuple[float, int], generation: int) -> None:
        assert kernel.now == entry[0]
        happened.append(entry)
        assert kernel.steps == len(happened)
        if generation < 2:
            for delay, is_soon in children:
                schedule(delay, is_soon, generation + 1)

    schedule(1.0, False, 0)
    kernel.run(until)
    assert happened == [entry for entry in sorted(scheduled) if entry[0] <= until]
    kernel.run()
    assert happened == sorted(scheduled)


def test_a_run_ends_at_its_time_and_can_be_continued() -> None:
    kernel = Kernel()
    happened: list[int] = []

    def happen(time: int, _: None) -> None:
        happened.append(time)

    for time, schedule in ((1, kernel.at), (2, kernel.soon), (3, kernel.soon)):
        schedule(time, happen, time, None)
    kernel.run(until=2)
    assert (happened, kernel.now, len(kernel)) == ([1, 2], 2.0, 1)
    kernel.run(until=2.5)
    assert (happened, kernel.now) == ([1, 2], 2.5)
    kernel.run(until=1.0)
    assert kernel.now == 2.5
    kernel.run()
    assert (happened, kernel.now) == ([1, 2, 3], 3.0)


@pytest.mark.parametrize("time", [0.5, math.nan, math.inf, -math.inf])
def test_nothing_can_be_scheduled_for_the_past_or_for_never(time: float) -> None:
    kernel = Kernel()
    kernel.run(until=1.0)
    with pytest.raises(ParameterError, match=r"it is 1\.0 already"):
        kernel.at(time, print)
    with pytest.raises(ParameterError, match=r"it is 1\.0 already"):
        kernel.soon(time, print, 1, 2)
    assert len(kernel) == 0


def test_an_action_that_fails_leaves_the_rest_to_happen() -> None:
    kernel = Kernel()
    happened: list[int] = []

    def fail() -> None:
        raise RuntimeError

    kernel.at(1.0, fail)
    kernel.at(2.0, happened.append, 2)
    with pytest.raises(RuntimeError):
        kernel.run()
    assert kernel.now == 1.0
    kernel.run()
    assert happened == [2]
