"""Filters and notifications of the swarm: valid, of every kind, and often related."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from sapwood.filters import Filter, Notification
from sapwood.sim.swarm.values import draw_attributes, draw_filter

TEXTS = [draw_filter(Random(seed)) for seed in range(600)]
FILTERS = [Filter(text) for text in TEXTS]


def test_every_operator_occurs() -> None:
    together = " ".join(TEXTS)
    for operator in (
        "= ", "<> ", "< ", "<= ", "> ", ">= ", "between", "not between", " in (", "like", "not t",
        "prefix", "suffix", "contains", "is null", "is not null", "exists", "is number", "is text",
        "is bool", " or ", "not (", "true", "false",
    ):  # fmt: skip
        assert operator in together, operator


@pytest.mark.slow
def test_filters_are_often_related() -> None:
    pairs = list(combinations(FILTERS[:80], 2))
    assert sum(a.covers(b) or b.covers(a) for a, b in pairs) > 100
    assert sum(a.id == b.id for a, b in combinations(FILTERS, 2)) > 100
    assert sum(a.merge(b) is not None for a, b in pairs) > 100
    assert sum(not a.overlaps(b) for a, b in pairs) > 100


def test_notifications_are_valid_and_match_some_of_them() -> None:
    drawn = [draw_attributes(Random(seed)) for seed in range(100)]
    assert {type(value) for one in drawn for value in one.values()} == {int, float, str, bool}
    assert {} in drawn
    matched = [sum(f.matches(Notification(one)) for f in FILTERS) for one in drawn]
    assert min(matched) > 0
    assert max(matched) < len(FILTERS)
