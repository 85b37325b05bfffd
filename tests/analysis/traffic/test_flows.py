"""The sums on both sides of every link."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.traffic.strategies import SEVEN, random_rates
from sapwood.analysis.traffic.flows import DOWN, UP, flows
from sapwood.analysis.traffic.interests import interests_of
from sapwood.analysis.traffic.rates import rates
from sapwood.filters.filter import Filter


def test_each_side_of_a_link() -> None:
    given = random_rates(SEVEN, 3)
    found = flows(given)
    below = [SEVEN.position[name] for name in ("B5", "B6", "B7")]
    above = [SEVEN.position[name] for name in ("B1", "B2", "B3", "B4")]
    link = SEVEN.position["B5"] - 1
    assert found.live[DOWN, link] == pytest.approx(given.live[below].sum(axis=0))
    assert found.live[UP, link] == pytest.approx(given.live[above].sum(axis=0))
    assert found.arrivals[UP, link] == pytest.approx(given.arrival_rate[above].sum(axis=0))
    assert found.published[DOWN, link] == pytest.approx(given.publication_rate[above].sum(axis=0))
    assert found.published[UP, link] == pytest.approx(given.publication_rate[below].sum(axis=0))
    assert found.wanting is found.live


def test_who_wants_and_who_covers() -> None:
    interests = interests_of(
        [Filter("x >= 0"), Filter("x >= 1"), Filter("x >= 2")], [{"x": 0}, {"x": 1}]
    )
    given = rates(
        SEVEN,
        arrival_rate=[1.0, 2.0, 4.0],
        departure_rate=1.0,
        publication_rate=1.0,
        interests=interests,
    )
    found = flows(given)
    assert found.wanting[DOWN, 0] == pytest.approx([1.0, 3.0])
    live, arrivals = found.covering
    assert live[DOWN, 0] == pytest.approx([0.0, 1.0, 3.0])
    assert np.array_equal(live, arrivals)
