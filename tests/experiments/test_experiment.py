"""What an experiment is."""

from __future__ import annotations

from sapwood.experiments.registry import named


def test_sizes_are_chosen_by_name() -> None:
    one = named("T3.F9")
    assert one.size(is_quick=True) is one.quick
    assert one.size(is_quick=False) is one.full


def test_runs_cost_the_same_unless_told() -> None:
    assert named("T3.F9").cost({"brokers": 3}) == 1.0
