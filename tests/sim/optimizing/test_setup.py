"""Courses of events: the same for a seed, and as the set-up says."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.sim.optimizing.setup import SetupParameters
from sim.optimizing.courses import small


def test_a_seed_gives_one_course_however_long() -> None:
    short, long = small(1), small(1, ticks=2000)
    assert short == small(1)
    assert short.tree == long.tree
    assert [stay.places for stay in short.jobs_at(500)] == [
        stay.places for stay in long.jobs_at(500)
    ]
    assert (short.published == long.published[:, : short.published.shape[1]]).all()
    assert short.tree != small(2).tree


def test_slow_changes_go_over_in_steps() -> None:
    course = small(9, ticks=4000, slow=(1000, 3000))
    between = course.prices_at(2500).processing
    half = (course.draws[0].processing + course.draws[1].processing) / 2
    assert between == pytest.approx(half)
    assert course.prices_at(999).links == pytest.approx(course.draws[0].links)
    assert course.prices_at(3000).links == pytest.approx(course.draws[1].links)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"brokers": 4}, "brokers"),
        ({"publication_interval": 0.0}, "publication_interval"),
        ({"reassignment_interval": -1.0}, "reassignment_interval"),
        ({"locality": 1.5}, "locality"),
        ({"slow": (5, 1)}, "slow"),
        ({"slow": (1, 5), "changes": (3,)}, "slow"),
        ({"changes": (9_999_999,)}, "changes"),
    ],
)
def test_impossible_set_ups_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SetupParameters(**changes)  # type: ignore[arg-type]


def mean_distance(locality: float) -> float:
    """From publishers to their subscribers, in the mean over a few draws."""
    total = count = 0.0
    for seed in range(3):
        course = small(seed, locality=locality)
        prices = course.prices_at(0)
        for stay in course.jobs_at(0):
            first, *others = (prices.at(name) for name in stay.places)
            total += sum(float(prices.links[first, other]) for other in others)
            count += len(others)
    return total / count


def test_subscribers_are_close_to_their_publisher_where_there_is_locality() -> None:
    assert mean_distance(1.0) < 0.8 * mean_distance(0.0)


def test_the_largest_costs_only_scale_what_is_drawn() -> None:
    one = small(3)
    other = small(3, communication_max=0.0, processing_max=20.0)
    assert one.stays == other.stays
    assert not other.draws[0].links.any()
    assert other.draws[0].processing == pytest.approx(2 * one.draws[0].processing)
