"""Experiments by name, and by what they show."""

from __future__ import annotations

import pytest

from sapwood.errors import ExperimentError
from sapwood.experiments.registry import experiments, named


def test_names_and_what_is_shown_lead_to_experiments() -> None:
    assert named("T3.F18").name == "T3.F18"
    assert named("t3.f18").name == "T3.F18"


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ExperimentError, match=r"there is no experiment 'T3.F19'; did you mean"):
        named("T3.F19")
    with pytest.raises(ExperimentError, match="see: sapwood experiment --list"):
        named("zzzz")


@pytest.mark.parametrize("name", experiments())
def test_every_experiment_says_what_it_is(name: str) -> None:
    one = experiments()[name]
    assert one.title
    assert one.setup
    assert one.shows
    for size in (one.quick, one.full):
        assert size.runs >= 1
        assert size.minutes > 0
        assert size.points
    assert one.quick.minutes <= one.full.minutes
    assert len({figure.name for figure in one.figures}) == len(one.figures) > 0


def test_nothing_is_shown_twice() -> None:
    shown = [each for one in experiments().values() for each in one.shows]
    assert sorted(set(shown)) == sorted(shown)


def test_all_quick_sizes_take_less_than_twenty_minutes() -> None:
    assert sum(one.quick.minutes for one in experiments().values()) <= 20
