"""Rates that change with time."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.traffic.strategies import SEVEN, random_rates
from sapwood.analysis.traffic.changing import arrival_factor, live_factor, rates_at
from sapwood.analysis.traffic.predicting import predict
from sapwood.analysis.traffic.rates import rates
from sapwood.analysis.traffic.tree import complete_tree
from sapwood.errors import ParameterError

RAMP = [(0.0, 10.0), (400.0, 10.0), (850.0, 20_000.0), (1200.0, 20_000.0), (1800.0, 2_000.0)]


def test_an_equilibrium_stays_one() -> None:
    before = random_rates(SEVEN, 2)
    after = rates_at(before, [(0.0, 1.0)], 500.0)
    assert after.arrival_rate == pytest.approx(before.arrival_rate)
    assert after.departure_rate == pytest.approx(before.departure_rate)


@pytest.mark.slow
@pytest.mark.parametrize("at", [0.0, 399.0, 431.0, 700.0, 850.0, 1000.0, 1500.0, 2500.0])
def test_the_lag_is_that_of_the_differential_equation(at: float) -> None:
    """Against small steps of n' = a - mu n."""
    rate, factor, steps = 1 / 60, 10.0, 5_000
    step = at / steps
    for index in range(steps):
        middle = arrival_factor(RAMP, (index + 0.5) * step)
        factor += step * rate * (middle - factor - step * rate * (middle - factor) / 2)
    assert float(live_factor(RAMP, rate, at)) == pytest.approx(factor, rel=1e-4)


def test_a_step_is_a_step() -> None:
    assert live_factor([(0.0, 1.0), (10.0, 1.0), (10.0, 3.0)], 0.1, 20.0) == pytest.approx(
        3 - 2 * np.exp(-1)
    )


def test_the_ramp_of_004_crosses_flooding_at_683_seconds() -> None:
    """Printed are 800 s; without the lag of live subscriptions it would be 648 s."""
    base = rates(
        complete_tree(2, 7),
        arrival_rate=1 / 60 / 127 / 1000,
        departure_rate=1 / 60,
        publication_rate=500 / 127 / 1000,
        copies=1000,
    )

    def lagging(seconds: float) -> float:
        return predict(rates_at(base, RAMP, seconds), "simple").total

    assert lagging(682.5) < 63_000 < lagging(683.5)

    def settled(seconds: float) -> float:
        factor = arrival_factor(RAMP, seconds)
        return predict(base.scaled(base.subscriptions * factor), "simple").total

    assert settled(648.0) < 63_000 < settled(649.0)


def test_what_is_refused() -> None:
    base = random_rates(SEVEN, 2)
    with pytest.raises(ParameterError, match="points: is empty"):
        rates_at(base, [], 1.0)
    with pytest.raises(ParameterError, match="wanted them in their order"):
        rates_at(base, [(1.0, 1.0), (0.0, 1.0)], 1.0)
    with pytest.raises(ParameterError, match="points: is -1; wanted a finite rate"):
        rates_at(base, [(0.0, -1.0)], 1.0)
    with pytest.raises(ParameterError, match="points: is 0 from the beginning"):
        rates_at(base, [(0.0, 0.0)], 1.0)
