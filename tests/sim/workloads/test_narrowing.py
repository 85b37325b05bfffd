"""Arrivals of ever narrower ranges, and that each algorithm sends less than the one before."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.filters.filter import Filter
from sapwood.sim.workloads.action import ActionKind
from sapwood.sim.workloads.narrowing import NarrowingParameters, NarrowingWorkload
from sim.workloads.streams import expect_lawful, of_kind

BROKERS = ("B1", "B2", "B3")
WORKLOAD = NarrowingWorkload(NarrowingParameters(), BROKERS)


def covering(owed: list[Filter], arrival: Filter) -> list[Filter]:
    """Only filters that no other covers."""
    if any(filter.covers(arrival) for filter in owed):
        return owed
    return [*(filter for filter in owed if not arrival.covers(filter)), arrival]


def merging(owed: list[Filter], arrival: Filter) -> list[Filter]:
    """Merged until nothing merges."""
    for filter in owed:
        merger = filter.merge(arrival)
        if merger == filter:
            return owed
        if merger is not None:
            return merging([other for other in owed if other != filter], merger)
    return [*owed, arrival]


def messages(
    owed_with: Callable[[list[Filter], Filter], list[Filter]], arrivals: list[Filter]
) -> int:
    """What one link carries if each arrival sends the difference of what is owed."""
    owed: list[Filter] = []
    sent = 0
    for arrival in arrivals:
        new = owed_with(owed, arrival)
        sent += len(set(new) ^ set(owed))
        owed = new
    return sent


@pytest.mark.parametrize("seed", range(5))
def test_control_traffic_falls_from_algorithm_to_algorithm(seed: int) -> None:
    arrivals = list(WORKLOAD.filters(Random(seed)))
    simple, identity = len(arrivals), len(set(arrivals))
    assert simple > identity > messages(covering, arrivals) > messages(merging, arrivals) > 0


def test_filters_narrow_and_some_repeat() -> None:
    random = Random(1)
    arrivals = list(WORKLOAD.filters(random))
    assert len(arrivals) == 500
    repeated = len(arrivals) - len(set(arrivals))
    assert repeated == pytest.approx(0.3 * 500, abs=4 * math.sqrt(500 * 0.3 * 0.7))
    once = list(NarrowingWorkload(NarrowingParameters(repeats=0), BROKERS).filters(random))
    samples = [once[0], once[250], once[499]]
    widths = [sum(f.matches({"value": v}) for v in range(10_000)) for f in samples]
    assert widths == [3000, round(3000 * 3 ** -(250 / 499)), 1000]


def test_actions_are_lawful_and_at_their_rates() -> None:
    workload = NarrowingWorkload(
        NarrowingParameters(publication_rate=30, publications_from=20), BROKERS
    )
    actions = list(workload.actions(Random(2), 200))
    expect_lawful(actions, 200)
    subscribed = of_kind(actions, ActionKind.SUBSCRIBE)
    assert len(subscribed) == 500
    assert subscribed[-1].at == pytest.approx(50, abs=4 * math.sqrt(500) / 10)
    published = of_kind(actions, ActionKind.PUBLISH)
    assert published[0].at > 20
    assert len(published) == pytest.approx(5400, abs=4 * math.sqrt(5400))
    assert of_kind(actions, ActionKind.UNSUBSCRIBE) == []
    assert list(workload.actions(Random(2), 0)) == []


@given(
    st.builds(
        NarrowingParameters,
        subscriptions=st.integers(1, 20),
        values=st.integers(1, 50),
        width_last=st.floats(0.001, 0.3),
        repeats=st.floats(0, 1),
    ),
    st.integers(0, 1000),
)
def test_every_range_lies_within_the_values(parameters: NarrowingParameters, seed: int) -> None:
    everything = Filter(f"value between 0 and {parameters.values - 1}")
    for filter in NarrowingWorkload(parameters, BROKERS).filters(Random(seed)):
        assert everything.covers(filter)
        assert not filter.is_empty


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (
            lambda: NarrowingParameters(subscriptions=0),
            "subscriptions: is 0; wanted a finite number, 1 or more",
        ),
        (
            lambda: NarrowingParameters(arrival_rate=0),
            "arrival_rate: is 0; wanted a finite number above 0",
        ),
        (
            lambda: NarrowingParameters(width_first=2),
            "width_first: is 2; wanted a number from 0 to 1",
        ),
        (
            lambda: NarrowingParameters(width_last=0),
            "width_last: is 0; wanted a finite number above 0",
        ),
        (
            lambda: NarrowingParameters(width_last=0.9),
            "width_last: is 0.9, above width_first, 0.3",
        ),
        (
            lambda: NarrowingParameters(repeats=1.5),
            "repeats: is 1.5; wanted a number from 0 to 1",
        ),
        (
            lambda: NarrowingWorkload(NarrowingParameters(), ()),
            "brokers: has 0 brokers; at least 1 wanted",
        ),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == problem
